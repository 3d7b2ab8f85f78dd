/* era.c - see era.h. */
#include "scope/store/era.h"

#include "base/num.h"

osc_python_era osc_era_python(const osc_store *store)
{
    osc_str version = osc_store_get_meta(store, "torch_version"), part;
    int64_t major, minor, base;
    if (osc_str_split(&version, '.', &part) && osc_parse_i64(part, &major) &&
        osc_str_split(&version, '.', &part) && osc_parse_i64(part, &minor))
        return major > 2 || (major == 2 && minor >= 12) ? OSC_PYTHON_ERA_ROWS
                                                        : OSC_PYTHON_ERA_HIDDEN;
    if (!osc_parse_i64(osc_store_get_meta(store, "base_time_ns"), &base))
        return OSC_PYTHON_ERA_UNKNOWN;
    return base >= OSC_ERA_PYTHON_ROWS_NS ? OSC_PYTHON_ERA_ROWS : OSC_PYTHON_ERA_HIDDEN;
}
