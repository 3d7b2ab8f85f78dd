/* analysis/join.h: the tables of several ranks as one. */
#include "tap.h"

#include "scope/analysis/join.h"

#include <stdio.h>
#include <string.h>

static const osc_table_column with_device[] = {
    {"name", "name", "", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"device_ns", "device", "", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"count", "count", "", OSC_CELL_I64, OSC_UNIT_COUNT, false}};
static const osc_table_column without_device[] = {
    {"name", "name", "", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "count", "", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"share", "share", "", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"top", "top", "", OSC_CELL_BOOL, OSC_UNIT_NONE, false}};

static osc_table *first(void)
{
    osc_table *t = osc_table_new("demo", with_device, 3);
    if (!t)
        return NULL;
    for (int i = 0; i < 2; i++) {
        uint32_t row = osc_table_add_row(t);
        osc_table_set_str(t, row, 0, osc_str_from_cstr(i ? "b" : "a"));
        osc_table_set_i64(t, row, 1, 100 + i);
        osc_table_set_i64(t, row, 2, 1);
    }
    osc_table_set_fact_i64(t, "total_ns", 201);
    osc_table_set_fact_str(t, "device", OSC_STR("CUDA"));
    osc_table_add_footer(t, OSC_STR("total 201 ns"));
    return t;
}

static osc_table *second(void)
{
    osc_table *t = osc_table_new("demo", without_device, 4);
    if (!t)
        return NULL;
    uint32_t row = osc_table_add_row(t);
    osc_table_set_str(t, row, 0, OSC_STR("a"));
    osc_table_set_i64(t, row, 1, 7);
    osc_table_set_f64(t, row, 2, 50.0);
    osc_table_set_bool(t, row, 3, true);
    osc_table_set_fact_i64(t, "total_ns", 9);
    osc_table_set_fact_str(t, "device", OSC_STR("CUDA"));
    osc_table_add_footer(t, OSC_STR("total 9 ns"));
    return t;
}

static osc_cell cell(const osc_table *t, uint32_t row, const char *name)
{
    uint32_t column = osc_table_find(t, name);
    TAP_OKF(column != UINT32_MAX, "no column %s", name);
    return osc_table_cell(t, row, column == UINT32_MAX ? 0 : column);
}

static void test_columns_by_name(void)
{
    osc_table *tables[] = {first(), second()}, *t = NULL;
    TAP_REQUIRE(tables[0] && tables[1]);
    TAP_EQ_STATUS(osc_table_join((const osc_table *const *)tables, (int64_t[]){0, 12}, 2, &t, NULL),
                  OSC_OK);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_STR(osc_table_name(t), "demo");
    TAP_EQ_U64(osc_table_rows(t), 3);
    TAP_EQ_U64(osc_table_columns(t), 6);
    TAP_EQ_STR(osc_table_column_at(t, 0)->name, "rank");
    TAP_EQ_I64(osc_table_cell(t, 1, 0).i64, 0);
    TAP_EQ_I64(osc_table_cell(t, 2, 0).i64, 12);
    TAP_EQ_VIEW(cell(t, 1, "name").str, "b");
    TAP_EQ_I64(cell(t, 1, "device_ns").i64, 101);
    TAP_EQ_I64(cell(t, 2, "device_ns").i64, 0); /* rank 12 has no such column */
    TAP_EQ_I64(cell(t, 2, "count").i64, 7);
    TAP_EQ_F64(cell(t, 2, "share").f64, 50.0);
    TAP_OK(cell(t, 2, "top").boolean && !cell(t, 0, "top").boolean);
    osc_table_free(t);
    osc_table_free(tables[0]);
    osc_table_free(tables[1]);
}

/* What all ranks agree on stays a fact; sums of one rank would be wrong for all. */
static void test_facts_and_footers(void)
{
    osc_table *tables[20], *t = NULL;
    int64_t ranks[20];
    for (int i = 0; i < 20; i++) {
        tables[i] = i % 2 ? second() : first();
        ranks[i] = i;
    }
    TAP_EQ_STATUS(osc_table_join((const osc_table *const *)tables, ranks, 20, &t, NULL), OSC_OK);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_VIEW(osc_table_fact_str(t, "device"), "CUDA");
    TAP_EQ_I64(osc_table_fact_i64(t, "total_ns"), 0);
    TAP_EQ_I64(osc_table_fact_i64(t, "ranks"), 20);
    TAP_EQ_VIEW(osc_table_footer(t, 1), "rank 1: total 9 ns");
    TAP_EQ_U64(osc_table_footers(t),
               16); /* all that a table holds; the last says that there are more */
    TAP_OK(osc_str_find(osc_table_footer(t, 15), OSC_STR("further ranks")) != SIZE_MAX);
    osc_table_free(t);
    for (int i = 0; i < 20; i++)
        osc_table_free(tables[i]);
}

static bool join_under_pressure(void *ctx)
{
    osc_table *const *tables = ctx;
    osc_table *t = NULL;
    osc_status status =
        osc_table_join((const osc_table *const *)tables, (int64_t[]){0, 1}, 2, &t, NULL);
    bool good = status == OSC_OK ? t && osc_table_rows(t) == 3 : status == OSC_ENOMEM && !t;
    osc_table_free(t);
    return good;
}

static void test_out_of_memory(void)
{
    osc_table *tables[] = {first(), second()};
    TAP_OK(tap_oom_sweep(join_under_pressure, tables, 60));
    osc_table_free(tables[0]);
    osc_table_free(tables[1]);
}

int main(void)
{
    TAP_RUN(test_columns_by_name);
    TAP_RUN(test_facts_and_footers);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
