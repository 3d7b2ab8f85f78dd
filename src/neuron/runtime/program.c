/*
 * program.c - programs: from a graph through the caches to something a core can run.
 *
 *     graph -> text -> SHA-256 -> memory (this file) -> disk (diskcache.c) -> compiler
 *
 * The key is the content: the graph's canonical text, the generation and the compiler's version.
 * Nothing of the parameter sheet is in it: sheets change times, not code. One lock covers
 * find-or-compile, so two threads that want the same program compile it once.
 *
 * A program is loaded on a device by that device's queue thread at its first execution, and
 * unloaded by it: cores are not thread-safe. Releasing the last reference therefore leaves the
 * loaded halves on the devices' unload lists.
 */
#include "neuron/runtime/program.h"

#include "artifact/neff.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "neuron/compiler/compiler.h"
#include "neuron/runtime/cachekey.h"
#include "neuron/runtime/diskcache.h"

#include <assert.h>
#include <string.h>

#define CHAINS                  1024u
#define MAX_CACHED_INSTRUCTIONS 400000u /* about 600 bytes each with its schedule: 240 MB */
#define MAX_NEFF                ((size_t)1 << 30)

typedef struct osc_rt_unload {
    struct osc_rt_unload *next;
    osc_loaded *loaded;
} osc_rt_unload;

struct osc_programs {
    osc_mutex lock; /* compile lock: chains, cached instructions, body probe */
    osc_nrt_program *chains[CHAINS];
    uint64_t cached_instructions;
    _Atomic uint64_t last_id;
    osc_cache_counters counters;
    osc_opcache *opcache;
};

osc_status osc_programs_new(osc_programs **out, osc_err *err)
{
    osc_programs *p = osc_calloc(1, sizeof *p);
    *out = NULL;
    if (p != NULL)
        p->opcache = osc_opcache_new();
    if (p == NULL || p->opcache == NULL) {
        osc_free(p);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "no host memory for the program cache");
    }
    osc_mutex_init(&p->lock);
    *out = p;
    return OSC_OK;
}

void osc_programs_free(osc_programs *programs)
{
    if (programs == NULL)
        return;
    osc_opcache_free(programs->opcache);
    osc_mutex_destroy(&programs->lock);
    osc_free(programs);
}

osc_cache_counters *osc_program_counters(osc_rt *rt)
{
    return &rt->programs->counters;
}

osc_opcache *osc_program_opcache(osc_rt *rt)
{
    return rt->programs->opcache;
}

void osc_program_compile_lock(osc_rt *rt)
{
    osc_mutex_lock(&rt->programs->lock);
}

void osc_program_compile_unlock(osc_rt *rt)
{
    osc_mutex_unlock(&rt->programs->lock);
}

/* ---- one program ---- */

static void destroy(osc_nrt_program *p)
{
    osc_program_release(p->program);
    osc_free(p->loaded);
    osc_free(p->span_bytes);
    osc_free(p->cache_key);
    osc_free(p->name);
    osc_free(p);
}

/* Spans per slot and the number of results; a slot may be named by an input and an output. */
static void read_tensors(osc_nrt_program *p)
{
    uint32_t count;
    const osc_tensor *tensors = osc_program_tensors(p->program, &count);
    for (uint32_t i = 0; i < count; i++) {
        const osc_tensor *t = &tensors[i];
        if (t->kind == OSC_TENSOR_OUTPUT)
            p->outputs++;
        if (t->slot < p->slots && t->span_bytes > p->span_bytes[t->slot])
            p->span_bytes[t->slot] = t->span_bytes;
    }
}

