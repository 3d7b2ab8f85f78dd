/*
 * busy_names.c - what the names in a trace mean: collectives, calls that wait, calls that launch.
 *
 * The file says of an event its category and a name; whether a kernel is a collective or a call
 * blocks is only in the name. The vocabulary is data, gathered from the runtimes of CUDA, HIP, XPU
 * (Unified Runtime and Level Zero), MTIA, Ascend and Neuron. A name that is not here is ordinary
 * work; nothing else depends on it.
 */
#include "scope/analysis/busy_internal.h"

#include <stddef.h>
#include <string.h>

/* How the pattern must occur in the name, letter case ignored. */
enum match { HAS, STARTS, ENDS, IS };

static const struct {
    const char *pattern;
    uint8_t match;
    uint16_t bits;
} vocabulary[] = {
    /* collectives on the device: libraries, then kernels of inference engines */
    {"nccl", HAS, OSC_NAME_COMM},
    {"rccl", HAS, OSC_NAME_COMM},
    {"hccl", HAS, OSC_NAME_COMM},
    {"xccl", HAS, OSC_NAME_COMM},
    {"oneccl", HAS, OSC_NAME_COMM},
    {"nvshmem", HAS, OSC_NAME_COMM},
    {"allreduce", HAS, OSC_NAME_COMM},
    {"all_reduce", HAS, OSC_NAME_COMM},
    {"allgather", HAS, OSC_NAME_COMM},
    {"all_gather", HAS, OSC_NAME_COMM},
    {"reducescatter", HAS, OSC_NAME_COMM},
    {"reduce_scatter", HAS, OSC_NAME_COMM},
    {"alltoall", HAS, OSC_NAME_COMM},
    {"all_to_all", HAS, OSC_NAME_COMM},
    {"cross_device_reduce", HAS, OSC_NAME_COMM},
    /* collectives on the host (kineto-trace-format.md 1.7) */
    {"record_param_comms", IS, OSC_NAME_COMM_OP},
    {"nccl:", STARTS, OSC_NAME_COMM_OP},
    {"hccl:", STARTS, OSC_NAME_COMM_OP},
    {"xccl:", STARTS, OSC_NAME_COMM_OP},
    /* host calls that return when the device is done */
    {"synchronize", HAS, OSC_NAME_BLOCKING},
    {"cudaMemcpy", IS, OSC_NAME_BLOCKING | OSC_NAME_LAUNCH},
    {"hipMemcpy", IS, OSC_NAME_BLOCKING | OSC_NAME_LAUNCH},
    {"hipMemcpyWithStream", IS, OSC_NAME_BLOCKING | OSC_NAME_LAUNCH},
    {"urQueueFinish", IS, OSC_NAME_BLOCKING},
    {"urEventWait", IS, OSC_NAME_BLOCKING},
    {"piQueueFinish", IS, OSC_NAME_BLOCKING},
    {"piEventsWait", IS, OSC_NAME_BLOCKING},
    /* host calls that start work */
    {"LaunchKernel", HAS, OSC_NAME_LAUNCH | OSC_NAME_KERNELS},
    {"LaunchCooperativeKernel", HAS, OSC_NAME_LAUNCH | OSC_NAME_KERNELS},
    {"GraphLaunch", HAS, OSC_NAME_LAUNCH | OSC_NAME_KERNELS},
    {"MemcpyAsync", HAS, OSC_NAME_LAUNCH},
    {"MemsetAsync", HAS, OSC_NAME_LAUNCH},
    {"urEnqueueKernelLaunch", HAS, OSC_NAME_LAUNCH | OSC_NAME_KERNELS},
    {"urEnqueueUSM", HAS, OSC_NAME_LAUNCH},
    {"nrta_execute_schedule", IS, OSC_NAME_LAUNCH},
    {"nrta_tensor_", STARTS, OSC_NAME_LAUNCH},
    /* copies to the host */
    {"DtoH", HAS, OSC_NAME_TO_HOST},
    {"D2H", HAS, OSC_NAME_TO_HOST},
    {"M2H", HAS, OSC_NAME_TO_HOST},
    {"DeviceToHost", HAS, OSC_NAME_TO_HOST},
    {"device to host", HAS, OSC_NAME_TO_HOST},
    {"_to_cpu", HAS, OSC_NAME_TO_HOST},
    /* device rows of MTIA that wait or mark, and those that move data */
    {"event_wait", IS, OSC_NAME_WAIT},
    {"event_record", IS, OSC_NAME_WAIT},
    {"dma_request", IS, OSC_NAME_COPY},
    /* ranges and frames that wait for other than the device: "enumerate(DataLoader)#...",
     * "queue.py(154): get", "<built-in method acquire of _thread.lock object at 0x...>",
     * "threading.py(320): wait" */
    {"enumerate(DataLoader)", STARTS, OSC_NAME_HOST_WAIT},
    {"queue.py(", STARTS, OSC_NAME_HOST_WAIT},
    {"multiprocessing/queues.py(", STARTS, OSC_NAME_HOST_WAIT},
    {"multiprocessing/connection.py(", STARTS, OSC_NAME_HOST_WAIT},
    {"): wait", ENDS, OSC_NAME_HOST_WAIT},
    {"): acquire", ENDS, OSC_NAME_HOST_WAIT},
    {"): poll", ENDS, OSC_NAME_HOST_WAIT},
    {"): select", ENDS, OSC_NAME_HOST_WAIT},
    {"): sleep", ENDS, OSC_NAME_HOST_WAIT},
    {"<built-in method acquire of", STARTS, OSC_NAME_HOST_WAIT},
    {"<built-in method poll of", STARTS, OSC_NAME_HOST_WAIT},
    {"<built-in function sleep>", IS, OSC_NAME_HOST_WAIT},
    {"<built-in function select>", IS, OSC_NAME_HOST_WAIT},
    /* the profiler's and autograd's own ranges */
    {"ProfilerStep#", STARTS, OSC_NAME_STEP},
    {"autograd::engine::evaluate_function", STARTS, OSC_NAME_BACKWARD},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool same(const char *text, const char *pattern, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lower(text[i]) != lower(pattern[i]))
            return false;
    }
    return true;
}

static bool matches(osc_str name, const char *pattern, uint8_t how)
{
    size_t n = strlen(pattern);
    if (name.len < n || (how == IS && name.len != n))
        return false;
    size_t last = how == HAS || how == ENDS ? name.len - n : 0;
    for (size_t at = how == ENDS ? last : 0; at <= last; at++) {
        if (same(name.ptr + at, pattern, n))
            return true;
    }
    return false;
}

uint16_t osc_busy_name_bits(osc_str name)
{
    uint16_t bits = 0;
    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++) {
        if (matches(name, vocabulary[i].pattern, vocabulary[i].match))
            bits = (uint16_t)(bits | vocabulary[i].bits);
    }
    return bits;
}
