/*
 * opcache.c - the eager fast path: a call's key to its program, without a lock.
 *
 * Open addressing over pointers to entries that never change. Readers count themselves in and out;
 * writers hold the compile lock. What a writer takes away (a table outgrown, all entries at a
 * flush) is freed when the count has been seen at 0 after the pointer changed: no reader can hold
 * it then. A flush also waits for the queues, because queued executions use the entries' programs
 * without a reference of their own - that is what keeps two cores from passing a counter to and fro
 * for every operator.
 *
 * "No lowering" is remembered as well, so that a fallback costs the caller a probe and not a
 * compile.
 *
 * Rejected: eviction entry by entry. It needs a use mark on every hit; starting over when the
 * caches are full costs one recompile (from disk, usually) per program still in use, once in a long
 * while.
 */
#include "neuron/runtime/opkey.h"
#include "neuron/runtime/program.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define FIRST_CAP   1024u
#define MAX_ENTRIES 65536u

typedef struct entry {
    uint64_t hash;
    uint32_t words;
    osc_nrt_program *program; /* one reference; NULL: there is no lowering */
    char *message;            /* why not; owned */
    osc_opslots slots;        /* owned */
    uint64_t key[];
} entry;

typedef struct table {
    size_t cap; /* power of two */
    _Atomic(entry *) slots[];
} table;

struct osc_opcache {
    _Atomic(table *) current;
    _Atomic uint64_t readers;
    size_t count; /* compile lock */
};

static table *table_new(size_t cap)
{
    table *t = osc_calloc(1, sizeof *t + cap * sizeof t->slots[0]);
    if (t != NULL)
        t->cap = cap;
    return t;
}

osc_opcache *osc_opcache_new(void)
{
    osc_opcache *cache = osc_calloc(1, sizeof *cache);
    table *first = table_new(FIRST_CAP);
    if (cache == NULL || first == NULL) {
        osc_free(cache);
        osc_free(first);
        return NULL;
    }
    atomic_store(&cache->current, first);
    return cache;
}

void osc_opcache_free(osc_opcache *cache)
{
    if (cache == NULL)
        return;
    osc_free(atomic_load(&cache->current));
    osc_free(cache);
}

/* ---- reading ---- */

static void read_begin(osc_opcache *cache)
{
    atomic_fetch_add(&cache->readers, 1);
}

static void read_end(osc_opcache *cache)
{
    atomic_fetch_sub(&cache->readers, 1);
}

static void await_no_readers(osc_opcache *cache)
{
    while (atomic_load(&cache->readers) != 0)
        osc_sleep_ns(20000);
}

static bool matches(const entry *e, const osc_opkey *key)
{
    return e->hash == key->hash && e->words == key->count &&
           memcmp(e->key, key->words, key->count * sizeof *key->words) == 0;
}

static entry *find(osc_opcache *cache, const osc_opkey *key)
{
    table *t = atomic_load(&cache->current);
    for (size_t i = key->hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (e == NULL || matches(e, key))
            return e;
    }
}

/* ---- writing: compile lock ---- */

static void place(table *t, entry *e)
{
    size_t i = e->hash & (t->cap - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed) != NULL)
        i = (i + 1) & (t->cap - 1);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
}

/* Doubles the table when half full; false without memory. */
static bool make_room(osc_opcache *cache)
{
    table *old = atomic_load(&cache->current);
    if ((cache->count + 1) * 2 <= old->cap)
        return true;
    table *more = table_new(old->cap * 2);
    if (more == NULL)
        return false;
    for (size_t i = 0; i < old->cap; i++) {
        entry *e = atomic_load(&old->slots[i]);
        if (e != NULL)
            place(more, e);
    }
    atomic_store(&cache->current, more);
    await_no_readers(cache);
    osc_free(old);
    return true;
}

static void entry_free(entry *e)
{
    osc_nrt_program_release(e->program);
    osc_free(e->message);
    osc_free(e->slots.tensor);
    osc_free(e);
}

static entry *entry_new(const osc_opkey *key)
{
    entry *e = osc_calloc(1, sizeof *e + key->count * sizeof e->key[0]);
    if (e == NULL)
        return NULL;
    e->hash = key->hash;
    e->words = key->count;
    memcpy(e->key, key->words, key->count * sizeof e->key[0]);
    return e;
}

