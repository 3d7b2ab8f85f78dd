/* devprofile_internal.h - the body of osc_devprofile and the description of its tables, for
 * devprofile.c and devprofile_read.c only. */
#ifndef OSC_ARTIFACT_DEVPROFILE_INTERNAL_H
#define OSC_ARTIFACT_DEVPROFILE_INTERNAL_H

#include "artifact/devprofile.h"
#include "base/intern.h"

typedef enum osc_dp_kind {
    OSC_DP_I64 = 0,
    OSC_DP_F64 = 1,
    OSC_DP_FLAG = 2,
    OSC_DP_STR = 3
} osc_dp_kind;

typedef struct osc_dp_column {
    osc_str key; /* in the file */
    osc_dp_kind kind;
    bool required;
    size_t offset;  /* in the row struct */
    int64_t absent; /* I64: value of a row that does not have it */
} osc_dp_column;

typedef struct osc_dp_def {
    osc_str name; /* of the list in the file */
    const osc_dp_column *columns;
    uint32_t column_count;
    size_t row_size;
} osc_dp_def;

typedef enum osc_dp_table {
#define OSC_DP_ENUM(row, name, meaning) OSC_DP_TABLE_##row,
    OSC_DP_TABLES(OSC_DP_ENUM)
#undef OSC_DP_ENUM
        OSC_DP_TABLE_COUNT
} osc_dp_table;

extern const osc_dp_def osc_dp_defs[OSC_DP_TABLE_COUNT];

typedef struct osc_dp_rows {
    void *data; /* owned; count rows of the table's size */
    size_t count, cap;
} osc_dp_rows;

struct osc_devprofile {
    osc_intern *strings;
    osc_dp_rows tables[OSC_DP_TABLE_COUNT];
    osc_dp_fact *facts;
    size_t fact_count, fact_cap;
    osc_dp_listed *lists;
    size_t list_count, list_cap;
};

#endif
