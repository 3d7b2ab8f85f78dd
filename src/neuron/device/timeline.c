/*
 * timeline.c - growing arrays of a scheduled run (see timeline.h).
 */
#include "neuron/device/timeline.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void dev_timeline_init(dev_timeline *timeline, bool record)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->record = record;
}

void dev_timeline_free(dev_timeline *timeline)
{
    osc_free(timeline->step);
    osc_free(timeline->flight);
    osc_free(timeline->use);
    osc_free(timeline->change);
    osc_free(timeline->moving);
    memset(timeline, 0, sizeof *timeline);
}

void *dev_timeline_push(dev_timeline *timeline, void **array, size_t *count, size_t *cap,
                        size_t size)
{
    if (*count == *cap) {
        size_t wanted = *cap == 0 ? 64 : *cap * 2;
        void *larger = osc_realloc_array(*array, wanted, size);
        if (larger == NULL) {
            timeline->failed = true;
            return NULL;
        }
        *array = larger;
        *cap = wanted;
    }
    return (char *)*array + size * (*count)++;
}

static int by_begin(const void *a, const void *b)
{
    const dev_interval *x = a, *y = b;
    return (x->begin_ps > y->begin_ps) - (x->begin_ps < y->begin_ps);
}

int64_t dev_timeline_dma_busy(dev_timeline *timeline)
{
    int64_t busy = 0, until = INT64_MIN;
    if (timeline->moving_count == 0)
        return 0;
    qsort(timeline->moving, timeline->moving_count, sizeof *timeline->moving, by_begin);
    for (size_t i = 0; i < timeline->moving_count; i++) {
        dev_interval m = timeline->moving[i];
        assert(m.end_ps >= m.begin_ps);
        if (m.end_ps <= until)
            continue;
        busy += m.end_ps - (m.begin_ps > until ? m.begin_ps : until);
        until = m.end_ps;
    }
    return busy;
}
