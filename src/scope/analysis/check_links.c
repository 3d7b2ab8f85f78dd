/*
 * check_links.c - checks of the numbers that tie events together: External ids, flows, sequence
 * numbers (kineto-trace-format.md 1.8, 1.9, 2.11; known-bad-inputs.md section 6).
 */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- External ids ---- */

/* Operators and ranges whose External id an earlier one has too; *first is the first of them. */
static uint64_t count_twice(osc_check_run *run, uint32_t *first, uint64_t *negative)
{
    osc_map seen;
    uint64_t twice = 0;
    osc_map_init(&seen);
    for (uint32_t i = 0; i < run->s->count; i++) {
        int64_t id = run->s->external_id[i];
        uint8_t kind = run->s->kind[i];
        if (id == 0 || (kind != OSC_KIND_CPU_OP && kind != OSC_KIND_USER_ANNOTATION))
            continue;
        *negative += id < 0;
        if (osc_map_get(&seen, (uint64_t)id, NULL)) {
            *first = twice++ == 0 ? i : *first;
        } else if (osc_map_put(&seen, (uint64_t)id, i) != OSC_OK) {
            run->failed = true;
            break;
        }
    }
    osc_map_free(&seen);
    return twice;
}

void osc_check_ids(osc_check_run *run)
{
    uint64_t same = 0, negative = 0;
    uint32_t first = OSC_NO_ROW;
    uint64_t twice = count_twice(run, &first, &negative);
    char number[OSC_CHECK_MANY_TEXT], name[OSC_CHECK_NAME_TEXT];
    for (uint32_t i = 0; i < run->work_count; i++) {
        uint32_t slice = run->work[i];
        same += run->s->external_id[slice] != 0 &&
                run->s->external_id[slice] == run->s->correlation[slice];
    }
    if (twice > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, twice,
            "several ranks or captures were merged into one file, or the numbers wrapped: "
            "device work may be credited to the wrong operator; give each rank its own file",
            "%s again, first at %s",
            osc_check_many(twice, "External id occurs", "External ids occur", number),
            osc_check_name(run, first, name));
    if (osc_calls_facts_of(run->calls)->by_correlation)
        osc_check_found(
            run, OSC_SEV_WARN, same,
            "PyTorch 1.11 to 2.2 wrote them so: device work was linked through its launch "
            "and the operator around that",
            "External ids of device work repeat correlation numbers (%s)",
            osc_check_many(same, "event", "events", number));
    else if (same > 0)
        osc_check_found(
            run, OSC_SEV_WARN, same,
            "PyTorch 2.3 to 2.5 wrote so where no operator was open: believed only where "
            "the launch lies inside that operator",
            "%s correlation number as External id",
            osc_check_many(same, "device event has its", "device events have their", number));
    if (negative > 0)
        osc_check_found(run, OSC_SEV_WARN, negative,
                        "the numbers have 32 bits in the file and wrapped", "%s below zero",
                        osc_check_many(negative, "External id is", "External ids are", number));
    osc_check_fine(run, "no External id occurs twice");
}

/* ---- flows ---- */

/* Single starts without an end are in every real file (1.8); more than one in so many is worth a
 * word. */
#define FLOWS_LOST 10u

struct flow {
    uint32_t category, id;
    uint8_t phase;
};

static int compare_flows(const void *left, const void *right)
{
    const struct flow *a = left, *b = right;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (int)a->phase - (int)b->phase;
}

static struct flow *sorted_flows(osc_check_run *run)
{
    const osc_flow_cols *f = osc_store_flow(run->store);
    struct flow *flows = osc_realloc_array(NULL, (size_t)f->count + 1, sizeof *flows);
    if (!flows) {
        run->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < f->count; i++)
        flows[i] = (struct flow){f->category[i], f->id[i], f->phase[i]};
    qsort(flows, f->count, sizeof *flows, compare_flows);
    return flows;
}