static osc_status fill_program(osc_nrt_program *p, const char *key, osc_err *err)
{
    osc_str name = osc_program_name(p->program), own_key = osc_program_cache_key(p->program);
    osc_str shown_key = own_key.len > 0 ? own_key : osc_str_from_cstr(key);
    p->slots = osc_program_slots(p->program);
    p->name = osc_memdup0(name.ptr, name.len);
    p->cache_key = osc_memdup0(shown_key.ptr, shown_key.len);
    p->span_bytes = osc_calloc(p->slots + 1, sizeof *p->span_bytes);
    p->loaded = osc_calloc(OSC_RT_MAX_DEVICES, sizeof(osc_loaded *));
    if (p->name == NULL || p->cache_key == NULL || p->span_bytes == NULL || p->loaded == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a program");
    p->hash = osc_program_hash(p->program);
    p->instructions = osc_program_inst_count(p->program);
    p->flops = osc_program_flops(p->program);
    p->scratch_bytes = osc_program_scratch_bytes(p->program);
    atomic_store(&p->body_ns, -1);
    read_tensors(p);
    return OSC_OK;
}

osc_status osc_program_wrap(osc_rt *rt, osc_program *take, const char *key, osc_nrt_program **out,
                            osc_err *err)
{
    *out = NULL;
    osc_nrt_program *p = osc_calloc(1, sizeof *p);
    if (p == NULL) {
        osc_program_release(take);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a program");
    }
    atomic_store(&p->references, 1);
    p->rt = rt;
    p->program = take;
    p->id = atomic_fetch_add(&rt->programs->last_id, 1) + 1;
    osc_status status = fill_program(p, key, err);
    if (status != OSC_OK) {
        destroy(p);
        return status;
    }
    *out = p;
    return OSC_OK;
}

void osc_nrt_program_retain(osc_nrt_program *program)
{
    atomic_fetch_add(&program->references, 1);
}

/* Hands the loaded half to the queue thread of its device. Without memory it stays loaded: never
 * wrong. */
static void leave_for_unload(osc_rt_device *device, osc_loaded *loaded)
{
    osc_rt_unload *node = osc_alloc(sizeof *node);
    if (node == NULL)
        return;
    node->loaded = loaded;
    node->next = atomic_load(&device->unloads);
    while (!atomic_compare_exchange_weak(&device->unloads, &node->next, node)) {
    }
}

void osc_nrt_program_release(osc_nrt_program *program)
{
    if (program == NULL || osc_nrt_in_bad_fork() || atomic_fetch_sub(&program->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < program->rt->config.device_count; i++)
        if (program->loaded[i] != NULL)
            leave_for_unload(osc_rt_device_peek(program->rt, i), program->loaded[i]);
    destroy(program);
}

void osc_program_run_unloads(osc_rt_device *device)
{
    if (atomic_load_explicit(&device->unloads, memory_order_relaxed) == NULL)
        return;
    osc_rt_unload *node = atomic_exchange(&device->unloads, NULL);
    while (node != NULL) {
        osc_rt_unload *next = node->next;
        osc_core_unload(node->loaded);
        osc_free(node);
        node = next;
    }
}

osc_status osc_program_load(osc_nrt_program *program, osc_rt_device *device, osc_loaded **out,
                            osc_err *err)
{
    osc_loaded **mine = &program->loaded[device->index];
    if (*mine == NULL) {
        osc_status status = osc_core_load(device->core, program->program, mine, err);
        if (status != OSC_OK) {
            *out = *mine = NULL;
            return status;
        }
    }
    *out = *mine;
    return OSC_OK;
}

/* ---- find or compile ---- */

static osc_nrt_program **chain_of(osc_programs *ps, const unsigned char key[OSC_SHA256_SIZE])
{
    return &ps->chains[(key[0] + key[1] * 256u) % CHAINS];
}

static osc_nrt_program *find_content(osc_programs *ps, const unsigned char key[OSC_SHA256_SIZE])
{
    osc_nrt_program *p = *chain_of(ps, key);
    while (p != NULL && memcmp(p->content, key, OSC_SHA256_SIZE) != 0)
        p = p->next;
    return p;
}

static void keep_content(osc_programs *ps, osc_nrt_program *p,
                         const unsigned char key[OSC_SHA256_SIZE])
{
    osc_nrt_program **chain = chain_of(ps, key);
    memcpy(p->content, key, OSC_SHA256_SIZE);
    p->next = *chain;
    *chain = p;
    ps->cached_instructions += p->instructions;
    osc_nrt_program_retain(p);
}

void osc_program_forget_all(osc_rt *rt)
{
    osc_programs *ps = rt->programs;
    for (size_t i = 0; i < CHAINS; i++)
        while (ps->chains[i] != NULL) {
            osc_nrt_program *p = ps->chains[i];
            ps->chains[i] = p->next;
            p->next = NULL;
            osc_nrt_program_release(p);
        }
    ps->cached_instructions = 0;
}

size_t osc_program_list(osc_rt *rt, size_t max, osc_nrt_program ***out)
{
    osc_programs *ps = rt->programs;
    size_t count = 0;
    *out = osc_calloc(max, sizeof(osc_nrt_program *));
    osc_mutex_lock(&ps->lock);
    for (size_t i = 0; i < CHAINS && *out != NULL; i++)
        for (osc_nrt_program *p = ps->chains[i]; p != NULL && count < max; p = p->next) {
            osc_nrt_program_retain(p);
            (*out)[count++] = p;
        }
    osc_mutex_unlock(&ps->lock);
    return count;
}

static osc_status compile(osc_rt *rt, const osc_graph *graph, osc_program **out, osc_err *err)
{
    osc_cache_counters *c = &rt->programs->counters;
    osc_compile_options options = {
        .size = sizeof options, .generation = rt->config.generation, .fuse = true};
    int64_t begin = osc_mono_ns();
    osc_status status = osc_compile(graph, &options, out, err);
    atomic_fetch_add(&c->compile_ns, (uint64_t)(osc_mono_ns() - begin));
    if (status == OSC_OK)
        atomic_fetch_add(&c->compilations, 1);
    if (status == OSC_EUNSUPPORTED)
        atomic_fetch_add(&c->unsupported, 1);
    return status;
}

/* Disk, else compiler; a fresh program is saved. */
static osc_status obtain(osc_rt *rt, const osc_graph *graph, const osc_cachekey *key,
                         osc_nrt_program **out, osc_err *err)
{
    osc_cache_counters *c = &rt->programs->counters;
    osc_program *program = NULL;
    bool hit = rt->config.disk_cache &&
               osc_diskcache_load(rt->config.cache_dir, key, rt->config.generation, &program);
    if (rt->config.disk_cache)
        atomic_fetch_add(hit ? &c->disk_hits : &c->disk_misses, 1);
    if (!hit) {
        osc_status status = compile(rt, graph, &program, err);
        if (status != OSC_OK)
            return status;
        if (rt->config.disk_cache)
            osc_diskcache_save(rt->config.cache_dir, key, program);
    }
    osc_status status = osc_program_wrap(rt, program, key->text, out, err);
    if (status == OSC_OK)
        (*out)->from_disk_cache = hit;
    return status;
}

osc_status osc_program_find(osc_rt *rt, const osc_graph *graph, osc_nrt_program **out, osc_err *err)
{
    osc_programs *ps = rt->programs;
    osc_cachekey key;
    *out = NULL;
    if (ps->cached_instructions > MAX_CACHED_INSTRUCTIONS)
        osc_opcache_flush(rt);
    osc_status status = osc_graph_status(graph, err);
    if (status == OSC_OK)
        status = osc_cachekey_make(graph, rt->config.generation, &key, err);
    if (status != OSC_OK)
        return status;
    osc_nrt_program *known = find_content(ps, key.digest);
    atomic_fetch_add(known != NULL ? &ps->counters.memory_hits : &ps->counters.memory_misses, 1);
    if (known != NULL) {
        osc_nrt_program_retain(known);
        *out = known;
    } else {
        status = obtain(rt, graph, &key, out, err);
        if (status == OSC_OK)
            keep_content(ps, *out, key.digest);
    }
    osc_cachekey_free(&key);
    return status;
}

/* ---- launching ---- */

/* A copy of addresses too many for a piece of work, *more stays NULL when they fit. */
static osc_status copy_addresses(void *const *addresses, uint32_t count, void ***more, osc_err *err)
{
    *more = NULL;
    if (count <= OSC_RT_WORK_ADDRESSES)
        return OSC_OK;
    *more = osc_alloc(count * sizeof **more);
    if (*more == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for %u addresses",
                        count);
    memcpy(*more, addresses, count * sizeof **more);
    return OSC_OK;
}

/*
 * Scratch is taken and given back here, in the order of submission, like the framework's own blocks:
 * a block that the host has freed may still be in use by queued work, so the queue thread must not
 * take memory from the pool.
 */
osc_status osc_program_launch(osc_rt_stream *stream, osc_nrt_program *program,
                              void *const *addresses, uint32_t count, bool keep,
                              const osc_nrt_op *op, osc_err *err)
{
    assert(count == program->slots);
    osc_work *work;
    uint64_t ticket;
    void **more, *scratch = NULL;
    osc_devmem *memory = stream->device->memory;
    osc_status status = copy_addresses(addresses, count, &more, err);
    if (status == OSC_OK && program->scratch_bytes > 0)
        status = osc_devmem_alloc_own(memory, program->scratch_bytes, &scratch, err);
    if (status == OSC_OK)
        status = osc_rt_begin(stream, OSC_RT_WORK_EXEC, op, program->name, &work, &ticket, err);
    if (status != OSC_OK)
        goto done;
    work->count = count;
    work->u.exec.program = program;
    work->u.exec.more = more;
    work->u.exec.scratch = scratch;
    work->u.exec.release = keep;
    if (keep)
        osc_nrt_program_retain(program);
    if (more == NULL && count > 0) /* a program of no slots may come without addresses */
        memcpy(work->u.exec.inlined, addresses, count * sizeof *addresses);
    more = NULL; /* the work owns it */
    osc_rt_commit(stream, work, ticket);
done:
    osc_free(more);
    if (scratch != NULL)
        (void)osc_devmem_free(memory, scratch);
    return status;
}

/* ---- public ---- */

osc_status osc_nrt_compile(const osc_graph *graph, osc_nrt_program **out, osc_err *err)
{
    osc_rt *rt;
    *out = NULL;
    osc_status status = osc_rt_get(&rt, err);
    if (status != OSC_OK)
        return status;
    osc_program_compile_lock(rt);
    status = osc_program_find(rt, graph, out, err);
    osc_program_compile_unlock(rt);
    return status;
}

osc_status osc_nrt_load_neff(const char *path, osc_nrt_program **out, osc_err *err)
{
    osc_rt *rt;
    osc_program *program;
    char *data;
    size_t len;
    *out = NULL;
    osc_status status = osc_rt_get(&rt, err);
    if (status == OSC_OK)
        status = osc_read_file(path, MAX_NEFF, &data, &len, err);
    if (status != OSC_OK)
        return status;
    status = osc_neff_read((const uint8_t *)data, len, path, &program, err);
    osc_free(data);
    if (status != OSC_OK)
        return status;
    osc_generation made_for = osc_program_generation(program);
    if (made_for != rt->config.generation) {
        osc_program_release(program);
        return osc_fail(
            err, OSC_EUNSUPPORTED, path, OSC_NO_OFFSET,
            "the program was compiled for %s, this machine is a %s; set OPSCOPE_INSTANCE_TYPE=%s",
            osc_generation_name(made_for), rt->config.instance_type, osc_generation_name(made_for));
    }
    return osc_program_wrap(rt, program, "", out, err);
}

/* The body's duration, from a core of its own: the devices' cores belong to their threads. */
static osc_status probe_body(osc_nrt_program *p, int64_t *ns, osc_err *err)
{
    osc_core_options options = {.size = sizeof options};
    osc_loaded *loaded;
    *ns = atomic_load(&p->body_ns);
    if (*ns >= 0)
        return OSC_OK;
    osc_core *core = osc_core_new(&p->rt->config.sheet, &options);
    if (core == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a core");
    osc_status status = osc_core_load(core, p->program, &loaded, err);
    if (status == OSC_OK) {
        *ns = osc_loaded_body_ns(loaded);
        atomic_store(&p->body_ns, *ns);
        osc_core_unload(loaded);
    }
    osc_core_free(core);
    return status;
}

osc_status osc_nrt_program_get_info(const osc_nrt_program *program, osc_nrt_program_info *out,
                                    osc_err *err)
{
    if (out == NULL || out->size != sizeof *out)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "osc_nrt_program_info.size must be sizeof(osc_nrt_program_info)");
    union {
        const osc_nrt_program *shared;
        osc_nrt_program *mine;
    } p = {.shared = program};
    int64_t body_ns;
    osc_status status = probe_body(p.mine, &body_ns, err);
    if (status != OSC_OK)
        return status;
    *out = (osc_nrt_program_info){.size = sizeof *out,
                                  .name = program->name,
                                  .cache_key = program->cache_key,
                                  .hash = program->hash,
                                  .body_ns = body_ns,
                                  .instructions = program->instructions,
                                  .slots = program->slots,
                                  .flops = program->flops,
                                  .from_disk_cache = program->from_disk_cache};
    return OSC_OK;
}

osc_status osc_nrt_launch(int32_t device, int64_t stream, osc_nrt_program *program,
                          void *const *addresses, uint32_t count, const osc_nrt_op *op,
                          osc_err *err)
{
    osc_rt_stream *s;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK)
        return status;
    if (count != program->slots)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "%s takes %u addresses, %u were given", program->name, program->slots,
                        count);
    status = osc_program_launch(s, program, addresses, count, true, op, err);
    return status == OSC_OK ? osc_rt_finish(s, err) : status;
}

void osc_nrt_get_cache_stats(osc_nrt_cache_stats *out)
{
    osc_rt *rt = osc_rt_peek();
    size_t size = out->size;
    memset(out, 0, sizeof *out);
    out->size = size;
    if (rt == NULL)
        return;
    osc_cache_counters *c = &rt->programs->counters;
    out->memory_hits = atomic_load(&c->memory_hits);
    out->memory_misses = atomic_load(&c->memory_misses);
    out->disk_hits = atomic_load(&c->disk_hits);
    out->disk_misses = atomic_load(&c->disk_misses);
    out->compilations = atomic_load(&c->compilations);
    out->compile_ns = atomic_load(&c->compile_ns);
    out->unsupported = atomic_load(&c->unsupported);
}

bool osc_nrt_has_op(const char *name)
{
    return osc_compiler_has_op(name);
}

const char *const *osc_nrt_op_names(size_t *count)
{
    return osc_compiler_ops(count);
}
