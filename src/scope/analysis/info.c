/* info.c - see info.h. One function per line; each says only what the store holds. */
#include "scope/analysis/info.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/calltree.h"
#include "scope/analysis/say.h"

#include <stdio.h>
#include <string.h>

static const osc_table_column columns[OSC_INFO_COLUMNS] = {
    {"topic", "topic", "what the line is about", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"text", "text", "what is there", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"file", "file", "where it was read", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"state", "state", "whether it is whole", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"severity", "severity", "of findings: note, warn, FAIL", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"code", "code", "of findings: stable name", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"times", "times", "of findings: how often", OSC_CELL_I64, OSC_UNIT_COUNT, true},
    {"offset", "offset", "of findings: byte offset of the first case, -1 none", OSC_CELL_I64,
     OSC_UNIT_NONE, true},
};

/* Early 1973: later times are dates, earlier ones a count from an unknown start. */
#define DATES_SINCE_NS INT64_C(100000000000000000)

struct info {
    const osc_store *store;
    osc_table *table;
    osc_buf text; /* the line being made */
    uint64_t kinds[OSC_KIND_COUNT];
    uint32_t steps;
    osc_str first_step;
    int64_t first_ns, last_ns; /* extent of all slices */
};

static osc_str meta(const struct info *i, const char *key)
{
    return osc_store_get_meta(i->store, key);
}

static int64_t meta_number(const struct info *i, const char *key)
{
    int64_t value = 0;
    (void)osc_parse_i64(meta(i, key), &value);
    return value;
}

/* Starts a line; put adds to it, end_line makes it a row. */
static void put(struct info *i, const char *separator, const char *text)
{
    if (i->text.len > 0)
        osc_buf_cstr(&i->text, separator);
    osc_buf_cstr(&i->text, text);
}

static void put_count(struct info *i, uint64_t count, const char *one, const char *many)
{
    char number[OSC_NUM_TEXT];
    if (i->text.len > 0)
        osc_buf_cstr(&i->text, ", ");
    osc_buf_printf(&i->text, "%s %s", osc_format_count((int64_t)count, number),
                   count == 1 ? one : many);
}

/* The same for what there may be none of. */
static void put_some(struct info *i, uint64_t count, const char *one, const char *many)
{
    if (count > 0)
        put_count(i, count, one, many);
}

static void end_line(struct info *i, const char *topic, osc_str file, osc_str state)
{
    uint32_t row = osc_table_add_row(i->table);
    osc_table_set_str(i->table, row, OSC_INFO_TOPIC, osc_str_from_cstr(topic));
    osc_table_set_str(i->table, row, OSC_INFO_TEXT, osc_buf_view(&i->text));
    osc_table_set_str(i->table, row, OSC_INFO_FILE, file);
    osc_table_set_str(i->table, row, OSC_INFO_STATE, state);
    osc_table_set_i64(i->table, row, OSC_INFO_OFFSET, -1);
    osc_buf_clear(&i->text);
}

/* ---- counts ---- */

static void count_slices(struct info *i)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    i->first_ns = INT64_MAX;
    i->last_ns = INT64_MIN;
    for (uint32_t n = 0; n < s->count; n++) {
        int64_t end = s->start_ns[n];
        i->kinds[s->kind[n] < OSC_KIND_COUNT ? s->kind[n] : OSC_KIND_OTHER]++;
        if (s->flags[n] & OSC_SLICE_NO_TIME)
            continue;
        (void)osc_add_i64(s->start_ns[n], s->dur_ns[n], &end);
        i->first_ns = s->start_ns[n] < i->first_ns ? s->start_ns[n] : i->first_ns;
        i->last_ns = end > i->last_ns ? end : i->last_ns;
        osc_str name = osc_store_text(i->store, s->name[n]);
        if (s->kind[n] == OSC_KIND_USER_ANNOTATION &&
            osc_str_starts(name, OSC_STR("ProfilerStep#"))) {
            if (i->steps++ == 0)
                i->first_step = name;
        }
    }
}

static void put_when(struct info *i)
{
    char text[OSC_TIME_TEXT + OSC_SAY_TEXT], number[OSC_SAY_TEXT];
    int64_t start = meta_number(i, "window_start_ns"), end = meta_number(i, "window_end_ns");
    if (start == 0 || end <= start) {
        start = i->first_ns;
        end = i->last_ns;
    }
    if (end < start)
        return;
    if (start > DATES_SINCE_NS)
        put(i, ", ", osc_format_utc_human(start, text));
    snprintf(text, sizeof text, "%s captured", osc_say_ns(end - start, number));
    put(i, ", ", text);
}

