/*
 * kinds.c - names of the store's enumerations, and the category vocabulary of Chrome traces.
 *
 * The vocabulary is data: one row per category that any PyTorch since 1.8 wrote. Names that are not
 * here become OSC_KIND_OTHER; such slices stay in the store and in the table of operators.
 */
#include "scope/store/kinds.h"

#include <stddef.h>

static const struct {
    const char *category;
    osc_slice_kind kind;
    uint8_t flags;
} categories[] = {
    {"cpu_op", OSC_KIND_CPU_OP, 0},
    {"user_annotation", OSC_KIND_USER_ANNOTATION, 0},
    {"python_function", OSC_KIND_PYTHON, 0},
    {"kernel", OSC_KIND_KERNEL, 0},
    {"gpu_memcpy", OSC_KIND_MEMCPY, 0},
    {"gpu_memset", OSC_KIND_MEMSET, 0},
    {"cuda_runtime", OSC_KIND_RUNTIME, 0},
    {"cuda_driver", OSC_KIND_RUNTIME, 0},
    {"privateuse1_runtime", OSC_KIND_RUNTIME, OSC_SLICE_PRIVATEUSE1},
    {"privateuse1_driver", OSC_KIND_RUNTIME, OSC_SLICE_PRIVATEUSE1 | OSC_SLICE_STREAM},
    {"xpu_runtime", OSC_KIND_RUNTIME, OSC_SLICE_XPU},
    {"xpu_driver", OSC_KIND_RUNTIME, OSC_SLICE_XPU},
    {"mtia_runtime", OSC_KIND_RUNTIME, 0},
    {"glow_runtime", OSC_KIND_RUNTIME, 0},
    {"gpu_user_annotation", OSC_KIND_GPU_ANNOTATION, 0},
    {"cuda_sync", OSC_KIND_SYNC, 0},
    {"cuda_event", OSC_KIND_SYNC, 0},
    {"cuda_profiler_range", OSC_KIND_SYNC, 0},
    {"xpu_sync", OSC_KIND_SYNC, 0},
    {"mtia_ccp_events", OSC_KIND_MTIA, 0},
    {"mtia_insight", OSC_KIND_MTIA, 0},
    {"mtia_counters", OSC_KIND_MTIA, 0},
    {"hpu_op", OSC_KIND_HPU, 0},
    {"overhead", OSC_KIND_OVERHEAD, 0},
    {"Trace", OSC_KIND_SPAN, 0},
    /* names of 1.8 and earlier */
    {"Operator", OSC_KIND_CPU_OP, 0},
    {"Runtime", OSC_KIND_RUNTIME, 0},
    {"Kernel", OSC_KIND_KERNEL, 0},
    {"Memcpy", OSC_KIND_MEMCPY, 0},
    {"Memset", OSC_KIND_MEMSET, 0},
    {"python_func", OSC_KIND_PYTHON, 0},
};

osc_slice_kind osc_slice_kind_of(osc_str category, uint8_t *flags)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (osc_str_eq_cstr(category, categories[i].category)) {
            *flags |= categories[i].flags;
            return categories[i].kind;
        }
    }
    return OSC_KIND_OTHER;
}

bool osc_slice_kind_is_device_work(osc_slice_kind kind)
{
    return kind == OSC_KIND_KERNEL || kind == OSC_KIND_MEMCPY || kind == OSC_KIND_MEMSET;
}

const char *osc_slice_kind_name(osc_slice_kind kind)
{
    static const char *const names[OSC_KIND_COUNT] = {
        "other",
        "cpu_op",
        "user_annotation",
        "python_function",
        "runtime",
        "kernel",
        "memcpy",
        "memset",
        "gpu_user_annotation",
        "sync",
        "mtia",
        "hpu",
        "overhead",
        "span",
        "lane",
        "nrt",
        "hw",
        "inst",
        "dma",
    };
    return (unsigned)kind < OSC_KIND_COUNT ? names[kind] : "?";
}

const char *osc_link_rule_name(osc_link_rule rule)
{
    static const char *const names[] = {"?",           "external id",     "correlation",
                                        "containment", "nrt_sequence_id", "exec id"};
    return (unsigned)rule < 6 ? names[rule] : "?";
}
