/*
 * devprofile_read.c - JSON of a device profile to rows, in one pass, without a document tree.
 *
 * A list whose name is a table's gives rows, one whose name is a set of facts gives facts, another
 * is counted. Newer tools call some columns differently; those names are aliases. Ids go up to
 * 9.22e18 and are read as integers, never through a double. A row costs no allocation of its own.
 *
 * Refuses: to guess. A value of a wrong type leaves its column as if absent and is counted; a row
 * without a time is left out and counted.
 */
#include "artifact/devprofile.h"

#include "artifact/devprofile_internal.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Texts of one profile together; names repeat, so this is far above any real one. */
#define STRINGS_MAX ((size_t)1 << 30)

/* Lists of one row whose members are facts. */
static const char *const fact_lists[] = {"metadata", "profile_info", "neff_header", "model_info",
                                         "summary"};

/* Names that newer tools give to columns (neuron-explorer.md 6.7). */
static const struct {
    osc_dp_table table;
    osc_str alias, key;
} aliases[] = {
    {OSC_DP_TABLE_inst, OSC_STR_INIT("start_ts"), OSC_STR_INIT("timestamp")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("duration_ns"), OSC_STR_INIT("duration")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("engine"), OSC_STR_INIT("subgroup")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("timeline_track"), OSC_STR_INIT("label")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("evt_wait_time_ns"), OSC_STR_INIT("evt_wait_time")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("dma_trigger_start_ts"), OSC_STR_INIT("trigger")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("tensor_instruction_type"), OSC_STR_INIT("instruction_type")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("tensor_elements"), OSC_STR_INIT("elements")},
    {OSC_DP_TABLE_inst, OSC_STR_INIT("scalar_activation_fn"), OSC_STR_INIT("activation_fn")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("start_ts"), OSC_STR_INIT("timestamp")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("duration_ns"), OSC_STR_INIT("duration")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("transfer_bytes"), OSC_STR_INIT("transfer_size")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("read_bytes"), OSC_STR_INIT("read_size")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("write_bytes"), OSC_STR_INIT("write_size")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("engine_idx"), OSC_STR_INIT("dma_engine")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("queue_idx"), OSC_STR_INIT("dma_queue")},
    {OSC_DP_TABLE_dma, OSC_STR_INIT("queue_name"), OSC_STR_INIT("subgroup")},
};

struct reader {
    osc_json json;
    const char *input;
    osc_findings *findings;
    osc_devprofile *profile;
    osc_buf scratch; /* texts with escapes undone */
    bool failed;     /* out of memory */
};

/* ---- texts ---- */

static osc_str keep(struct reader *r, osc_str text)
{
    uint32_t id = osc_intern_put(r->profile->strings, text);
    if (id == OSC_INTERN_NONE)
        r->failed = true;
    return id == OSC_INTERN_NONE ? (osc_str){0} : osc_intern_get(r->profile->strings, id);
}

/* Text of a KEY or STRING token, escapes undone; valid until the next call. */
static osc_str plain(struct reader *r, const osc_json_token *t)
{
    if (!t->escaped)
        return t->text;
    osc_buf_clear(&r->scratch);
    if (!osc_json_unescape(t->text, &r->scratch, NULL))
        r->failed = true;
    return osc_buf_view(&r->scratch);
}

/* The value that begins with a token, as text; the value is taken. */
static osc_str value_text(struct reader *r, const osc_json_token *first)
{
    if (first->type == OSC_JSON_STRING)
        return plain(r, first);
    if (first->type == OSC_JSON_NULL)
        return (osc_str){0};
    if (!osc_json_skip_value(&r->json, first))
        return (osc_str){0};
    return osc_str_make(r->json.data + first->offset, r->json.pos - (size_t)first->offset);
}

/* ---- values ---- */

/* Whole part of a fraction, toward minus infinity; false when it does not fit. */
static bool floor_i64(double value, int64_t *out)
{
    double whole = floor(value);
    if (!(whole >= -9.2e18 && whole <= 9.2e18))
        return false;
    *out = (int64_t)whole;
    return true;
}

