/*
 * schema_words.c - names for the columns of the store that hold numbers of an enumeration, or bits.
 *
 * A column says in its meaning which enumeration it holds. Machines get the numbers, which are
 * fixed (docs/formats/store.md); people get names.
 */
#include "scope/analysis/schema.h"

#include "artifact/finding.h"
#include "base/str.h"
#include "scope/store/kinds.h"

#include <stdio.h>
#include <string.h>

/* Copies names[value]; false when there is none. */
static bool put_name(const char *const *names, size_t count, int64_t value,
                     char out[OSC_TABLE_WORD])
{
    if (value < 0 || (uint64_t)value >= count || !names[value])
        return false;
    (void)snprintf(out, OSC_TABLE_WORD, "%s", names[value]);
    return true;
}

/* The names of set bits with '+' between; nothing for none. False when one has no name. */
static bool put_bits(const char *const *names, size_t count, int64_t value,
                     char out[OSC_TABLE_WORD])
{
    size_t used = 0;
    out[0] = '\0';
    if (value < 0 || (uint64_t)value >> count != 0)
        return false;
    for (size_t bit = 0; bit < count && used < OSC_TABLE_WORD; bit++) {
        if ((uint64_t)value >> bit & 1)
            used += (size_t)snprintf(out + used, OSC_TABLE_WORD - used, "%s%s", used ? "+" : "",
                                     names[bit]);
    }
    return used < OSC_TABLE_WORD;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool slice_kind(int64_t value, char out[OSC_TABLE_WORD])
{
    if (value < 0 || value >= OSC_KIND_COUNT)
        return false;
    (void)snprintf(out, OSC_TABLE_WORD, "%s", osc_slice_kind_name((osc_slice_kind)value));
    return true;
}

static bool link_rule(int64_t value, char out[OSC_TABLE_WORD])
{
    if (value < OSC_LINK_EXTERNAL_ID || value > OSC_LINK_EXEC_ID)
        return false;
    (void)snprintf(out, OSC_TABLE_WORD, "%s", osc_link_rule_name((osc_link_rule)value));
    return true;
}

static bool severity(int64_t value, char out[OSC_TABLE_WORD])
{
    if (value < OSC_SEV_NOTE || value > OSC_SEV_ERROR)
        return false;
    (void)snprintf(out, OSC_TABLE_WORD, "%s", osc_severity_name((osc_severity)value));
    return true;
}

static bool slice_flags(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {"unfinished", "no_time", "xpu", "privateuse1", "stream"};
    return put_bits(names, COUNT(names), value, out);
}

static bool traffic_flags(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {"regular", "transpose", "psum_to_sbuf"};
    return put_bits(names, COUNT(names), value, out);
}

static bool lane_kind(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {NULL,     "thread", "stream", "runtime", "core",
                                        "device", "span",   "engine", "queue"};
    return put_name(names, COUNT(names), value, out);
}

static bool work_kind(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {NULL,       "instruction", "dma",
                                        "preamble", "postamble",   "transfer"};
    return put_name(names, COUNT(names), value, out);
}

static bool dma_class(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {"other", "static", "software_dynamic", "hardware_dynamic"};
    return put_name(names, COUNT(names), value, out);
}

static bool wait_kind(int64_t value, char out[OSC_TABLE_WORD])
{
    static const char *const names[] = {"", "semaphore", "busy", "port", "barrier", "dma_start"};
    return put_name(names, COUNT(names), value, out);
}

osc_table_words osc_schema_words(const osc_column_def *def)
{
    static const struct {
        const char *meaning;
        osc_table_words words;
    } known[] = {
        {"osc_slice_kind", slice_kind},
        {"OSC_SLICE_* bits", slice_flags},
        {"osc_lane_kind", lane_kind},
        {"osc_link_rule", link_rule},
        {"osc_work_kind", work_kind},
        {"osc_dma_class", dma_class},
        {"osc_wait_kind", wait_kind},
        {"OSC_TRAFFIC_* bits", traffic_flags},
        {"osc_severity of artifact/finding.h", severity},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(def->meaning, known[i].meaning) == 0)
            return known[i].words;
    }
    return NULL;
}
