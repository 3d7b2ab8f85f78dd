/*
 * summary.c - the fields of the summary as tables, beside what the file itself states.
 *
 * Fields of throttling carry a core number and a type in their names, so they are made here and not
 * in summary_fields.c. A stated value is compared where it is a number: "exact" within the rounding
 * of doubles, "within" inside the bounds that cutting times to whole ns leaves, else "differs".
 */
#include "scope/analysis/summary.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/summary_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT          1e-12 /* relative: the same numbers added up in another order */
#define FIELD_NAME_MAX 96

static const osc_table_column columns[OSC_SU_COLUMNS] = {
    {"field", "field", "name as the vendor's tools write it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"value", "number", "number, in its unit; 0 for a text", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"text", "value", "the value written out", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"is_text", "is text", "the value is the text", OSC_CELL_BOOL, OSC_UNIT_NONE, true},
    {"unit", "unit", "unit of the value", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"basis", "basis",
     "rows: follows from rows; fitted: uses a fitted constant; zero: only 0 was "
     "ever verified; copied",
     OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"low", "low", "lowest exact value that the rows allow", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"high", "high", "highest exact value that the rows allow", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"stated", "stated", "what the file's own summary says", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"verdict", "verdict", "exact, within, differs", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"formula", "formula", "how it is computed", OSC_CELL_STR, OSC_UNIT_NONE, true},
};

enum { M_FIELD = 0, M_REASON, M_STATED, M_COLUMNS };

static const osc_table_column missing_columns[M_COLUMNS] = {
    {"field", "field", "name as the vendor's tools write it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"reason", "reason", "why it cannot be derived", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"stated", "stated", "what the file's own summary says", OSC_CELL_STR, OSC_UNIT_NONE, false},
};

struct writer {
    const osc_totals *totals;
    osc_table *table, *missing;
    int64_t differ;
};

/* Row of the stated summary, OSC_NO_ROW when the file states no such field. */
static uint32_t stated_row(const osc_store *store, osc_str field)
{
    const osc_stated_cols *s = osc_store_stated(store);
    uint32_t id = osc_store_lookup(store, field);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->field[i] == id)
            return i;
    }
    return OSC_NO_ROW;
}

static const char *judge(const osc_figure *f, osc_str stated)
{
    double value;
    if (f->is_text)
        return osc_str_eq(f->text, stated) ? "exact" : "differs";
    if (!osc_parse_f64(stated, &value))
        return "differs";
    double slack = EXACT * (value != 0 ? fabs(value) : 1);
    if (fabs(f->number.value - value) <= slack)
        return "exact";
    return value >= f->number.low - slack && value <= f->number.high + slack ? "within" : "differs";
}

static void put_missing(struct writer *w, osc_str field, const char *reason, osc_str stated)
{
    uint32_t row = osc_table_add_row(w->missing);
    osc_table_set_str(w->missing, row, M_FIELD, field);
    osc_table_set_str(w->missing, row, M_REASON, osc_str_from_cstr(reason));
    osc_table_set_str(w->missing, row, M_STATED, stated);
}

static void put_field(struct writer *w, const osc_summary_field *field, const osc_figure *f)
{
    const osc_store *store = w->totals->view.store;
    osc_str name = osc_str_from_cstr(field->name);
    uint32_t at = stated_row(store, name);
    osc_str stated =
        at == OSC_NO_ROW ? (osc_str){0} : osc_store_text(store, osc_store_stated(store)->value[at]);
    if (!f->present) {
        if (field->absent || at != OSC_NO_ROW)
            put_missing(w, name, field->absent ? field->absent : "no rows of its kind", stated);
        return;
    }
    osc_table *t = w->table;
    uint32_t row = osc_table_add_row(t);
    /* only total_time has a form without its fitted constant */
    bool fitted = w->totals->view.profile &&
                  (!osc_str_eq_cstr(name, "total_time") || w->totals->total_fitted);
    osc_str basis = osc_str_from_cstr(field->basis);
    osc_table_set_str(t, row, OSC_SU_FIELD, name);
    osc_table_set_f64(t, row, OSC_SU_VALUE, f->is_text ? 0 : f->number.value);
    char text[OSC_NUM_TEXT];
    if (f->whole)
        snprintf(text, sizeof text, "%.0f", f->number.value);
    else
        osc_format_f64(f->number.value, text);
    osc_table_set_str(t, row, OSC_SU_TEXT, f->is_text ? f->text : osc_str_from_cstr(text));
    osc_table_set_bool(t, row, OSC_SU_IS_TEXT, f->is_text);
    osc_table_set_str(t, row, OSC_SU_UNIT, osc_str_from_cstr(field->unit));
    osc_table_set_str(t, row, OSC_SU_BASIS,
                      osc_str_eq_cstr(basis, "fitted") && !fitted ? OSC_STR("rows") : basis);
    osc_table_set_f64(t, row, OSC_SU_LOW, f->number.low);
    osc_table_set_f64(t, row, OSC_SU_HIGH, f->number.high);
    osc_table_set_str(t, row, OSC_SU_FORMULA, osc_str_from_cstr(field->formula));
    osc_table_set_str(t, row, OSC_SU_STATED, stated);
    if (at != OSC_NO_ROW) {
        const char *verdict = judge(f, stated);
        w->differ += verdict[0] == 'd';
        osc_table_set_str(t, row, OSC_SU_VERDICT, osc_str_from_cstr(verdict));
    }
}

/* ---- throttling ---- */

static void put_throttle(struct writer *w, const char *name, const char *unit, double value,
                         bool whole, const char *formula)
{
    osc_summary_field field = {.name = name, .unit = unit, .basis = "rows", .formula = formula};
    osc_figure figure = {.present = true, .whole = whole, .number = {value, value, value}};
    put_field(w, &field, &figure);
}

