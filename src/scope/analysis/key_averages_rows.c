/* key_averages_rows.c - rows and how they are found; see key_averages_internal.h. */
#include "scope/analysis/key_averages_internal.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool osc_ka_rows_init(struct ka_rows *r, uint32_t names)
{
    *r = (struct ka_rows){.names = names};
    r->by_name = osc_realloc_array(NULL, (size_t)names + 1, sizeof *r->by_name);
    if (!r->by_name)
        return false;
    memset(r->by_name, 0xff, ((size_t)names + 1) * sizeof *r->by_name); /* OSC_NO_ROW */
    return true;
}

void osc_ka_rows_free(struct ka_rows *r)
{
    osc_free(r->rows);
    osc_free(r->by_name);
    osc_map_free(&r->by_group);
    memset(r, 0, sizeof *r);
}

static uint32_t add_row(struct ka_rows *r, const struct ka_row *row)
{
    if (r->count == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : 64;
        struct ka_row *grown = osc_realloc_array(r->rows, cap, sizeof *grown);
        if (!grown)
            return OSC_NO_ROW;
        r->rows = grown;
        r->cap = cap;
    }
    r->rows[r->count] = *row;
    return r->count++;
}

/* The row of another group than the first one of its name, device and annotation. */
static uint32_t row_of_group(struct ka_rows *r, uint32_t head, uint32_t group)
{
    uint64_t found, key = (uint64_t)head << 32 | group;
    if (osc_map_get(&r->by_group, key, &found))
        return (uint32_t)found;
    struct ka_row row = {.first_start = INT64_MAX,
                         .name = r->rows[head].name,
                         .group = group,
                         .next = OSC_NO_ROW,
                         .device = r->rows[head].device,
                         .annotation = r->rows[head].annotation};
    uint32_t at = add_row(r, &row);
    if (at != OSC_NO_ROW && osc_map_put(&r->by_group, key, at) != OSC_OK)
        return OSC_NO_ROW;
    return at;
}

uint32_t osc_ka_find_row(struct ka_rows *r, uint32_t name, uint8_t device, bool annotation,
                         uint32_t group)
{
    assert(name < r->names);
    uint32_t *link = &r->by_name[name];
    while (*link != OSC_NO_ROW) {
        const struct ka_row *row = &r->rows[*link];
        if (row->device == device && row->annotation == annotation)
            return row->group == group ? *link : row_of_group(r, *link, group);
        link = &r->rows[*link].next;
    }
    struct ka_row row = {.first_start = INT64_MAX,
                         .name = name,
                         .group = group,
                         .next = r->by_name[name],
                         .device = device,
                         .annotation = annotation};
    uint32_t at = add_row(r, &row);
    if (at != OSC_NO_ROW)
        r->by_name[name] = at;
    return at;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct ka_row *rows = context;
    const struct ka_row *a = &rows[*(const uint32_t *)left], *b = &rows[*(const uint32_t *)right];
    if (a->first_start != b->first_start)
        return a->first_start < b->first_start ? -1 : 1;
    if (a->first_dur != b->first_dur)
        return a->first_dur > b->first_dur ? -1 : 1;
    if (a->first_order != b->first_order)
        return a->first_order < b->first_order ? -1 : 1;
    return (a->first_index > b->first_index) - (a->first_index < b->first_index);
}

bool osc_ka_rows_sort(struct ka_rows *r, uint32_t *moved)
{
    uint32_t *order = osc_realloc_array(NULL, (size_t)r->count + 1, sizeof *order);
    struct ka_row *sorted = osc_realloc_array(NULL, (size_t)r->count + 1, sizeof *sorted);
    bool ok = order && sorted;
    if (ok) {
        for (uint32_t i = 0; i < r->count; i++)
            order[i] = i;
        qsort_r(order, r->count, sizeof *order, compare_rows, r->rows);
        for (uint32_t i = 0; i < r->count; i++) {
            sorted[i] = r->rows[order[i]];
            if (moved)
                moved[order[i]] = i;
        }
        osc_free(r->rows);
        r->rows = sorted;
        sorted = NULL;
    }
    osc_free(order);
    osc_free(sorted);
    return ok;
}
