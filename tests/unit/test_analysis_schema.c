/*
 * test_analysis_schema.c - the schema as tables, and docs/formats/store.md says the same.
 *
 * With OPSCOPE_REGEN_DOCS=1 in the environment the generated regions of the page are rewritten
 * instead of compared.
 */
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/analysis/schema.h"
#include "scope/store/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---- */

static void test_every_table_and_column_is_listed(void)
{
    osc_table *tables = NULL, *columns = NULL;
    osc_err err = {0};
    uint32_t at = 0;
    TAP_REQUIRE(osc_schema_tables(&tables, &err) == OSC_OK);
    TAP_REQUIRE(osc_schema_columns(OSC_TABLE_COUNT, &columns, &err) == OSC_OK);
    TAP_EQ_U64(osc_table_rows(tables), OSC_TABLE_COUNT);
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        TAP_EQ_VIEW(osc_table_cell(tables, t, 0).str, def->name);
        TAP_EQ_I64(osc_table_cell(tables, t, 1).i64, def->column_count);
        for (uint32_t c = 0; c < def->column_count; c++, at++) {
            TAP_EQ_VIEW(osc_table_cell(columns, at, 0).str, def->name);
            TAP_EQ_VIEW(osc_table_cell(columns, at, 1).str, def->columns[c].name);
            TAP_EQ_VIEW(osc_table_cell(columns, at, 4).str, def->columns[c].meaning);
        }
    }
    TAP_EQ_U64(osc_table_rows(columns), at);
    osc_table_free(tables);
    osc_table_free(columns);
}

/* A unit is empty, a unit of measure, or names a table (and perhaps its column). */
static void test_units_that_name_tables_name_tables_that_exist(void)
{
    static const char *const plain[] = {"", "ns", "bytes", "percent"};
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        for (uint32_t c = 0; c < def->column_count; c++) {
            osc_str unit = osc_str_from_cstr(def->columns[c].unit), table;
            bool known = false;
            for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
                known |= osc_str_eq_cstr(unit, plain[i]);
            osc_str rest = unit;
            if (!known && osc_str_split(&rest, '.', &table))
                known = osc_schema_find(table) != OSC_TABLE_COUNT;
            TAP_OKF(known, "%s.%s: unit %s", def->name, def->columns[c].name, def->columns[c].unit);
        }
    }
}

static void test_one_table_by_name(void)
{
    osc_table *columns = NULL;
    osc_err err = {0};
    osc_table_id links = osc_schema_find(OSC_STR("links"));
    TAP_EQ_U64(links, OSC_TABLE_link);
    TAP_REQUIRE(osc_schema_columns(links, &columns, &err) == OSC_OK);
    TAP_EQ_U64(osc_table_rows(columns), 3);
    TAP_EQ_VIEW(osc_table_cell(columns, 2, 1).str, "rule");
    TAP_EQ_VIEW(osc_table_cell(columns, 2, 2).str, "uint8");
    TAP_EQ_VIEW(osc_table_cell(columns, 0, 3).str, "slices");
    osc_table_free(columns);
    TAP_EQ_U64(osc_schema_find(OSC_STR("slice")), OSC_TABLE_COUNT);
    TAP_EQ_STR(osc_schema_nearest(OSC_STR("slice")), "slices");
    TAP_OK(osc_schema_nearest(OSC_STR("qqqqqqqqqqqq")) == NULL);
}

static bool make_both(void *context)
{
    osc_table *table = NULL;
    osc_err err = {0};
    (void)context;
    osc_status status = osc_schema_tables(&table, &err);
    bool ok = (status == OSC_OK) == (table != NULL);
    osc_table_free(table);
    status = osc_schema_columns(OSC_TABLE_COUNT, &table, &err);
    ok = ok && (status == OSC_OK) == (table != NULL);
    osc_table_free(table);
    return ok;
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(make_both, NULL, 400));
}

/* ---- the page ---- */

static void render_tables(osc_buf *out)
{
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        osc_buf_printf(out, "%s## %s\n\n%c%s.\n\n", t ? "\n" : "", def->name,
                       def->meaning[0] >= 'a' ? def->meaning[0] - 32 : def->meaning[0],
                       def->meaning + 1);
        osc_buf_cstr(out, "| column | type | unit | meaning |\n|---|---|---|---|\n");
        for (uint32_t c = 0; c < def->column_count; c++)
            osc_buf_printf(out, "| %s | %s | %s | %s |\n", def->columns[c].name,
                           osc_column_type_name(def->columns[c].type), def->columns[c].unit,
                           def->columns[c].meaning);
    }
}

