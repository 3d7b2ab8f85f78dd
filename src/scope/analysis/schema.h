/*
 * schema.h - the tables of the store as tables themselves: what there is to ask for.
 *
 * Everything comes from the one declaration in store/schema.h; nothing here knows a table by name.
 */
#ifndef OSC_ANALYSIS_SCHEMA_H
#define OSC_ANALYSIS_SCHEMA_H

#include "base/status.h"
#include "scope/analysis/table.h"
#include "scope/store/store.h"

/* "int64", "uint32", "text", ... Static storage. */
const char *osc_column_type_name(osc_column_type type);

/* Number of the table with this name, OSC_TABLE_COUNT when there is none. */
osc_table_id osc_schema_find(osc_str name);

/* The name of the table nearest to a misspelt one, NULL when none is near. Static storage. */
const char *osc_schema_nearest(osc_str name);

/* One row per table: name, number of columns, meaning. *out is NULL on failure (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_schema_tables(osc_table **out, osc_err *err);

/*
 * One row per column: table, column, type, unit (for a column that names rows of another table,
 * that table), meaning; of one table, or of all when which is OSC_TABLE_COUNT.
 */
OSC_MUST_CHECK osc_status osc_schema_columns(osc_table_id which, osc_table **out, osc_err *err);

/* What people read instead of the numbers of a column that holds an enumeration or bits, NULL when
 * it holds neither. */
osc_table_words osc_schema_words(const osc_column_def *def);

/*
 * Rows [first, first + limit) of a table of a store, its columns as they are declared, texts for
 * ids. A column that was not read is left out; unsigned 64-bit numbers are texts, since cells are
 * signed.
 */
OSC_MUST_CHECK osc_status osc_schema_rows(const osc_store *store, osc_table_id which,
                                          uint32_t first, uint32_t limit, osc_table **out,
                                          osc_err *err);

#endif