static bool read_i64(struct reader *r, const osc_json_token *t, int64_t *out)
{
    double real;
    if (t->type == OSC_JSON_NUMBER)
        return osc_json_i64(t, out) || (osc_json_f64(t, &real) && floor_i64(real, out));
    if (t->type == OSC_JSON_TRUE || t->type == OSC_JSON_FALSE) {
        *out = t->type == OSC_JSON_TRUE;
        return true;
    }
    osc_str text = t->type == OSC_JSON_STRING ? osc_str_trim(plain(r, t)) : (osc_str){0};
    return osc_parse_i64(text, out) || (osc_parse_f64(text, &real) && floor_i64(real, out));
}

static bool read_f64(struct reader *r, const osc_json_token *t, double *out)
{
    if (t->type == OSC_JSON_NUMBER)
        return osc_json_f64(t, out);
    return t->type == OSC_JSON_STRING && osc_parse_f64(osc_str_trim(plain(r, t)), out);
}

static bool read_flag(struct reader *r, const osc_json_token *t, bool *out)
{
    int64_t number = 0;
    if (t->type == OSC_JSON_TRUE || t->type == OSC_JSON_FALSE) {
        *out = t->type == OSC_JSON_TRUE;
        return true;
    }
    if (t->type == OSC_JSON_STRING)
        return osc_parse_bool(plain(r, t), out);
    if (t->type != OSC_JSON_NUMBER || !osc_json_i64(t, &number))
        return false;
    *out = number != 0;
    return true;
}

static bool is_compound(const osc_json_token *t)
{
    return t->type == OSC_JSON_OBJ_BEGIN || t->type == OSC_JSON_ARR_BEGIN;
}

/* Sets a column of a row; the value is taken. False: the value is of another type. */
static bool set_column(struct reader *r, const osc_dp_column *c, const osc_json_token *t, char *row)
{
    void *at = row + c->offset;
    union {
        int64_t i64;
        double f64;
        bool flag;
        osc_str str;
    } v;
    bool ok;
    switch (c->kind) {
    case OSC_DP_STR:
        v.str = keep(r, value_text(r, t));
        memcpy(at, &v.str, sizeof v.str);
        return true;
    case OSC_DP_I64:
        if ((ok = read_i64(r, t, &v.i64)))
            memcpy(at, &v.i64, sizeof v.i64);
        break;
    case OSC_DP_F64:
        if ((ok = read_f64(r, t, &v.f64)))
            memcpy(at, &v.f64, sizeof v.f64);
        break;
    default:
        if ((ok = read_flag(r, t, &v.flag)))
            memcpy(at, &v.flag, sizeof v.flag);
        break;
    }
    if (is_compound(t))
        (void)osc_json_skip_value(&r->json, t);
    return ok || (t->type == OSC_JSON_STRING && t->text.len == 0);
}

/* ---- rows ---- */

static const osc_dp_column *column_of(const osc_dp_def *def, osc_str key)
{
    for (uint32_t i = 0; i < def->column_count; i++) {
        if (osc_str_eq(def->columns[i].key, key))
            return &def->columns[i];
    }
    return NULL;
}

static const osc_dp_column *find_column(osc_dp_table table, osc_str key)
{
    const osc_dp_column *column = column_of(&osc_dp_defs[table], key);
    for (size_t i = 0; !column && i < sizeof aliases / sizeof *aliases; i++) {
        if (aliases[i].table == table && osc_str_eq(aliases[i].alias, key))
            column = column_of(&osc_dp_defs[table], aliases[i].key);
    }
    return column;
}

/* Room for n + 1 elements of a size; false when memory is out. */
static bool grow(void **data, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t larger = *cap ? *cap * 2 : 64;
    void *grown = osc_realloc_array(*data, larger, size);
    if (!grown)
        return false;
    *data = grown;
    *cap = larger;
    return true;
}

static char *new_row(struct reader *r, osc_dp_table table)
{
    const osc_dp_def *def = &osc_dp_defs[table];
    osc_dp_rows *rows = &r->profile->tables[table];
    if (!grow(&rows->data, rows->count, &rows->cap, def->row_size)) {
        r->failed = true;
        return NULL;
    }
    char *row = (char *)rows->data + rows->count * def->row_size;
    memset(row, 0, def->row_size);
    for (uint32_t i = 0; i < def->column_count; i++) {
        assert(def->columns[i].absent == 0 || def->columns[i].kind == OSC_DP_I64);
        if (def->columns[i].absent != 0)
            memcpy(row + def->columns[i].offset, &def->columns[i].absent, sizeof(int64_t));
    }
    return row;
}