static void put_steps(struct info *i)
{
    if (i->steps == 0)
        return;
    put_count(i, i->steps, "step", "steps");
    osc_buf_printf(&i->text, i->steps == 1 ? " (%.*s)" : " from %.*s", OSC_STR_FMT(i->first_step));
}

/* ---- a session ---- */

static void tell_session(struct info *i)
{
    char text[64];
    osc_str pid = meta(i, "pid");
    osc_buf_str(&i->text, meta(i, "instance"));
    if (pid.len > 0) {
        snprintf(text, sizeof text, "pid %.*s", OSC_STR_FMT(pid));
        put(i, ", ", text);
    }
    put_when(i);
    put_steps(i);
    end_line(i, "Neuron session", (osc_str){0}, (osc_str){0});
}

static void tell_device(struct info *i)
{
    char text[128];
    int64_t cores = meta_number(i, "captured_cores");
    osc_str type = meta(i, "instance_type");
    if (cores > 0)
        snprintf(text, sizeof text, "%lld core%s of %.*s", (long long)cores, cores == 1 ? "" : "s",
                 OSC_STR_FMT(type));
    else
        osc_str_to_array(type.len > 0 ? type : OSC_STR("unknown device"), text, sizeof text);
    osc_buf_cstr(&i->text, text);
    if (osc_str_eq(meta(i, "simulated"), OSC_STR("1")))
        osc_buf_cstr(&i->text, " (virtual, simulated time)");
    end_line(i, "device", (osc_str){0}, (osc_str){0});
    if (meta(i, "torch_version").len > 0) {
        snprintf(text, sizeof text, "torch %.*s", OSC_STR_FMT(meta(i, "torch_version")));
        put(i, ", ", text);
    }
    if (meta(i, "producer").len > 0) {
        snprintf(text, sizeof text, "%.*s", OSC_STR_FMT(meta(i, "producer")));
        put(i, ", ", text);
    }
    if (meta(i, "compile_kind").len > 0) {
        snprintf(text, sizeof text, "%.*s", OSC_STR_FMT(meta(i, "compile_kind")));
        put(i, ", ", text);
    }
    if (i->text.len > 0)
        end_line(i, "software", (osc_str){0}, (osc_str){0});
}

/* The row of files with a role, OSC_NO_ROW when there is none. */
static uint32_t file_of(const struct info *i, const char *role)
{
    const osc_file_cols *f = osc_store_file(i->store);
    for (uint32_t n = 0; n < f->count; n++) {
        if (osc_str_eq_cstr(osc_store_text(i->store, f->role[n]), role))
            return n;
    }
    return OSC_NO_ROW;
}

static void tell_file(struct info *i, const char *topic, const char *role)
{
    const osc_file_cols *f = osc_store_file(i->store);
    uint32_t n = file_of(i, role);
    if (n == OSC_NO_ROW)
        return;
    put_count(i, f->events[n], "event", "events");
    end_line(i, topic, osc_store_text(i->store, f->name[n]), osc_store_text(i->store, f->state[n]));
}

static void tell_executions(struct info *i)
{
    const osc_work_cols *w = osc_store_work(i->store);
    uint64_t instructions = 0, transfers = 0;
    char state[96];
    if (osc_store_exec(i->store)->count == 0 && meta_number(i, "pairs") == 0)
        return;
    for (uint32_t n = 0; n < w->count; n++) {
        instructions += w->kind[n] == OSC_WORK_INST;
        transfers += w->kind[n] == OSC_WORK_DMA;
    }
    put_count(i, osc_store_exec(i->store)->count, "execution", "executions");
    char number[OSC_NUM_TEXT];
    uint32_t programs = osc_store_program(i->store)->count;
    osc_buf_printf(&i->text, " of %s program%s", osc_format_count(programs, number),
                   programs == 1 ? "" : "s");
    put_count(i, instructions, "instruction", "instructions");
    put_count(i, transfers, "transfer", "transfers");
    snprintf(state, sizeof state, "%.*s of %.*s pairs matched",
             OSC_STR_FMT(meta(i, "pairs_matched")), OSC_STR_FMT(meta(i, "pairs")));
    end_line(i, "executions", (osc_str){0}, osc_str_from_cstr(state));
}

/* ---- links ---- */

#define LAUNCHED 1u /* the operator called the runtime */
#define REACHED  2u /* its work was seen on a device */