void osc_opcache_flush(osc_rt *rt)
{
    osc_opcache *cache = osc_program_opcache(rt);
    table *empty = table_new(FIRST_CAP);
    if (empty == NULL)
        return; /* a cache over its size is better than none */
    table *old = atomic_exchange(&cache->current, empty);
    cache->count = 0;
    await_no_readers(cache);
    for (uint32_t i = 0; i < rt->config.device_count; i++) {
        osc_rt_device *device = osc_rt_device_peek(rt, i);
        if (device != NULL)
            osc_queue_wait(device->queue, osc_queue_last(device->queue));
    }
    for (size_t i = 0; i < old->cap; i++) {
        entry *e = atomic_load(&old->slots[i]);
        if (e != NULL)
            entry_free(e);
    }
    osc_free(old);
    osc_program_forget_all(rt);
}

/* ---- using an entry: inside a read section or under the compile lock ---- */

static osc_status launch_entry(osc_rt_stream *stream, const entry *e, const osc_nrt_call *call,
                               const osc_nrt_op *op, osc_err *err)
{
    void *few[OSC_RT_WORK_ADDRESSES] = {NULL}, **addresses = few;
    uint32_t count = e->program->slots;
    assert(count <= e->slots.count);
    if (count > OSC_RT_WORK_ADDRESSES) {
        addresses = osc_calloc(count, sizeof *addresses);
        if (addresses == NULL)
            return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for %u addresses",
                            count);
    }
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = call->tensors[e->slots.tensor[i]].address;
    osc_status status = osc_program_launch(stream, e->program, addresses, count, false, op, err);
    if (addresses != few)
        osc_free(addresses);
    return status;
}

static osc_status use(osc_rt_stream *stream, const entry *e, const osc_nrt_call *call,
                      const osc_nrt_op *op, osc_err *err)
{
    if (e->program == NULL)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET, "%s", e->message);
    return launch_entry(stream, e, call, op, err);
}

/* ---- the miss path: compile lock ---- */

static osc_status build(osc_rt *rt, const osc_nrt_call *call, entry *e, osc_err *err)
{
    osc_graph *graph;
    osc_err why = {0};
    osc_status status = osc_opkey_graph(call, &graph, &e->slots, err);
    if (status != OSC_OK)
        return status;
    status = osc_program_find(rt, graph, &e->program, &why);
    osc_graph_free(graph);
    if (status == OSC_OK && e->program->slots > e->slots.count)
        return osc_fail(err, OSC_EFORMAT, NULL, OSC_NO_OFFSET,
                        "%s: the program takes %u addresses, the call has %u", call->name,
                        e->program->slots, e->slots.count);
    if (status == OSC_EUNSUPPORTED) {
        e->message = osc_memdup0(why.message, strlen(why.message));
        status = e->message != NULL ? OSC_OK : OSC_ENOMEM;
    }
    if (status != OSC_OK && err != NULL)
        *err = why;
    return status;
}

static osc_status miss(osc_rt_stream *stream, const osc_opkey *key, const osc_nrt_call *call,
                       const osc_nrt_op *op, osc_err *err)
{
    osc_rt *rt = stream->device->rt;
    osc_opcache *cache = osc_program_opcache(rt);
    entry *e = find(cache, key); /* another thread may have been faster */
    if (e != NULL)
        return use(stream, e, call, op, err);
    if (cache->count >= MAX_ENTRIES)
        osc_opcache_flush(rt);
    e = entry_new(key);
    if (e == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for %s", call->name);
    osc_status status = build(rt, call, e, err);
    if (status == OSC_OK && !make_room(cache))
        status =
            osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for the operator cache");
    if (status != OSC_OK) {
        entry_free(e);
        return status;
    }
    place(atomic_load(&cache->current), e);
    cache->count++;
    return use(stream, e, call, op, err);
}

static osc_status run_key(osc_rt_stream *stream, const osc_opkey *key, const osc_nrt_call *call,
                          const osc_nrt_op *op, osc_err *err)
{
    osc_rt *rt = stream->device->rt;
    osc_opcache *cache = osc_program_opcache(rt);
    osc_cache_counters *counters = osc_program_counters(rt);
    osc_status status = OSC_OK;
    read_begin(cache);
    const entry *e = find(cache, key);
    if (e != NULL)
        status = use(stream, e, call, op, err);
    read_end(cache);
    if (e != NULL) {
        (void)atomic_fetch_add_explicit(&counters->memory_hits, 1, memory_order_relaxed);
        return status;
    }
    osc_program_compile_lock(rt);
    status = miss(stream, key, call, op, err);
    osc_program_compile_unlock(rt);
    return status;
}

osc_status osc_nrt_run_op(int32_t device, int64_t stream, const osc_nrt_call *call,
                          const osc_nrt_op *op, osc_err *err)
{
    osc_rt_stream *s;
    osc_opkey key;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK)
        return status;
    status = osc_opkey_make(call, &key, err);
    if (status == OSC_OK)
        status = run_key(s, &key, call, op, err);
    osc_opkey_free(&key);
    return status == OSC_OK ? osc_rt_finish(s, err) : status;
}
