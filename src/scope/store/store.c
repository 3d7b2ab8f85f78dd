/*
 * store.c - storage of the tables that schema.h declares.
 *
 * The typed views (osc_slice_cols, ...) are the storage: a count, a capacity and one pointer per
 * column. Generic code walks them by the offsets in the descriptions, so that adding a column is
 * one line in schema.h and nothing here. Columns double; a table holds at most 2^32 - 2 rows.
 *
 * Rejected: rows as structs in one array. Analyses touch two or three columns of twelve, and at ten
 * million events the difference is the memory bus.
 */
#include "scope/store/store.h"

#include "base/intern.h"
#include "base/mem.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIRST_ROWS 64u

struct osc_store {
    osc_intern *strings;
    osc_str input; /* name of the input that notes concern; text of the pool */
    bool failed;   /* an add or intern had no memory */
    bool sealed;
    uint32_t omitted[OSC_TABLE_COUNT]; /* by table: bit c is set when column c is left out */
#define OSC_STORE_MEMBER(row, columns) osc_##row##_cols row;
    OSC_STORE_ALL(OSC_STORE_MEMBER)
#undef OSC_STORE_MEMBER
};

/* ---- descriptions ---- */

#define OSC_STORE_COLUMN_DEF(row, ctype, type, name, unit, meaning) \
    {#name,                                                         \
     unit,                                                          \
     meaning,                                                       \
     OSC_COLUMN_##type,                                             \
     (uint16_t)offsetof(osc_##row##_row, name),                     \
     (uint16_t)offsetof(osc_##row##_cols, name)},
#define OSC_STORE_COLUMN_DEFS(row, columns) \
    static const osc_column_def row##_columns[] = {columns(OSC_STORE_COLUMN_DEF, row)};
OSC_STORE_ALL(OSC_STORE_COLUMN_DEFS)

#define OSC_STORE_TABLE_DEF(row, name, meaning) \
    {name, meaning, row##_columns, sizeof row##_columns / sizeof *row##_columns},
static const osc_table_def table_defs[OSC_TABLE_COUNT] = {OSC_STORE_TABLES(OSC_STORE_TABLE_DEF)};

#define OSC_STORE_VIEW_OFFSET(row, name, meaning) offsetof(struct osc_store, row),
static const size_t view_offsets[OSC_TABLE_COUNT] = {OSC_STORE_TABLES(OSC_STORE_VIEW_OFFSET)};

/* Every view starts so; asserted for one of them below. */
struct view_head {
    uint32_t count;
    uint32_t cap;
};
_Static_assert(offsetof(osc_slice_cols, count) == offsetof(struct view_head, count) &&
                   offsetof(osc_slice_cols, cap) == offsetof(struct view_head, cap),
               "views start with count and cap");

static size_t type_size(osc_column_type type)
{
    static const uint8_t sizes[] = {8, 8, 4, 4, 1, 4};
    assert((unsigned)type < sizeof sizes);
    return sizes[type];
}

static struct view_head *view_of(osc_store *store, osc_table_id table)
{
    return (struct view_head *)(void *)((char *)store + view_offsets[table]);
}

static void *column_get(const struct view_head *view, const osc_column_def *column)
{
    void *ptr;
    memcpy(&ptr, (const char *)view + column->cols_offset, sizeof ptr);
    return ptr;
}

static void column_set(struct view_head *view, const osc_column_def *column, void *ptr)
{
    memcpy((char *)view + column->cols_offset, &ptr, sizeof ptr);
}

/* Room for n more rows. Columns grown before a failure stay so; cap says what all have. */
static bool reserve(struct view_head *view, const osc_table_def *def, uint32_t omitted, uint32_t n)
{
    if (n <= view->cap - view->count)
        return true;
    uint64_t cap = view->cap ? view->cap : FIRST_ROWS;
    while (cap - view->count < n)
        cap *= 2;
    if (cap >= OSC_NO_ROW)
        return false;
    for (uint32_t c = 0; c < def->column_count; c++) {
        const osc_column_def *column = &def->columns[c];
        if (omitted >> c & 1)
            continue;
        void *grown =
            osc_realloc_array(column_get(view, column), (size_t)cap, type_size(column->type));
        if (!grown)
            return false;
        column_set(view, column, grown);
    }
    view->cap = (uint32_t)cap;
    return true;
}

#define OSC_STORE_ASSIGN(row, ctype, type, name, unit, meaning) \
    if (store->row.name)                                        \
        store->row.name[at] = value->name;
#define OSC_STORE_DEFINE(row, columns)                                              \
    const osc_##row##_cols *osc_store_##row(const osc_store *store)                 \
    {                                                                               \
        return &store->row;                                                         \
    }                                                                               \
    uint32_t osc_store_add_##row(osc_store *store, const osc_##row##_row *value)    \
    {                                                                               \
        assert(!store->sealed);                                                     \
        if (!reserve(view_of(store, OSC_TABLE_##row), &table_defs[OSC_TABLE_##row], \
                     store->omitted[OSC_TABLE_##row], 1)) {                         \
            store->failed = true;                                                   \
            return OSC_NO_ROW;                                                      \
        }                                                                           \
        uint32_t at = store->row.count++;                                           \
        columns(OSC_STORE_ASSIGN, row) return at;                                   \
    }
OSC_STORE_ALL(OSC_STORE_DEFINE)

void osc_store_omit_like(osc_store *store, const osc_store *other)
{
    memcpy(store->omitted, other->omitted, sizeof store->omitted);
}

void osc_store_omit_column(osc_store *store, osc_table_id table, const char *name)
{
    const osc_table_def *def = &table_defs[table];
    assert(!store->sealed && view_of(store, table)->cap == 0 && def->column_count <= 32);
    for (uint32_t c = 0; c < def->column_count; c++) {
        if (strcmp(def->columns[c].name, name) == 0) {
            store->omitted[table] |= UINT32_C(1) << c;
            return;
        }
    }
    assert(false && "no such column");
}

osc_store *osc_store_new(void)
{
    osc_store *store = osc_calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->strings = osc_intern_new(SIZE_MAX);
    if (!store->strings) {
        osc_free(store);
        return NULL;
    }
    return store;
}

void osc_store_free(osc_store *store)
{
    if (!store)
        return;
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        struct view_head *view = view_of(store, (osc_table_id)t);
        for (uint32_t c = 0; c < table_defs[t].column_count; c++)
            osc_free(column_get(view, &table_defs[t].columns[c]));
    }
    osc_intern_free(store->strings);
    osc_free(store);
}

uint32_t osc_store_intern(osc_store *store, osc_str text)
{
    assert(!store->sealed);
    uint32_t id = osc_intern_put(store->strings, text);
    if (id == OSC_INTERN_NONE) {
        store->failed = true;
        return 0;
    }
    return id;
}

uint32_t osc_store_lookup(const osc_store *store, osc_str text)
{
    uint32_t id = osc_intern_find(store->strings, text);
    return id == OSC_INTERN_NONE ? OSC_NO_ROW : id;
}

osc_str osc_store_text(const osc_store *store, uint32_t id)
{
    return osc_intern_get(store->strings, id);
}

uint32_t osc_store_text_count(const osc_store *store)
{
    return osc_intern_count(store->strings);
}

void osc_store_note(osc_store *store, osc_severity severity, const char *code, uint64_t n,
                    uint64_t offset, const char *sentence)
{
    uint32_t id = osc_store_intern(store, osc_str_from_cstr(code));
    uint32_t input = osc_store_intern(store, store->input);
    for (uint32_t i = 0; i < store->finding.count; i++) {
        if (store->finding.code[i] == id && store->finding.input[i] == input) {
            store->finding.times[i] += n;
            return;
        }
    }
    osc_finding_row row = {.times = n,
                           .offset = offset,
                           .code = id,
                           .sentence = osc_store_intern(store, osc_str_from_cstr(sentence)),
                           .input = input,
                           .severity = (uint8_t)severity};
    osc_store_add_finding(store, &row);
}

bool osc_store_has_note(const osc_store *store, const char *code)
{
    uint32_t id = osc_store_lookup(store, osc_str_from_cstr(code));
    uint32_t input = osc_store_lookup(store, store->input);
    for (uint32_t i = 0; i < store->finding.count; i++) {
        if (store->finding.code[i] == id && store->finding.input[i] == input)
            return true;
    }
    return false;
}

void osc_store_set_input(osc_store *store, osc_str name)
{
    store->input = osc_store_text(store, osc_store_intern(store, name));
}

void osc_store_set_meta(osc_store *store, const char *key, osc_str value)
{
    osc_meta_row row = {.key = osc_store_intern(store, osc_str_from_cstr(key)),
                        .value = osc_store_intern(store, value)};
    for (uint32_t i = 0; i < store->meta.count; i++) {
        if (store->meta.key[i] == row.key) {
            store->meta.value[i] = row.value;
            return;
        }
    }
    osc_store_add_meta(store, &row);
}

osc_str osc_store_get_meta(const osc_store *store, const char *key)
{
    uint32_t id = osc_store_lookup(store, osc_str_from_cstr(key));
    for (uint32_t i = 0; i < store->meta.count; i++) {
        if (store->meta.key[i] == id)
            return osc_store_text(store, store->meta.value[i]);
    }
    return (osc_str){0};
}

static void note_range(osc_store *store, uint64_t times)
{
    if (times > 0)
        osc_store_note(
            store, OSC_SEV_WARN, "time_out_of_range", times, OSC_NO_OFFSET,
            "times lie beyond a century from 1970, or lengths beyond 104 days; they were cut");
}

/* The value within +-limit; counts in *cut when it was not. */
static int64_t within(int64_t value, int64_t limit, uint64_t *cut)
{
    if (value > limit || value < -limit)
        (*cut)++;
    return value > limit ? limit : value < -limit ? -limit : value;
}

void osc_store_clamp(osc_store *store, int64_t *start_ns, int64_t *dur_ns)
{
    uint64_t cut = 0;
    *start_ns = within(*start_ns, OSC_TIME_MAX, &cut);
    if (dur_ns) {
        *dur_ns = within(*dur_ns, OSC_DUR_MAX, &cut);
        *dur_ns = *dur_ns < 0 ? 0 : *dur_ns;
    }
    note_range(store, cut);
}

/* Adds delta to each value, within range; returns how many had to be cut. */
static uint64_t shift_column(int64_t *values, uint32_t first, uint32_t count, int64_t delta)
{
    uint64_t cut = 0;
    for (uint32_t i = first; i < count; i++) {
        int64_t sum;
        if (!osc_add_i64(values[i], delta, &sum))
            sum = delta > 0 ? INT64_MAX : -INT64_MAX;
        values[i] = within(sum, OSC_TIME_MAX, &cut);
    }
    return cut;
}

osc_store_mark osc_store_mark_now(const osc_store *store)
{
    return (osc_store_mark){store->slice.count, store->memory.count, store->flow.count};
}

void osc_store_shift(osc_store *store, const osc_store_mark *mark, int64_t delta)
{
    assert(!store->sealed);
    uint64_t cut = shift_column(store->slice.start_ns, mark->slice, store->slice.count, delta);
    cut += shift_column(store->memory.at_ns, mark->memory, store->memory.count, delta);
    cut += shift_column(store->flow.at_ns, mark->flow, store->flow.count, delta);
    note_range(store, cut);
}

osc_slice_cols *osc_store_slice_room(osc_store *store)
{
    assert(!store->sealed);
    if (store->slice.count < store->slice.cap ||
        reserve(view_of(store, OSC_TABLE_slice), &table_defs[OSC_TABLE_slice],
                store->omitted[OSC_TABLE_slice], 1))
        return &store->slice;
    store->failed = true;
    return NULL;
}

void osc_store_clear(osc_store *store)
{
    assert(!store->sealed);
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++)
        view_of(store, (osc_table_id)t)->count = 0;
    osc_intern_clear(store->strings);
    store->input = (osc_str){0};
    store->failed = false;
}

/* Copies n ids from `from` to `to` by a table of the new ones. */
static void copy_mapped(uint32_t *to, const uint32_t *from, uint32_t n, const uint32_t *map)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i] == OSC_NO_ROW ? OSC_NO_ROW : map[from[i]];
}

static void append_column(const osc_column_def *column, void *to, const void *from, uint32_t n,
                          const osc_store_maps *maps)
{
    if (column->type == OSC_COLUMN_STR) {
        copy_mapped(to, from, n, maps->texts);
    } else if (maps->tracks && strcmp(column->unit, "tracks") == 0) {
        copy_mapped(to, from, n, maps->tracks);
    } else if (strcmp(column->unit, "slices") == 0) {
        const uint32_t *rows = from;
        uint32_t *out = to;
        for (uint32_t i = 0; i < n; i++)
            out[i] = rows[i] == OSC_NO_ROW ? OSC_NO_ROW : rows[i] + maps->slices;
    } else {
        memcpy(to, from, n * type_size(column->type));
    }
}

void osc_store_append(osc_store *store, const osc_store *from, osc_table_id table,
                      const osc_store_maps *maps)
{
    const osc_table_def *def = &table_defs[table];
    struct view_head *to = view_of(store, table), head;
    const char *view = (const char *)from + view_offsets[table];
    memcpy(&head, view, sizeof head);
    assert(!store->sealed && store->omitted[table] == from->omitted[table]);
    if (head.count == 0)
        return;
    if (!reserve(to, def, store->omitted[table], head.count)) {
        store->failed = true;
        return;
    }
    for (uint32_t c = 0; c < def->column_count; c++) {
        const osc_column_def *column = &def->columns[c];
        const void *source;
        if (store->omitted[table] >> c & 1)
            continue;
        memcpy(&source, view + column->cols_offset, sizeof source);
        char *target = column_get(to, column);
        append_column(column, target + (size_t)to->count * type_size(column->type), source,
                      head.count, maps);
    }
    to->count += head.count;
}

uint32_t *osc_store_flow_tracks(osc_store *store)
{
    assert(!store->sealed);
    return store->flow.track;
}

size_t osc_store_bytes(const osc_store *store)
{
    size_t total = sizeof *store + osc_intern_bytes(store->strings);
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        struct view_head head;
        memcpy(&head, (const char *)store + view_offsets[t], sizeof head);
        for (uint32_t c = 0; c < table_defs[t].column_count; c++)
            total += store->omitted[t] >> c & 1
                         ? 0
                         : (size_t)head.cap * type_size(table_defs[t].columns[c].type);
    }
    return total;
}

bool osc_store_failed(const osc_store *store)
{
    return store->failed;
}

osc_status osc_store_seal(osc_store *store, osc_err *err)
{
    if (store->failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the trace's tables");
    store->sealed = true;
    return OSC_OK;
}

const osc_table_def *osc_store_table_def(osc_table_id table)
{
    return (unsigned)table < OSC_TABLE_COUNT ? &table_defs[table] : NULL;
}

const void *osc_store_column(const osc_store *store, osc_table_id table, uint32_t column,
                             uint32_t *count)
{
    assert((unsigned)table < OSC_TABLE_COUNT && column < table_defs[table].column_count);
    struct view_head head;
    const char *view = (const char *)store + view_offsets[table];
    memcpy(&head, view, sizeof head);
    *count = head.count;
    void *ptr;
    memcpy(&ptr, view + table_defs[table].columns[column].cols_offset, sizeof ptr);
    return ptr;
}