static uint64_t required_of(const osc_dp_def *def)
{
    uint64_t bits = 0;
    assert(def->column_count <= 64);
    for (uint32_t i = 0; i < def->column_count; i++)
        bits |= (uint64_t)def->columns[i].required << i;
    return bits;
}

static void note_value(struct reader *r, osc_str key, uint64_t offset)
{
    osc_findings_add(r->findings, "profile-value", OSC_SEV_WARN, OSC_EFORMAT, r->input, offset,
                     "values are not of their column's type and were left out; the first is %.*s",
                     OSC_STR_FMT(key));
}

/* The members of one row, after its '{'. False: stop (no memory, or the text is damaged). */
static bool read_row(struct reader *r, osc_dp_table table, uint64_t offset)
{
    const osc_dp_def *def = &osc_dp_defs[table];
    char *row = new_row(r, table);
    uint64_t missing = required_of(def);
    osc_json_token key;
    while (row && osc_json_next_member(&r->json, &key)) {
        osc_str name = plain(r, &key);
        const osc_dp_column *column = find_column(table, name);
        if (!column) {
            if (!osc_json_skip_value(&r->json, NULL))
                return false;
            continue;
        }
        osc_json_token value = osc_json_next(&r->json);
        if (value.type == OSC_JSON_ERROR)
            return false;
        if (value.type == OSC_JSON_NULL)
            continue;
        if (set_column(r, column, &value, row))
            missing &= ~(UINT64_C(1) << (column - def->columns));
        else
            note_value(r, column->key, value.offset);
    }
    if (!row || r->failed || r->json.status != OSC_OK)
        return false;
    if (missing == 0)
        r->profile->tables[table].count++;
    else
        osc_findings_add(r->findings, "profile-row", OSC_SEV_WARN, OSC_EFORMAT, r->input, offset,
                         "rows of %.*s lack a time or a name and were left out",
                         OSC_STR_FMT(def->name));
    return true;
}

static bool add_fact(struct reader *r, osc_str table, osc_str key, osc_str value, bool number)
{
    osc_devprofile *p = r->profile;
    void *facts = p->facts;
    bool room = grow(&facts, p->fact_count, &p->fact_cap, sizeof *p->facts);
    p->facts = facts;
    if (!room || r->failed) {
        r->failed = true;
        return false;
    }
    p->facts[p->fact_count++] =
        (osc_dp_fact){.table = table, .key = key, .value = value, .is_number = number};
    return true;
}

/* The members of a row of facts, after its '{'. */
static bool read_facts(struct reader *r, osc_str table)
{
    osc_json_token key;
    while (osc_json_next_member(&r->json, &key)) {
        osc_str name = keep(r, plain(r, &key));
        osc_json_token value = osc_json_next(&r->json);
        if (value.type == OSC_JSON_ERROR)
            return false;
        osc_str text = keep(r, value_text(r, &value));
        if (!add_fact(r, table, name, text, value.type == OSC_JSON_NUMBER))
            return false;
    }
    return !r->failed && r->json.status == OSC_OK;
}

/* ---- lists ---- */

static bool is_fact_list(osc_str name)
{
    for (size_t i = 0; i < sizeof fact_lists / sizeof *fact_lists; i++) {
        if (osc_str_eq_cstr(name, fact_lists[i]))
            return true;
    }
    return false;
}

static osc_dp_table table_of(osc_str name)
{
    unsigned t = 0;
    while (t < OSC_DP_TABLE_COUNT && !osc_str_eq(osc_dp_defs[t].name, name))
        t++;
    return (osc_dp_table)t;
}

