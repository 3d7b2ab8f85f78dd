/*
 * semaphore.c - a sorted queue of future changes per semaphore (see semaphore.h).
 *
 * Changes in the past are folded into one number, so the queue holds only what is in flight, and
 * new changes mostly go to its end.
 */
#include "neuron/device/semaphore.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

int64_t dev_semaphore_reached(const dev_semaphore *s, uint32_t value)
{
    if (s->folded >= value)
        return 0;
    if (s->total < value)
        return DEV_NEVER;
    uint64_t sum = s->total;
    uint32_t i = s->count;
    while (i > s->head && sum - s->item[i - 1].add >= value)
        sum -= s->item[--i].add;
    assert(i > s->head);
    return s->item[i - 1].time_ps;
}

static void fold(dev_semaphore *s, int64_t now_ps)
{
    while (s->head < s->count && s->item[s->head].time_ps <= now_ps)
        s->folded += s->item[s->head++].add;
    if (s->head == s->count)
        s->head = s->count = 0;
}

static bool make_room(dev_semaphore *s)
{
    if (s->count < s->cap)
        return true;
    if (s->head > 0) {
        memmove(s->item, s->item + s->head, (s->count - s->head) * sizeof *s->item);
        s->count -= s->head;
        s->head = 0;
        return true;
    }
    uint32_t cap = s->cap == 0 ? 8 : s->cap * 2;
    dev_pending *larger = osc_realloc_array(s->item, cap, sizeof *larger);
    if (larger == NULL)
        return false;
    s->item = larger;
    s->cap = cap;
    return true;
}

bool dev_semaphore_add(dev_semaphore *s, int64_t now_ps, int64_t time_ps, uint64_t add)
{
    assert(time_ps >= now_ps);
    fold(s, now_ps);
    if (!make_room(s))
        return false;
    uint32_t at = s->count++;
    for (; at > s->head && s->item[at - 1].time_ps > time_ps; at--)
        s->item[at] = s->item[at - 1];
    s->item[at] = (dev_pending){time_ps, add};
    s->total += add;
    return true;
}

void dev_semaphore_free(dev_semaphore *s)
{
    osc_free(s->item);
    s->item = NULL;
}