struct flow_counts {
    uint64_t starts, no_start, no_end,
        twice; /* starts; ids without a start, an end; starts of an id that has one */
};

/* Counts over flows sorted by (category, id, phase). */
static void count_flows(const struct flow *flows, uint32_t count, struct flow_counts *c)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t next = i;
        uint64_t starts = 0, ends = 0;
        while (next < count && flows[next].category == flows[i].category &&
               flows[next].id == flows[i].id) {
            starts += flows[next].phase == 0;
            ends += flows[next].phase == 2;
            next++;
        }
        c->starts += starts;
        c->no_start += starts == 0;
        c->no_end += ends == 0;
        c->twice += starts > 1 ? starts - 1 : 0;
        i = next;
    }
}

void osc_check_flows(osc_check_run *run)
{
    static const char advice[] =
        "viewers draw these arrows wrongly or not at all; no total of opscope uses arrows";
    uint32_t count = osc_store_flow(run->store)->count;
    struct flow_counts c = {0};
    char number[OSC_CHECK_MANY_TEXT];
    struct flow *flows = sorted_flows(run);
    if (flows)
        count_flows(flows, count, &c);
    osc_free(flows);
    if (c.twice > 0)
        osc_check_found(run, OSC_SEV_WARN, c.twice, advice, "%s again",
                        osc_check_many(c.twice, "start occurs", "starts occur", number));
    if (c.no_end > c.starts / FLOWS_LOST)
        osc_check_found(run, OSC_SEV_WARN, c.no_end, advice, "%s an end",
                        osc_check_many(c.no_end, "start lacks", "starts lack", number));
    if (count == 0)
        osc_check_fine(run, "the file has no arrows");
    else
        osc_check_fine(run,
                       "of %s ends of arrows %llu lack their start, %llu starts their end; Kineto "
                       "writes such",
                       osc_format_count(count, number), (unsigned long long)c.no_start,
                       (unsigned long long)c.no_end);
}

/* ---- sequence numbers ---- */

struct backward {
    int64_t sequence;
    uint32_t name;
};

static int compare_backward(const void *left, const void *right)
{
    const struct backward *a = left, *b = right;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* The calls of the autograd engine by sequence number. */
static struct backward *sorted_backward(osc_check_run *run, uint32_t *count)
{
    static const char engine[] = "autograd::engine::evaluate_function:";
    const osc_sequence_cols *q = osc_store_sequence(run->store);
    struct backward *calls = osc_realloc_array(NULL, (size_t)q->count + 1, sizeof *calls);
    *count = 0;
    if (!calls) {
        run->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < q->count; i++) {
        uint32_t name = run->s->name[q->slice[i]];
        if (osc_str_find(osc_store_text(run->store, name), osc_str_from_cstr(engine)) != SIZE_MAX)
            calls[(*count)++] = (struct backward){q->sequence[i], name};
    }
    qsort(calls, *count, sizeof *calls, compare_backward);
    return calls;
}

void osc_check_backward(osc_check_run *run)
{
    uint32_t count;
    uint64_t shared = 0;
    int64_t first = -1;
    char number[OSC_NUM_TEXT];
    struct backward *calls = sorted_backward(run, &count);
    for (uint32_t i = 1; calls && i < count; i++) {
        bool differs =
            calls[i].sequence == calls[i - 1].sequence && calls[i].name != calls[i - 1].name;
        first = differs && shared == 0 ? calls[i].sequence : first;
        shared += differs;
    }
    osc_free(calls);
    if (shared > 0)
        osc_check_found(
            run, OSC_SEV_WARN, shared,
            "forward and backward cannot be told apart by number there: `opscope follow` "
            "may name the wrong forward operator",
            "%s backward operators share a sequence number with another, first %lld",
            osc_format_count((int64_t)shared, number), (long long)first);
    osc_check_fine(run, count == 0 ? "no backward operators" : "%s backward operators",
                   osc_format_count(count, number));
}
