/*
 * finding.c - see finding.h.
 *
 * A linear search finds the entry to count: lists are short (a name per kind of damage and file),
 * and a reader that meets a million damaged records hits the same entry each time.
 */
#include "artifact/finding.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *osc_severity_name(osc_severity severity)
{
    switch (severity) {
    case OSC_SEV_NOTE: return "note";
    case OSC_SEV_WARN: return "warn";
    case OSC_SEV_ERROR: return "error";
    }
    return "?";
}

/* The entry of this name and input; NULL when it is new. */
static osc_finding *find_entry(const osc_findings *list, const char *name, const char *input)
{
    for (size_t i = 0; i < list->count; i++) {
        osc_finding *f = &list->items[i];
        if (strcmp(f->name, name) == 0 && strncmp(f->input, input, sizeof f->input - 1) == 0)
            return f;
    }
    return NULL;
}

/* Room for one more entry; NULL when the list is full or memory is out. */
static osc_finding *new_entry(osc_findings *list)
{
    if (list->count == OSC_FINDINGS_MAX)
        return NULL;
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        osc_finding *items = osc_realloc_array(list->items, cap, sizeof *items);
        if (!items)
            return NULL;
        list->items = items;
        list->cap = cap;
    }
    assert(list->count < list->cap);
    return &list->items[list->count++];
}

void osc_findings_add(osc_findings *list, const char *name, osc_severity severity, osc_status code,
                      const char *input, uint64_t offset, const char *fmt, ...)
{
    if (!list)
        return;
    input = input ? input : "";
    osc_finding *f = find_entry(list, name, input);
    if (f) {
        f->count++;
        return;
    }
    f = new_entry(list);
    if (!f) {
        list->suppressed++;
        return;
    }
    *f = (osc_finding){
        .name = name, .severity = severity, .code = code, .offset = offset, .count = 1};
    (void)osc_str_to_array(osc_str_from_cstr(input), f->input, sizeof f->input);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
}

const osc_finding *osc_findings_find(const osc_findings *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    }
    return NULL;
}

size_t osc_findings_at_least(const osc_findings *list, osc_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += list->items[i].severity >= severity;
    return n;
}

void osc_findings_free(osc_findings *list)
{
    if (!list)
        return;
    osc_free(list->items);
    *list = (osc_findings){0};
}