static void put_throttles_of_core(struct writer *w, const osc_throttle_total *total)
{
    char name[FIELD_NAME_MAX];
    double traced = w->totals->device.traced_ns;
    snprintf(name, sizeof name, "throttle_active_nc%u_time_ns", total->core);
    put_throttle(w, name, "ns", (double)total->limited_ns, true,
                 "sum of lengths of the ham rows with k < n");
    snprintf(name, sizeof name, "throttle_avg_util_limit_nc%u_percent", total->core);
    if (traced > 0)
        put_throttle(w, name, "fraction", total->weighted_ns / traced, false,
                     "sum of length x k / n / traced time; time without rows counts as 0");
}

static void put_throttles_of_type(struct writer *w, const osc_throttle_total *total)
{
    char name[FIELD_NAME_MAX];
    double traced = w->totals->device.traced_ns;
    osc_str type = osc_str_sub(osc_store_text(w->totals->view.store, total->type), 0, 32);
    snprintf(name, sizeof name, "throttle_%.*s_active_time_nc%u_percent", OSC_STR_FMT(type),
             total->core);
    if (traced > 0)
        put_throttle(w, name, "fraction", (double)total->ns / traced, false,
                     "sum of lengths of the ham rows of the type / traced time");
    snprintf(name, sizeof name, "throttle_%.*s_avg_util_limit_nc%u_percent", OSC_STR_FMT(type),
             total->core);
    if (total->ns > 0)
        put_throttle(w, name, "fraction", total->weighted_ns / (double)total->ns, false,
                     "mean of k / n over the ham rows of the type, by length");
}

/* ---- the whole ---- */

/* What stands in the stated summary alone, whether or not there is one. */
static void put_versions(struct writer *w)
{
    static const char *const names[] = {"instance_type", "compiler_version", "driver_version",
                                        "runtime_version", "collectives_version"};
    const osc_store *store = w->totals->view.store;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        osc_str name = osc_str_from_cstr(names[i]);
        uint32_t at = stated_row(store, name);
        put_missing(w, name, "stands in the stated summary only",
                    at == OSC_NO_ROW ? (osc_str){0}
                                     : osc_store_text(store, osc_store_stated(store)->value[at]));
    }
}

/* Fields that the file states and that have no row yet. */
static void put_stated_rest(struct writer *w)
{
    const osc_store *store = w->totals->view.store;
    const osc_stated_cols *s = osc_store_stated(store);
    for (uint32_t i = 0; i < s->count; i++) {
        osc_str name = osc_store_text(store, s->field[i]);
        bool known = false;
        for (uint32_t r = 0; r < osc_table_rows(w->table) && !known; r++)
            known = osc_str_eq(osc_table_cell(w->table, r, OSC_SU_FIELD).str, name);
        for (uint32_t r = 0; r < osc_table_rows(w->missing) && !known; r++)
            known = osc_str_eq(osc_table_cell(w->missing, r, M_FIELD).str, name);
        if (!known)
            put_missing(w, name, "no formula is known", osc_store_text(store, s->value[i]));
    }
}

static void write_fields(struct writer *w)
{
    size_t count;
    const osc_summary_field *field = osc_summary_field_list(&count);
    for (size_t i = 0; i < count; i++) {
        osc_figure figure = field[i].figure(w->totals, field[i].arg);
        put_field(w, &field[i], &figure);
    }
    for (uint32_t i = 0; i < w->totals->throttle_count; i++) {
        const osc_throttle_total *total = &w->totals->throttle[i];
        if (total->type == OSC_NO_ROW)
            put_throttles_of_core(w, total);
        else
            put_throttles_of_type(w, total);
    }
    if (w->totals->throttle_full)
        put_missing(w, OSC_STR("throttle_*"), "more types of throttling than are kept apart",
                    (osc_str){0});
    put_versions(w);
    put_stated_rest(w);
    osc_table_sort(w->missing, M_FIELD, false);
    osc_table_set_fact_i64(w->table, "executions", w->totals->view.exec_count);
    osc_table_set_fact_i64(w->table, "fields", osc_table_rows(w->table));
    osc_table_set_fact_i64(w->table, "stated", osc_store_stated(w->totals->view.store)->count);
    osc_table_set_fact_i64(w->table, "differ", w->differ);
    osc_table_set_fact_i64(w->table, "underivable", osc_table_rows(w->missing));
}

osc_status osc_summary(const osc_store *store, const osc_engine_options *options, osc_table **out,
                       osc_table **missing, osc_err *err)
{
    *out = NULL;
    if (missing)
        *missing = NULL;
    osc_totals *totals = osc_calloc(1, sizeof *totals);
    struct writer w = {.totals = totals,
                       .table = osc_table_new("summary", columns, OSC_SU_COLUMNS),
                       .missing = osc_table_new("underivable", missing_columns, M_COLUMNS)};
    osc_status status =
        totals && w.table && w.missing
            ? osc_totals_collect(totals, store, options, err)
            : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the summary");
    if (status == OSC_OK) {
        write_fields(&w);
        status = osc_table_status(w.table, err);
    }
    if (status == OSC_OK)
        status = osc_table_status(w.missing, err);
    if (totals)
        osc_view_free(&totals->view);
    osc_free(totals);
    if (status != OSC_OK || !missing) {
        osc_table_free(w.missing);
        w.missing = NULL;
    }
    if (status != OSC_OK) {
        osc_table_free(w.table);
        return status;
    }
    *out = w.table;
    if (missing)
        *missing = w.missing;
    return OSC_OK;
}