/* Marks operators by what is linked to them; one byte per slice. */
static bool mark_operators(const struct info *i, uint8_t *marks, uint64_t *device, uint64_t *linked)
{
    const osc_link_cols *l = osc_store_link(i->store);
    const osc_slice_cols *s = osc_store_slice(i->store);
    osc_calltree tree;
    osc_calltree_options options = {.python = OSC_PYTHON_NO, .keep_duplicates = true};
    if (osc_calltree_build(i->store, &options, &tree, NULL) != OSC_OK)
        return false;
    for (uint32_t n = 0; n < tree.count; n++) {
        const osc_calltree_node *node = &tree.nodes[n];
        bool work = osc_slice_kind_is_device_work((osc_slice_kind)node->kind);
        *device += work;
        *linked += work && node->op != OSC_NO_ROW;
        if (node->op == OSC_NO_ROW)
            continue;
        marks[tree.nodes[node->op].slice] |= work ? LAUNCHED | REACHED : LAUNCHED;
    }
    for (uint32_t n = 0; n < l->count; n++) {
        uint8_t kind = s->kind[l->to[n]];
        if (l->rule[n] == OSC_LINK_EXTERNAL_ID && (kind == OSC_KIND_HW || kind == OSC_KIND_LANE))
            marks[l->from[n]] |= kind == OSC_KIND_HW ? LAUNCHED | REACHED : LAUNCHED;
    }
    osc_calltree_free(&tree);
    return true;
}

static bool tell_links(struct info *i, bool session)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    uint8_t *marks = osc_calloc((size_t)s->count + 1, 1);
    uint64_t device = 0, linked = 0, launched = 0, reached = 0;
    char number[OSC_NUM_TEXT], of[OSC_NUM_TEXT];
    if (!marks || !mark_operators(i, marks, &device, &linked)) {
        osc_free(marks);
        return false;
    }
    for (uint32_t n = 0; n < s->count; n++) {
        launched += (marks[n] & LAUNCHED) != 0;
        reached += (marks[n] & REACHED) != 0;
    }
    osc_free(marks);
    if (session) {
        osc_buf_printf(&i->text, "%s of %s operators that launched work reach the hardware",
                       osc_format_count((int64_t)reached, number),
                       osc_format_count((int64_t)launched, of));
        end_line(i, "linked", (osc_str){0}, (osc_str){0});
    } else if (device > 0) {
        osc_buf_printf(&i->text, "%s of %s device events belong to an operator",
                       osc_format_count((int64_t)linked, number),
                       osc_format_count((int64_t)device, of));
        end_line(i, "linked", (osc_str){0}, (osc_str){0});
    }
    return true;
}

/* ---- a plain trace ---- */

static void tell_trace(struct info *i)
{
    char text[160];
    osc_str host = meta(i, "host_name"), device = meta(i, "device_name");
    osc_buf_cstr(&i->text, "PyTorch profiler");
    if (host.len > 0) {
        snprintf(text, sizeof text, "host %.*s", OSC_STR_FMT(host));
        put(i, ", ", text);
    }
    put_when(i);
    put_steps(i);
    end_line(i, "trace", (osc_str){0}, (osc_str){0});
    if (device.len > 0) {
        osc_buf_str(&i->text, device);
        end_line(i, "device", (osc_str){0}, (osc_str){0});
    }
    put_count(i, (uint64_t)meta_number(i, "event_count"), "event", "events");
    put_some(i, i->kinds[OSC_KIND_CPU_OP], "operator", "operators");
    put_some(i, i->kinds[OSC_KIND_RUNTIME], "runtime call", "runtime calls");
    put_some(i, i->kinds[OSC_KIND_KERNEL], "kernel", "kernels");
    put_some(i, i->kinds[OSC_KIND_MEMCPY] + i->kinds[OSC_KIND_MEMSET], "copy or fill",
             "copies and fills");
    put_some(i, i->kinds[OSC_KIND_PYTHON], "python frame", "python frames");
    put_some(i, osc_store_memory(i->store)->count, "memory record", "memory records");
    end_line(i, "events", (osc_str){0}, (osc_str){0});
}

/* ---- a single artifact: every fact it has ---- */

static void tell_artifact(struct info *i)
{
    const osc_meta_cols *m = osc_store_meta(i->store);
    for (uint32_t n = 0; n < m->count; n++) {
        char topic[64];
        osc_str key = osc_store_text(i->store, m->key[n]);
        if (osc_str_eq(key, OSC_STR("source")))
            continue;
        osc_buf_str(&i->text, osc_store_text(i->store, m->value[n]));
        end_line(i, osc_str_to_array(key, topic, sizeof topic), (osc_str){0}, (osc_str){0});
    }
}

/* ---- findings ---- */

