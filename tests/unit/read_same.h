/*
 * read_same.h - whether two stores say the same, for tests that read one input in several ways.
 */
#ifndef OSC_TESTS_UNIT_READ_SAME_H
#define OSC_TESTS_UNIT_READ_SAME_H

#include "base/mem.h"
#include "scope/read/kineto.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The first difference of two stores as text in out; true when there is none. */
static inline bool same_stores(const osc_store *a, const osc_store *b, char *out, size_t cap)
{
    static const size_t sizes[] = {8, 8, 4, 4, 1, 4};
    out[0] = '\0';
    for (uint32_t t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        for (uint32_t c = 0; c < def->column_count; c++) {
            uint32_t na, nb;
            const char *pa = osc_store_column(a, (osc_table_id)t, c, &na);
            const char *pb = osc_store_column(b, (osc_table_id)t, c, &nb);
            size_t size = sizes[def->columns[c].type];
            if (na != nb) {
                snprintf(out, cap, "%s: %u rows and %u", def->name, na, nb);
                return false;
            }
            for (uint32_t i = 0; pa && pb && i < na; i++) {
                if (memcmp(pa + i * size, pb + i * size, size) == 0)
                    continue;
                long long va = 0, vb = 0;
                memcpy(&va, pa + i * size, size);
                memcpy(&vb, pb + i * size, size);
                snprintf(out, cap, "%s.%s[%u]: %lld and %lld", def->name, def->columns[c].name, i,
                         va, vb);
                return false;
            }
            if ((pa == NULL) != (pb == NULL)) {
                snprintf(out, cap, "%s.%s: left out in one", def->name, def->columns[c].name);
                return false;
            }
        }
    }
    if (osc_store_text_count(a) != osc_store_text_count(b)) {
        snprintf(out, cap, "%u texts and %u", osc_store_text_count(a), osc_store_text_count(b));
        return false;
    }
    for (uint32_t i = 0; i < osc_store_text_count(a); i++) {
        if (!osc_str_eq(osc_store_text(a, i), osc_store_text(b, i))) {
            snprintf(out, cap, "text %u", i);
            return false;
        }
    }
    return true;
}

/* One way to read. */
typedef struct read_way {
    const char *name;
    bool reference;
    osc_simd_level simd;
    size_t window;
    uint32_t omit;
    osc_frames frames;
} read_way;

static inline osc_store *read_bytes(const char *data, size_t len, const read_way *way,
                                    osc_status *status, osc_err *err)
{
    osc_open_options options = {.omit = way->omit, .frames = way->frames, .threads = 1};
    osc_kineto_context context = {.input = "same.json",
                                  .options = &options,
                                  .reference = way->reference,
                                  .simd = way->simd,
                                  .window = way->window};
    osc_store *store = osc_store_new();
    if (!store) {
        *status = OSC_ENOMEM;
        return NULL;
    }
    *status = osc_kineto_read(store, data, len, &context, err);
    return store;
}

/* True when reading by `way` gives what the reference gives. */
static inline bool reads_same(const char *data, size_t len, const read_way *way, char *out,
                              size_t cap)
{
    read_way reference = {
        .name = "reference", .reference = true, .omit = way->omit, .frames = way->frames};
    osc_err ea = {0}, eb = {0};
    osc_status sa, sb;
    osc_store *a = read_bytes(data, len, &reference, &sa, &ea);
    osc_store *b = read_bytes(data, len, way, &sb, &eb);
    bool same = a && b && sa == sb && strcmp(ea.message, eb.message) == 0;
    if (!same)
        snprintf(out, cap, "status %d (%.200s) and %d (%.200s)", sa, ea.message, sb, eb.message);
    else if (sa == OSC_OK)
        same = same_stores(a, b, out, cap);
    osc_store_free(a);
    osc_store_free(b);
    return same;
}

#endif
