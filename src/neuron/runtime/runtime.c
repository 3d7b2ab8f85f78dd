/*
 * runtime.c - start, end, and fork of the process's one runtime.
 *
 * A machine has one set of devices, and frameworks expect the vendor's runtime to be process-wide;
 * so the C interface has no context argument, and the state below is the one global this room
 * allows itself. It is never freed: frees of tensors come in any order at exit, also after
 * shutdown, and must find their allocator.
 *
 * Fork: the child has our memory but none of our threads, and locks in unknown states. It is marked
 * by pthread_atfork and refused before any lock is touched (pytorch-adapter.md 9,
 * torchneuron-face.md 1.6).
 */
#include "neuron/runtime/capture.h"
#include "neuron/runtime/program.h"
#include "neuron/runtime/rt.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { STATE_NEVER = 0, STATE_RUNNING = 1, STATE_SHUT = 2 };

static struct {
    osc_mutex lock; /* start and shutdown */
    _Atomic(osc_rt *) rt;
    _Atomic int state;
    _Atomic int forked; /* this process is a child of one that had started the runtime */
    bool watching_fork; /* lock */
} process = {.lock = OSC_MUTEX_INIT};

static void mark_child(void)
{
    if (atomic_load(&process.state) != STATE_NEVER)
        atomic_store(&process.forked, 1);
}

static osc_status refuse_fork(osc_err *err)
{
    return osc_fail(err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
                    "Cannot re-initialize Neuron runtime in forked subprocess. To use Neuron with "
                    "multiprocessing, use the 'spawn' start method");
}

static osc_status refuse_shut(osc_err *err)
{
    return osc_fail(err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
                    "the Neuron runtime of this process was shut down; it cannot be started again");
}

/* Needs process.lock. */
static osc_status start(osc_err *err)
{
    osc_rt *rt = osc_calloc(1, sizeof *rt);
    if (rt == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for the runtime");
    osc_mutex_init(&rt->lock);
    osc_status status = osc_rt_discover(&rt->config, err);
    if (status == OSC_OK)
        status = osc_programs_new(&rt->programs, err);
    if (status == OSC_OK && !process.watching_fork) {
        process.watching_fork = pthread_atfork(NULL, NULL, mark_child) == 0;
        if (!process.watching_fork)
            status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "pthread_atfork refused");
    }
    if (status != OSC_OK) {
        osc_programs_free(rt->programs);
        osc_mutex_destroy(&rt->lock);
        osc_free(rt);
        return status;
    }
    atomic_store(&process.rt, rt);
    atomic_store(&process.state, STATE_RUNNING);
    return OSC_OK;
}

osc_status osc_rt_get(osc_rt **out, osc_err *err)
{
    *out = NULL;
    if (atomic_load_explicit(&process.forked, memory_order_relaxed) != 0)
        return refuse_fork(err);
    int state = atomic_load_explicit(&process.state, memory_order_acquire);
    if (state == STATE_NEVER) {
        osc_mutex_lock(&process.lock);
        osc_status status = OSC_OK;
        if (atomic_load(&process.state) == STATE_NEVER)
            status = start(err);
        osc_mutex_unlock(&process.lock);
        if (status != OSC_OK)
            return status;
        state = atomic_load(&process.state);
    }
    if (state == STATE_SHUT)
        return refuse_shut(err);
    *out = atomic_load_explicit(&process.rt, memory_order_relaxed);
    assert(*out != NULL);
    return OSC_OK;
}

osc_rt *osc_rt_peek(void)
{
    if (atomic_load_explicit(&process.forked, memory_order_relaxed) != 0)
        return NULL;
    return atomic_load_explicit(&process.rt, memory_order_acquire);
}

/* ---- public ---- */

uint32_t osc_neuron_abi(void)
{
    return OSC_NEURON_ABI;
}

osc_status osc_nrt_init(osc_err *err)
{
    osc_rt *rt;
    return osc_rt_get(&rt, err);
}

bool osc_nrt_is_initialized(void)
{
    return atomic_load(&process.forked) == 0 && atomic_load(&process.state) == STATE_RUNNING;
}

bool osc_nrt_in_bad_fork(void)
{
    return atomic_load(&process.forked) != 0;
}

osc_status osc_nrt_get_info(osc_nrt_info *info, osc_err *err)
{
    osc_rt *rt = atomic_load(&process.rt); /* readable in a forked child, too: it never changes */
    osc_rt_config fresh;
    const osc_rt_config *config = rt != NULL ? &rt->config : &fresh;
    if (info == NULL || info->size != sizeof *info)
        return osc_fail(
            err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
            "osc_nrt_info.size must be sizeof(osc_nrt_info): caller and library disagree");
    if (rt == NULL) {
        osc_status status = osc_rt_discover(&fresh, err);
        if (status != OSC_OK)
            return status;
    }
    memcpy(info->instance_type, config->instance_type, sizeof info->instance_type);
    memcpy(info->instance_id, config->instance_id, sizeof info->instance_id);
    info->device_count = config->device_count;
    info->hbm_bytes = config->hbm_bytes;
    info->is_virtual = true;
    return OSC_OK;
}

void osc_nrt_shutdown(void)
{
    if (atomic_load(&process.forked) != 0)
        return;
    osc_mutex_lock(&process.lock);
    osc_rt *rt = atomic_load(&process.rt);
    bool running = atomic_exchange(&process.state, STATE_SHUT) == STATE_RUNNING;
    if (running) {
        osc_capture_finish_active(rt);
        for (uint32_t i = 0; i < rt->config.device_count; i++) {
            osc_rt_device *device = osc_rt_device_peek(rt, i);
            if (device != NULL)
                osc_rt_device_stop(device);
        }
    }
    osc_mutex_unlock(&process.lock);
}