/* One element of a list; its first token is taken. */
static bool read_element(struct reader *r, const osc_dp_listed *list, osc_dp_table table,
                         const osc_json_token *first)
{
    if (first->type == OSC_JSON_OBJ_BEGIN && table != OSC_DP_TABLE_COUNT)
        return read_row(r, table, first->offset);
    if (first->type == OSC_JSON_OBJ_BEGIN && list->known)
        return read_facts(r, list->name);
    if (list->known)
        osc_findings_add(r->findings, "profile-row", OSC_SEV_WARN, OSC_EFORMAT, r->input,
                         first->offset, "rows of %.*s are no objects and were left out",
                         OSC_STR_FMT(list->name));
    return osc_json_skip_value(&r->json, first);
}

/* The value of a top-level member: a list of rows, or one row alone. */
static bool read_list(struct reader *r, osc_str name)
{
    osc_devprofile *p = r->profile;
    void *lists = p->lists;
    bool room = grow(&lists, p->list_count, &p->list_cap, sizeof *p->lists);
    p->lists = lists;
    if (!room || r->failed) {
        r->failed = true;
        return false;
    }
    osc_dp_table table = table_of(name);
    osc_dp_listed *list = &p->lists[p->list_count++];
    *list =
        (osc_dp_listed){.name = name, .known = table != OSC_DP_TABLE_COUNT || is_fact_list(name)};
    osc_json_token t = osc_json_next(&r->json);
    if (t.type == OSC_JSON_ERROR)
        return false;
    if (t.type != OSC_JSON_ARR_BEGIN) {
        list->rows = 1;
        return read_element(r, list, table, &t);
    }
    while (osc_json_next_element(&r->json, &t)) {
        list->rows++;
        if (!read_element(r, list, table, &t))
            return false;
    }
    return r->json.status == OSC_OK;
}

static void read_lists(struct reader *r)
{
    osc_json_token key;
    if (osc_json_next(&r->json).type != OSC_JSON_OBJ_BEGIN)
        return;
    while (osc_json_next_member(&r->json, &key)) {
        if (!read_list(r, keep(r, plain(r, &key))))
            return;
    }
    if (r->json.status == OSC_OK)
        (void)osc_json_next(&r->json); /* text behind the document is damage */
}

static bool has_rows(const osc_devprofile *p)
{
    return p->tables[OSC_DP_TABLE_inst].count > 0 || p->tables[OSC_DP_TABLE_dma].count > 0;
}

/* What reading came to; notes what was not understood. */
static osc_status judge(struct reader *r, osc_err *err)
{
    osc_err damage = {0};
    if (r->failed || r->scratch.failed)
        return osc_fail(err, OSC_ENOMEM, r->input, OSC_NO_OFFSET,
                        "out of memory for the device profile");
    osc_status status = osc_json_status(&r->json, r->input, &damage);
    if (status != OSC_OK && !has_rows(r->profile)) {
        if (err)
            *err = damage;
        return status;
    }
    if (status != OSC_OK)
        osc_findings_add(r->findings, "profile-damaged", OSC_SEV_ERROR, status, r->input,
                         damage.offset,
                         "the export is cut or damaged; what stands before was read, and sums over "
                         "it are too small (%s)",
                         damage.message);
    if (!has_rows(r->profile))
        return osc_fail(err, OSC_EFORMAT, r->input, 0,
                        "no device profile: it has no instruction and no dma rows");
    return OSC_OK;
}

osc_status osc_devprofile_read(const char *data, size_t len, const char *input,
                               osc_findings *findings, osc_devprofile **out, osc_err *err)
{
    struct reader r = {.input = input, .findings = findings};
    *out = NULL;
    r.profile = osc_calloc(1, sizeof *r.profile);
    if (r.profile)
        r.profile->strings = osc_intern_new(STRINGS_MAX);
    if (!r.profile || !r.profile->strings) {
        osc_devprofile_free(r.profile);
        return osc_fail(err, OSC_ENOMEM, input, OSC_NO_OFFSET,
                        "out of memory for the device profile");
    }
    osc_buf_init(&r.scratch, SIZE_MAX);
    osc_json_init(&r.json, data, len);
    read_lists(&r);
    osc_status status = judge(&r, err);
    osc_buf_free(&r.scratch);
    if (status != OSC_OK) {
        osc_devprofile_free(r.profile);
        return status;
    }
    *out = r.profile;
    return OSC_OK;
}
