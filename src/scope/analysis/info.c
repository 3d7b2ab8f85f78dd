/* info.c - see info.h. One function per line; each says only what the store holds. */
#include "scope/analysis/info_internal.h"

#include "base/clock.h"
#include "base/mem.h"
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

osc_str info_meta(const struct info *i, const char *key)
{
    return osc_store_get_meta(i->store, key);
}

int64_t info_number(const struct info *i, const char *key)
{
    int64_t value = 0;
    (void)osc_parse_i64(info_meta(i, key), &value);
    return value;
}

/* Starts a line; put adds to it, end_line makes it a row. */
void info_put(struct info *i, const char *separator, const char *text)
{
    if (i->text.len > 0)
        osc_buf_cstr(&i->text, separator);
    osc_buf_cstr(&i->text, text);
}

void info_put_count(struct info *i, uint64_t count, const char *one, const char *many)
{
    char number[OSC_NUM_TEXT];
    if (i->text.len > 0)
        osc_buf_cstr(&i->text, ", ");
    osc_buf_printf(&i->text, "%s %s", osc_format_count((int64_t)count, number),
                   count == 1 ? one : many);
}

/* The same for what there may be none of. */
void info_put_some(struct info *i, uint64_t count, const char *one, const char *many)
{
    if (count > 0)
        info_put_count(i, count, one, many);
}

void info_end_line(struct info *i, const char *topic, osc_str file, osc_str state)
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
    i->extent = osc_extent_of(i->store);
    for (uint32_t n = 0; n < s->count; n++) {
        i->kinds[s->kind[n] < OSC_KIND_COUNT ? s->kind[n] : OSC_KIND_OTHER]++;
        if (osc_slice_is_step(i->store, n) && i->steps++ == 0)
            i->first_step = osc_store_text(i->store, s->name[n]);
    }
}

void info_put_when(struct info *i)
{
    char text[OSC_TIME_TEXT + OSC_SAY_TEXT], number[OSC_SAY_TEXT];
    int64_t start = info_number(i, "window_start_ns"), end = info_number(i, "window_end_ns");
    if (start == 0 || end <= start) {
        start = i->extent.first_ns;
        end = i->extent.last_ns;
    }
    if (end < start)
        return;
    if (start > INFO_DATES_SINCE_NS)
        info_put(i, ", ", osc_format_utc_human(start, text));
    snprintf(text, sizeof text, "%s captured", osc_say_ns(end - start, number));
    info_put(i, ", ", text);
}

void info_put_steps(struct info *i)
{
    if (i->steps == 0)
        return;
    info_put_count(i, i->steps, "step", "steps");
    osc_buf_printf(&i->text, i->steps == 1 ? " (%.*s)" : " from %.*s", OSC_STR_FMT(i->first_step));
}

/* ---- a session ---- */

static void tell_session(struct info *i)
{
    char text[64];
    osc_str pid = info_meta(i, "pid");
    osc_buf_str(&i->text, info_meta(i, "instance"));
    if (pid.len > 0) {
        snprintf(text, sizeof text, "pid %.*s", OSC_STR_FMT(pid));
        info_put(i, ", ", text);
    }
    info_put_when(i);
    info_put_steps(i);
    info_end_line(i, "Neuron session", (osc_str){0}, (osc_str){0});
}

static void tell_device(struct info *i)
{
    char text[128];
    int64_t cores = info_number(i, "captured_cores");
    osc_str type = info_meta(i, "instance_type");
    if (cores > 0)
        snprintf(text, sizeof text, "%lld core%s of %.*s", (long long)cores, cores == 1 ? "" : "s",
                 OSC_STR_FMT(type));
    else
        osc_str_to_array(type.len > 0 ? type : OSC_STR("unknown device"), text, sizeof text);
    osc_buf_cstr(&i->text, text);
    if (osc_str_eq(info_meta(i, "simulated"), OSC_STR("1")))
        osc_buf_cstr(&i->text, " (virtual, simulated time)");
    info_end_line(i, "device", (osc_str){0}, (osc_str){0});
    if (info_meta(i, "torch_version").len > 0) {
        snprintf(text, sizeof text, "torch %.*s", OSC_STR_FMT(info_meta(i, "torch_version")));
        info_put(i, ", ", text);
    }
    if (info_meta(i, "producer").len > 0) {
        snprintf(text, sizeof text, "%.*s", OSC_STR_FMT(info_meta(i, "producer")));
        info_put(i, ", ", text);
    }
    if (info_meta(i, "compile_kind").len > 0) {
        snprintf(text, sizeof text, "%.*s", OSC_STR_FMT(info_meta(i, "compile_kind")));
        info_put(i, ", ", text);
    }
    if (i->text.len > 0)
        info_end_line(i, "software", (osc_str){0}, (osc_str){0});
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
    info_put_count(i, f->events[n], "event", "events");
    info_end_line(i, topic, osc_store_text(i->store, f->name[n]),
                  osc_store_text(i->store, f->state[n]));
}

static void tell_executions(struct info *i)
{
    const osc_work_cols *w = osc_store_work(i->store);
    uint64_t instructions = 0, transfers = 0;
    char state[96];
    if (osc_store_exec(i->store)->count == 0 && info_number(i, "pairs") == 0)
        return;
    for (uint32_t n = 0; n < w->count; n++) {
        instructions += w->kind[n] == OSC_WORK_INST;
        transfers += w->kind[n] == OSC_WORK_DMA;
    }
    info_put_count(i, osc_store_exec(i->store)->count, "execution", "executions");
    char number[OSC_NUM_TEXT];
    uint32_t programs = osc_store_program(i->store)->count;
    osc_buf_printf(&i->text, " of %s program%s", osc_format_count(programs, number),
                   programs == 1 ? "" : "s");
    info_put_count(i, instructions, "instruction", "instructions");
    info_put_count(i, transfers, "transfer", "transfers");
    snprintf(state, sizeof state, "%.*s of %.*s pairs matched",
             OSC_STR_FMT(info_meta(i, "pairs_matched")), OSC_STR_FMT(info_meta(i, "pairs")));
    info_end_line(i, "executions", (osc_str){0}, osc_str_from_cstr(state));
}

