/* check_session.c - checks of a session directory: its layers meet (cli.md "check"). */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"

static bool is_session(const osc_check_run *run)
{
    return osc_str_eq(osc_store_get_meta(run->store, "source"), OSC_STR("session"));
}

#define LAUNCHED 1u /* the operator called the runtime */
#define REACHED  2u /* its work was seen on a core */

/* Marks operators by what is linked to them. */
static void mark(const osc_check_run *run, uint8_t *marks)
{
    const osc_link_cols *l = osc_store_link(run->store);
    for (uint32_t i = 0; i < run->work_count; i++) {
        uint32_t op = osc_calls_op(run->calls, run->work[i]);
        if (op != OSC_NO_ROW)
            marks[op] |= LAUNCHED | REACHED;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        uint8_t kind = run->s->kind[l->to[i]];
        if (l->rule[i] == OSC_LINK_EXTERNAL_ID && (kind == OSC_KIND_HW || kind == OSC_KIND_LANE))
            marks[l->from[i]] |= kind == OSC_KIND_HW ? LAUNCHED | REACHED : LAUNCHED;
    }
    for (uint32_t i = 0; i < run->s->count; i++) {
        uint32_t op =
            run->s->kind[i] == OSC_KIND_RUNTIME ? osc_calls_op(run->calls, i) : OSC_NO_ROW;
        if (op != OSC_NO_ROW)
            marks[op] |= LAUNCHED;
    }
}

void osc_check_timing(osc_check_run *run)
{
    uint64_t launched = 0, reached = 0;
    char number[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    if (!is_session(run)) {
        osc_check_fine(run, "no session");
        return;
    }
    uint8_t *marks = osc_calloc((size_t)run->s->count + 1, 1);
    if (!marks) {
        run->failed = true;
        return;
    }
    mark(run, marks);
    for (uint32_t i = 0; i < run->s->count; i++) {
        launched += (marks[i] & LAUNCHED) != 0;
        reached += (marks[i] & REACHED) != 0;
    }
    osc_free(marks);
    (void)osc_format_count((int64_t)launched, all);
    if (reached < launched)
        osc_check_found(run, OSC_SEV_ERROR, launched - reached,
                        "their executions were not captured: capture with device profiling on, and "
                        "synchronize before the window ends",
                        "%s of %s operators that launched work have no device time",
                        osc_format_count((int64_t)(launched - reached), number), all);
    osc_check_fine(run, "%s of %s operators", all, all);
}

void osc_check_cores(osc_check_run *run)
{
    const osc_exec_cols *e = osc_store_exec(run->store);
    int64_t captured = osc_check_meta(run, "captured_cores"), highest = -1;
    int64_t pairs = osc_check_meta(run, "pairs"), matched = osc_check_meta(run, "pairs_matched");
    if (!is_session(run)) {
        osc_check_fine(run, "no session");
        return;
    }
    for (uint32_t i = 0; i < e->count; i++)
        highest = e->core[i] > highest ? e->core[i] : highest;
    if (captured > 0 && e->count == 0 && run->kinds[OSC_KIND_CPU_OP] > 0)
        osc_check_found(
            run, OSC_SEV_WARN, 1,
            "the device that was asked for did nothing: the program ran on another device, "
            "or on the CPU",
            "%lld asked, none used", (long long)captured);
    if (matched < pairs)
        osc_check_found(run, OSC_SEV_ERROR, (uint64_t)(pairs - matched),
                        "a program and the profile of its executions must lie together; copy the "
                        "session whole",
                        "%lld of %lld profiles lack their program", (long long)(pairs - matched),
                        (long long)pairs);
    osc_check_fine(run, "asked %lld, highest used %lld", (long long)captured, (long long)highest);
}
