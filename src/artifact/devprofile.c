/* devprofile.c - the tables of a device profile and access to them; see devprofile.h. */
#include "artifact/devprofile.h"

#include "artifact/devprofile_internal.h"
#include "base/mem.h"
#include "base/num.h"

#define OSC_DP_COLUMN(row, kind, member, key, absent, required, meaning) \
    {OSC_STR_INIT(key), OSC_DP_##kind, required, offsetof(osc_dp_##row, member), absent},
#define OSC_DP_COLUMNS(row, columns) \
    static const osc_dp_column row##_columns[] = {columns(OSC_DP_COLUMN, row)};
OSC_DP_ALL(OSC_DP_COLUMNS)

#define OSC_DP_DEF(row, name, meaning)                                                \
    {OSC_STR_INIT(name), row##_columns, sizeof row##_columns / sizeof *row##_columns, \
     sizeof(osc_dp_##row)},
const osc_dp_def osc_dp_defs[OSC_DP_TABLE_COUNT] = {OSC_DP_TABLES(OSC_DP_DEF)};

#define OSC_DP_ACCESSOR(row, columns)                                                     \
    const osc_dp_##row *osc_dp_##row##_rows(const osc_devprofile *profile, size_t *count) \
    {                                                                                     \
        *count = profile->tables[OSC_DP_TABLE_##row].count;                               \
        return profile->tables[OSC_DP_TABLE_##row].data;                                  \
    }
OSC_DP_ALL(OSC_DP_ACCESSOR)

void osc_devprofile_free(osc_devprofile *profile)
{
    if (!profile)
        return;
    for (unsigned t = 0; t < OSC_DP_TABLE_COUNT; t++)
        osc_free(profile->tables[t].data);
    osc_free(profile->facts);
    osc_free(profile->lists);
    osc_intern_free(profile->strings);
    osc_free(profile);
}

const osc_dp_fact *osc_devprofile_facts(const osc_devprofile *profile, size_t *count)
{
    *count = profile->fact_count;
    return profile->facts;
}

const osc_dp_fact *osc_devprofile_fact(const osc_devprofile *profile, const char *table,
                                       const char *key)
{
    for (size_t i = 0; i < profile->fact_count; i++) {
        const osc_dp_fact *fact = &profile->facts[i];
        if (osc_str_eq_cstr(fact->table, table) && osc_str_eq_cstr(fact->key, key))
            return fact;
    }
    return NULL;
}

bool osc_devprofile_number(const osc_devprofile *profile, const char *table, const char *key,
                           double *value)
{
    const osc_dp_fact *fact = osc_devprofile_fact(profile, table, key);
    return fact && osc_parse_f64(fact->value, value);
}

const osc_dp_listed *osc_devprofile_lists(const osc_devprofile *profile, size_t *count)
{
    *count = profile->list_count;
    return profile->lists;
}

bool osc_devprofile_has(const osc_devprofile *profile, const char *table)
{
    for (size_t i = 0; i < profile->list_count; i++) {
        if (osc_str_eq_cstr(profile->lists[i].name, table))
            return true;
    }
    return false;
}