static void render_kinds(osc_buf *out)
{
    osc_buf_cstr(out, "| kind | slices |\n|---:|---|\n");
    for (unsigned k = 0; k < OSC_KIND_COUNT; k++)
        osc_buf_printf(out, "| %u | %s |\n", k, osc_slice_kind_name((osc_slice_kind)k));
    osc_buf_cstr(out, "\n| rule | links: how it is known, best first |\n|---:|---|\n");
    for (unsigned r = 1; strcmp(osc_link_rule_name((osc_link_rule)r), "?") != 0; r++)
        osc_buf_printf(out, "| %u | %s |\n", r, osc_link_rule_name((osc_link_rule)r));
}

static const struct {
    const char *name;
    void (*render)(osc_buf *out);
} regions[] = {{"tables", render_tables}, {"kinds", render_kinds}};

/* The page with its regions rendered anew into out; false when a marker is missing. */
static bool render_page(osc_str page, osc_buf *out)
{
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        char begin[64], end[64];
        (void)snprintf(begin, sizeof begin, "<!-- begin generated: %s -->\n", regions[i].name);
        (void)snprintf(end, sizeof end, "<!-- end generated: %s -->\n", regions[i].name);
        size_t from = osc_str_find(page, osc_str_from_cstr(begin));
        size_t to = osc_str_find(page, osc_str_from_cstr(end));
        if (from == SIZE_MAX || to == SIZE_MAX || to < from)
            return false;
        osc_buf_str(out, osc_str_sub(page, 0, from + strlen(begin)));
        regions[i].render(out);
        page = osc_str_sub(page, to, SIZE_MAX);
    }
    osc_buf_str(out, page);
    return !out->failed;
}

static void test_the_page_says_the_same(void)
{
    char path[1024], *text;
    size_t len;
    osc_err err = {0};
    osc_buf want;
    (void)snprintf(path, sizeof path, "%s/docs/formats/store.md", tap_source_dir());
    TAP_REQUIRE(osc_read_file(path, 1u << 24, &text, &len, &err) == OSC_OK);
    osc_buf_init(&want, SIZE_MAX);
    TAP_OK(render_page(osc_str_make(text, len), &want));
    if (getenv("OPSCOPE_REGEN_DOCS") != NULL)
        TAP_EQ_STATUS(osc_write_file_atomic(path, want.data, want.len, &err), OSC_OK);
    else
        TAP_OKF(osc_str_eq(osc_str_make(text, len), osc_buf_view(&want)),
                "docs/formats/store.md is not up to date: run this test with OPSCOPE_REGEN_DOCS=1");
    osc_buf_free(&want);
    osc_free(text);
}

/* Columns that say an enumeration or bits have names for people: each number that the types have. */
static void test_words(void)
{
    char word[OSC_TABLE_WORD];
    unsigned named = 0;
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        for (uint32_t c = 0; c < def->column_count; c++) {
            const char *meaning = def->columns[c].meaning;
            bool coded = def->columns[c].type == OSC_COLUMN_U8 &&
                         (strncmp(meaning, "osc_", 4) == 0 || strncmp(meaning, "OSC_", 4) == 0);
            osc_table_words words = osc_schema_words(&def->columns[c]);
            TAP_OKF((words != NULL) == coded, "%s.%s", def->name, def->columns[c].name);
            if (!words)
                continue;
            named++;
            TAP_OKF(words(1, word) && word[0] != '\0', "%s.%s", def->name, def->columns[c].name);
            TAP_OK(!words(-1, word) && !words(200, word));
        }
    }
    TAP_OK(named >= 9);
    osc_table_words kind = NULL, flags = NULL;
    const osc_table_def *slices = osc_store_table_def(OSC_TABLE_slice);
    for (uint32_t c = 0; c < slices->column_count; c++) {
        if (strcmp(slices->columns[c].name, "kind") == 0)
            kind = osc_schema_words(&slices->columns[c]);
        if (strcmp(slices->columns[c].name, "flags") == 0)
            flags = osc_schema_words(&slices->columns[c]);
    }
    TAP_REQUIRE(kind && flags);
    for (int k = 0; k < OSC_KIND_COUNT; k++)
        TAP_OK(kind(k, word) && strcmp(word, "?") != 0);
    TAP_OK(flags(0, word));
    TAP_EQ_STR(word, "");
    TAP_OK(flags(OSC_SLICE_UNFINISHED | OSC_SLICE_XPU, word));
    TAP_EQ_STR(word, "unfinished+xpu");
}

int main(void)
{
    TAP_RUN(test_words);
    TAP_RUN(test_every_table_and_column_is_listed);
    TAP_RUN(test_units_that_name_tables_name_tables_that_exist);
    TAP_RUN(test_one_table_by_name);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_the_page_says_the_same);
    return tap_done();
}
