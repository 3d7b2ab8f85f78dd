/* test_store_tables.c - the store: rows come back as they went in, by name and by column. */
#include "tap.h"

#include "base/mem.h"
#include "scope/store/store.h"

#include <string.h>

static void test_rows_come_back(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    for (uint32_t i = 0; i < 1000; i++) {
        osc_slice_row row = {.start_ns = 1000 + i,
                             .dur_ns = i,
                             .external_id = -(int64_t)i,
                             .name = osc_store_intern(store, OSC_STR("aten::mul")),
                             .order = i * 3,
                             .kind = (uint8_t)(i % OSC_KIND_COUNT)};
        TAP_EQ_U64(osc_store_add_slice(store, &row), i);
    }
    osc_err err = {0};
    TAP_EQ_STATUS(osc_store_seal(store, &err), OSC_OK);
    const osc_slice_cols *s = osc_store_slice(store);
    TAP_EQ_U64(s->count, 1000);
    for (uint32_t i = 0; i < s->count; i += 111) {
        TAP_EQ_I64(s->start_ns[i], 1000 + (int64_t)i);
        TAP_EQ_I64(s->external_id[i], -(int64_t)i);
        TAP_EQ_U64(s->order[i], i * 3);
        TAP_EQ_U64(s->kind[i], i % OSC_KIND_COUNT);
        TAP_EQ_VIEW(osc_store_text(store, s->name[i]), "aten::mul");
    }
    TAP_OK(osc_store_bytes(store) > 1000 * 40);
    osc_store_free(store);
}

/* Every column of every table, through its description: name, unit, meaning, and the right bytes. */
static void test_descriptions_fit_the_columns(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    osc_exec_row exec = {.sequence_id = 7, .exec_id = 8, .start_ns = 9, .core = 3, .slice = 12};
    TAP_EQ_U64(osc_store_add_exec(store, &exec), 0);
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        TAP_REQUIRE(def != NULL);
        TAP_OK(strlen(def->meaning) > 10 && def->column_count > 0);
        for (uint32_t c = 0; c < def->column_count; c++)
            TAP_OK(strlen(def->columns[c].name) > 0 && strlen(def->columns[c].meaning) > 2);
    }
    const osc_table_def *def = osc_store_table_def(OSC_TABLE_exec);
    for (uint32_t c = 0; c < def->column_count; c++) {
        uint32_t count;
        const void *column = osc_store_column(store, OSC_TABLE_exec, c, &count);
        TAP_EQ_U64(count, 1);
        if (strcmp(def->columns[c].name, "core") == 0) {
            uint32_t core;
            memcpy(&core, column, sizeof core);
            TAP_EQ_U64(core, 3);
        }
        if (strcmp(def->columns[c].name, "exec_id") == 0) {
            int64_t id;
            memcpy(&id, column, sizeof id);
            TAP_EQ_I64(id, 8);
        }
    }
    TAP_OK(osc_store_table_def(OSC_TABLE_COUNT) == NULL);
    osc_store_free(store);
}

static void test_texts_are_shared(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    TAP_EQ_U64(osc_store_intern(store, OSC_STR("")), 0);
    uint32_t a = osc_store_intern(store, OSC_STR("a"));
    TAP_OK(a != 0);
    TAP_EQ_U64(osc_store_intern(store, OSC_STR("a")), a);
    TAP_EQ_U64(osc_store_lookup(store, OSC_STR("a")), a);
    TAP_EQ_U64(osc_store_lookup(store, OSC_STR("b")), OSC_NO_ROW);
    osc_store_free(store);
}

static void test_notes_count(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    osc_store_set_input(store, OSC_STR("a.json"));
    osc_store_note(store, OSC_SEV_WARN, "odd", 1, 17, "something is odd");
    osc_store_note(store, OSC_SEV_WARN, "odd", 2, 99, "something is odd");
    osc_store_set_input(store, OSC_STR("b.json"));
    osc_store_note(store, OSC_SEV_WARN, "odd", 1, 5, "something is odd");
    const osc_finding_cols *f = osc_store_finding(store);
    TAP_EQ_U64(f->count, 2);
    TAP_EQ_U64(f->times[0], 3);
    TAP_EQ_U64(f->offset[0], 17);
    TAP_EQ_VIEW(osc_store_text(store, f->input[1]), "b.json");
    osc_store_free(store);
}

static void test_metadata_keeps_the_last(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    osc_store_set_meta(store, "key", OSC_STR("1"));
    osc_store_set_meta(store, "key", OSC_STR("2"));
    TAP_EQ_VIEW(osc_store_get_meta(store, "key"), "2");
    TAP_EQ_U64(osc_store_get_meta(store, "other").len, 0);
    osc_store_free(store);
}

static void test_shift_is_cut_at_the_ends(void)
{
    osc_store *store = osc_store_new();
    TAP_REQUIRE(store != NULL);
    osc_slice_row row = {.start_ns = 5};
    osc_store_add_slice(store, &row);
    row.start_ns = INT64_MAX - 1;
    osc_store_add_slice(store, &row);
    osc_store_shift(store, &(osc_store_mark){0}, 10);
    TAP_EQ_I64(osc_store_slice(store)->start_ns[0], 15);
    TAP_EQ_I64(osc_store_slice(store)->start_ns[1], OSC_TIME_MAX);
    TAP_EQ_U64(osc_store_finding(store)->count, 1);
    osc_store_free(store);
}

/* A store that ran out of memory says so once, when it is sealed, and can be freed. */
static bool fill(void *context)
{
    (void)context;
    osc_store *store = osc_store_new();
    osc_err err = {0};
    if (!store)
        return true;
    for (uint32_t i = 0; i < 200; i++) {
        osc_launch_row row = {.slice = i, .cache_key = osc_store_intern(store, OSC_STR("key"))};
        osc_store_add_launch(store, &row);
    }
    bool refused = osc_mem_refused() > 0;
    osc_status status = osc_store_seal(store, &err);
    osc_store_free(store);
    return refused ? status == OSC_ENOMEM : status == OSC_OK;
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(fill, NULL, 200));
}

static void test_category_names(void)
{
    uint8_t flags = 0;
    TAP_EQ_U64(osc_slice_kind_of(OSC_STR("Operator"), &flags), OSC_KIND_CPU_OP);
    TAP_EQ_U64(flags, 0);
    TAP_EQ_U64(osc_slice_kind_of(OSC_STR("privateuse1_driver"), &flags), OSC_KIND_RUNTIME);
    TAP_EQ_U64(flags, OSC_SLICE_PRIVATEUSE1 | OSC_SLICE_STREAM);
    TAP_EQ_U64(osc_slice_kind_of(OSC_STR("new_thing"), &flags), OSC_KIND_OTHER);
    TAP_EQ_STR(osc_slice_kind_name(OSC_KIND_HW), "hw");
    TAP_EQ_STR(osc_link_rule_name(OSC_LINK_CONTAINMENT), "containment");
}

int main(void)
{
    TAP_RUN(test_rows_come_back);
    TAP_RUN(test_descriptions_fit_the_columns);
    TAP_RUN(test_texts_are_shared);
    TAP_RUN(test_notes_count);
    TAP_RUN(test_metadata_keeps_the_last);
    TAP_RUN(test_shift_is_cut_at_the_ends);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_category_names);
    return tap_done();
}