/* ---- links ---- */

#define LAUNCHED 1u /* the operator called the runtime */
#define REACHED  2u /* its work was seen on a device */

/* Marks operators by what is linked to them; one byte per slice. */
static void mark_operators(const struct info *i, uint8_t *marks)
{
    const osc_link_cols *l = osc_store_link(i->store);
    const osc_slice_cols *s = osc_store_slice(i->store);
    for (uint32_t n = 0; n < s->count; n++) {
        bool work = osc_slice_kind_is_device_work((osc_slice_kind)s->kind[n]);
        if (!work && s->kind[n] != OSC_KIND_RUNTIME)
            continue;
        uint32_t op = osc_calls_op(i->calls, n);
        if (op != OSC_NO_ROW)
            marks[op] |= work ? LAUNCHED | REACHED : LAUNCHED;
    }
    for (uint32_t n = 0; n < l->count; n++) {
        uint8_t kind = s->kind[l->to[n]];
        if (l->rule[n] == OSC_LINK_EXTERNAL_ID && (kind == OSC_KIND_HW || kind == OSC_KIND_LANE))
            marks[l->from[n]] |= kind == OSC_KIND_HW ? LAUNCHED | REACHED : LAUNCHED;
    }
}

static bool tell_reached(struct info *i)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    uint8_t *marks = osc_calloc((size_t)s->count + 1, 1);
    uint64_t launched = 0, reached = 0;
    char number[OSC_NUM_TEXT], of[OSC_NUM_TEXT];
    if (!marks)
        return false;
    mark_operators(i, marks);
    for (uint32_t n = 0; n < s->count; n++) {
        launched += (marks[n] & LAUNCHED) != 0;
        reached += (marks[n] & REACHED) != 0;
    }
    osc_free(marks);
    osc_buf_printf(&i->text, "%s of %s operators that launched work reach the hardware",
                   osc_format_count((int64_t)reached, number),
                   osc_format_count((int64_t)launched, of));
    info_end_line(i, "linked", (osc_str){0}, (osc_str){0});
    return true;
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
        info_end_line(i, osc_str_to_array(key, topic, sizeof topic), (osc_str){0}, (osc_str){0});
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
    if (osc_store_slice(i->store)->count == 0 && osc_store_memory(i->store)->count == 0 &&
        !osc_str_eq(info_meta(i, "source"), OSC_STR("artifact")))
        add_finding(i, OSC_SEV_WARN, OSC_STR("no_events"), OSC_STR("no event has a time"),
                    (osc_str){0}, 1, OSC_NO_OFFSET);
    if (i->extent.stampless > 0)
        add_finding(i, OSC_SEV_WARN, OSC_STR("no_stamps"),
                    OSC_STR("device events have zeros for time stamps; they are in no span"),
                    (osc_str){0}, i->extent.stampless, OSC_NO_OFFSET);
    uint64_t device = i->kinds[OSC_KIND_KERNEL] + i->kinds[OSC_KIND_MEMCPY] +
                      i->kinds[OSC_KIND_MEMSET] + i->kinds[OSC_KIND_MTIA] + i->kinds[OSC_KIND_HPU];
    if (osc_str_eq(info_meta(i, "simulated"), OSC_STR("1")))
        add_finding(i, OSC_SEV_NOTE, OSC_STR("simulated"),
                    OSC_STR("device time is simulated; see docs/model.md for its error"),
                    (osc_str){0}, 1, OSC_NO_OFFSET);
    if (info_number(i, "dropped_events") > 0)
        add_finding(
            i, OSC_SEV_WARN, OSC_STR("dropped_events"),
            OSC_STR("the capture dropped events; raise max_events_per_nc or profile fewer steps"),
            (osc_str){0}, (uint64_t)info_number(i, "dropped_events"), OSC_NO_OFFSET);
    osc_str fallbacks = info_meta(i, "cpu_fallbacks");
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
    bool one_file = !osc_str_eq(info_meta(i, "source"), OSC_STR("session"));
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
    osc_str source = info_meta(i, "source");
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
        return tell_reached(i);
    }
    return info_tell_trace(i);
}

osc_status osc_info(const osc_store *store, osc_table **out, osc_err *err)
{
    struct info i = {.store = store, .table = osc_table_new("info", columns, OSC_INFO_COLUMNS)};
    osc_buf_init(&i.text, SIZE_MAX);
    *out = NULL;
    static const osc_calls_options calls = {
        .python = OSC_PYTHON_NO, .keep_duplicates = true, .no_launches = true};
    bool ok = i.table && osc_calls_build(store, &calls, &i.calls, err) == OSC_OK && tell(&i);
    if (ok) {
        uint32_t facts = osc_table_rows(i.table);
        uint64_t failures = add_findings(&i);
        add_derived_findings(&i);
        osc_table_set_fact_i64(i.table, "findings", osc_table_rows(i.table) - facts);
        osc_table_set_fact_i64(i.table, "failures", (int64_t)failures);
    }
    ok = ok && !i.text.failed;
    osc_buf_free(&i.text);
    osc_calls_free(i.calls);
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