static void add_finding(struct info *i, osc_severity severity, osc_str code, osc_str sentence,
                        osc_str file, uint64_t times, uint64_t offset)
{
    static const char *const names[] = {"note", "warn", "FAIL"};
    uint32_t row = osc_table_add_row(i->table);
    osc_table_set_str(i->table, row, OSC_INFO_TOPIC, OSC_STR("finding"));
    osc_table_set_str(i->table, row, OSC_INFO_TEXT, sentence);
    osc_table_set_str(i->table, row, OSC_INFO_FILE, file);
    osc_table_set_str(i->table, row, OSC_INFO_SEVERITY,
                      osc_str_from_cstr(names[severity <= 2 ? severity : 2]));
    osc_table_set_str(i->table, row, OSC_INFO_CODE, code);
    osc_table_set_i64(i->table, row, OSC_INFO_TIMES, (int64_t)times);
    osc_table_set_i64(i->table, row, OSC_INFO_OFFSET,
                      offset == OSC_NO_OFFSET ? -1 : (int64_t)offset);
}

/* What follows from the counts rather than from a reader. */
static void add_derived_findings(struct info *i)
{
    uint64_t device =
        i->kinds[OSC_KIND_KERNEL] + i->kinds[OSC_KIND_MEMCPY] + i->kinds[OSC_KIND_MEMSET];
    if (osc_str_eq(meta(i, "simulated"), OSC_STR("1")))
        add_finding(i, OSC_SEV_NOTE, OSC_STR("simulated"),
                    OSC_STR("device time is simulated; see docs/model.md for its error"),
                    (osc_str){0}, 1, OSC_NO_OFFSET);
    if (meta_number(i, "dropped_events") > 0)
        add_finding(
            i, OSC_SEV_WARN, OSC_STR("dropped_events"),
            OSC_STR("the capture dropped events; raise max_events_per_nc or profile fewer steps"),
            (osc_str){0}, (uint64_t)meta_number(i, "dropped_events"), OSC_NO_OFFSET);
    osc_str fallbacks = meta(i, "cpu_fallbacks");
    if (fallbacks.len > 0) {
        osc_buf_clear(&i->text);
        osc_buf_printf(&i->text, "these operators ran on the CPU while the profile was made: %.*s",
                       OSC_STR_FMT(fallbacks));
        add_finding(i, OSC_SEV_NOTE, OSC_STR("cpu_fallbacks"), osc_buf_view(&i->text), (osc_str){0},
                    1, OSC_NO_OFFSET);
    }
    if (i->kinds[OSC_KIND_RUNTIME] > 0 && device == 0 && i->kinds[OSC_KIND_HW] == 0)
        add_finding(
            i, OSC_SEV_WARN, OSC_STR("no_device_events"),
            OSC_STR("there are launches but no device events, so no operator has device time"),
            (osc_str){0}, 1, OSC_NO_OFFSET);
}

static uint64_t add_findings(struct info *i)
{
    const osc_finding_cols *f = osc_store_finding(i->store);
    bool one_file = !osc_str_eq(meta(i, "source"), OSC_STR("session"));
    uint64_t failures = 0;
    for (int severity = OSC_SEV_ERROR; severity >= OSC_SEV_NOTE; severity--) {
        for (uint32_t n = 0; n < f->count; n++) {
            if (f->severity[n] != severity)
                continue;
            failures += severity == OSC_SEV_ERROR;
            add_finding(i, (osc_severity)severity, osc_store_text(i->store, f->code[n]),
                        osc_store_text(i->store, f->sentence[n]),
                        one_file ? (osc_str){0} : osc_store_text(i->store, f->input[n]),
                        f->times[n], f->offset[n]);
        }
    }
    return failures;
}

static bool tell(struct info *i)
{
    osc_str source = meta(i, "source");
    bool session = osc_str_eq(source, OSC_STR("session"));
    if (osc_str_eq(source, OSC_STR("artifact"))) {
        tell_artifact(i);
        return true;
    }
    count_slices(i);
    if (session) {
        tell_session(i);
        tell_device(i);
        tell_file(i, "framework", "trace-json");
        tell_file(i, "runtime", "ntrace");
        tell_executions(i);
    } else {
        tell_trace(i);
    }
    return tell_links(i, session);
}

osc_status osc_info(const osc_store *store, osc_table **out, osc_err *err)
{
    struct info i = {.store = store, .table = osc_table_new("info", columns, OSC_INFO_COLUMNS)};
    osc_buf_init(&i.text, SIZE_MAX);
    *out = NULL;
    bool ok = i.table && tell(&i);
    if (ok) {
        uint32_t facts = osc_table_rows(i.table);
        uint64_t failures = add_findings(&i);
        add_derived_findings(&i);
        osc_table_set_fact_i64(i.table, "findings", osc_table_rows(i.table) - facts);
        osc_table_set_fact_i64(i.table, "failures", (int64_t)failures);
    }
    ok = ok && !i.text.failed;
    osc_buf_free(&i.text);
    osc_status status =
        ok ? osc_table_status(i.table, err)
           : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the overview");
    if (status != OSC_OK) {
        osc_table_free(i.table);
        return status;
    }
    *out = i.table;
    return OSC_OK;
}
