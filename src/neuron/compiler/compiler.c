/*
 * compiler.c - one compilation: verify, lower, order, seal.
 *
 * The tensor table has one entry per launch slot (an input and an output on one slot are one INOUT entry)
 * and one per intermediate that crosses kernels (scratch). An output on the slot of an input that later
 * nodes still read, or that lies there differently, is computed into scratch and copied at the end, so
 * that in-place operators see their operands as they were.
 */
#include "neuron/compiler/expand.h"

#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMPILE_BYTES_MAX ((size_t)8 << 30) /* ceiling of one compilation's memory */

osc_status osc_lower_refuse(osc_lower *lower, const char *why)
{
    char shapes[200];
    size_t at = 0;
    shapes[0] = 0;
    for (uint32_t a = 0; lower->node != NULL && a < lower->node->nargs && at < 120; a++) {
        if (lower->node->args[a].kind != OSC_ARG_TENSOR)
            continue;
        const osc_value_info *info = osc_graph_value(lower->graph, lower->node->args[a].tensor);
        at += (size_t)snprintf(shapes + at, sizeof shapes - at, " %s[",
                               osc_dtype_name((osc_dtype)info->dtype));
        for (uint32_t d = 0; d < info->rank && at < 180; d++)
            at += (size_t)snprintf(shapes + at, sizeof shapes - at, "%s%" PRId64, d ? "," : "",
                                   info->size[d]);
        if (at < sizeof shapes - 2)
            at += (size_t)snprintf(shapes + at, sizeof shapes - at, "]");
    }
    osc_str name = lower->node != NULL ? lower->node->name : OSC_STR("?");
    return osc_kernel_fail(&lower->kernel, OSC_EUNSUPPORTED,
                           "%.*s(%s) cannot run on the device: %s", OSC_STR_FMT(name), shapes, why);
}

/* ---- the tensor table ---- */

static uint64_t span_bytes(const osc_value_info *info)
{
    int64_t last = 0;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->size[d] == 0)
            return 0;
        last += (info->size[d] - 1) * info->stride[d];
    }
    return ((uint64_t)last + 1) * osc_dtype_size((osc_dtype)info->dtype);
}

/* All values on one slot: which way it is used, and the furthest byte. */
static void describe_slot(const osc_lower *lower, uint32_t slot, osc_tensor *tensor)
{
    bool in = false, out = false;
    for (osc_value v = osc_graph_value_count(lower->graph); v-- > 0;) {
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        if (info->slot != slot)
            continue;
        in = in || info->is_input;
        out = out || info->is_output;
        uint64_t span = span_bytes(info);
        if (span > tensor->span_bytes)
            tensor->span_bytes = span;
        tensor->dtype = info->dtype;
        tensor->rank = info->rank;
        memcpy(tensor->size, info->size, sizeof tensor->size);
        memcpy(tensor->stride, info->stride, sizeof tensor->stride);
    }
    tensor->kind = in && out ? OSC_TENSOR_INOUT : out ? OSC_TENSOR_OUTPUT : OSC_TENSOR_INPUT;
}

static osc_status add_slots(osc_lower *lower)
{
    uint32_t inputs = 0, outputs = 0;
    for (uint32_t slot = 0; slot < lower->slot_count; slot++) {
        char name[32];
        osc_tensor tensor = {.slot = slot};
        describe_slot(lower, slot, &tensor);
        if (tensor.kind == OSC_TENSOR_INPUT)
            snprintf(name, sizeof name, "input%" PRIu32, inputs++);
        else
            snprintf(name, sizeof name, "output%" PRIu32, outputs++);
        if (tensor.dtype == OSC_DTYPE_NONE)
            return osc_kernel_fail(&lower->kernel, OSC_EINVAL,
                                   "no tensor of the graph has launch slot %" PRIu32, slot);
        tensor.name = osc_str_from_cstr(name);
        lower->tensor_of_slot[slot] = osc_program_add_tensor(lower->kernel.program, &tensor);
        if (lower->tensor_of_slot[slot] == UINT32_MAX)
            return osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory for the tensor table");
    }
    return OSC_OK;
}

static uint32_t add_scratch(osc_lower *lower, osc_value value)
{
    char name[32];
    const osc_value_info *info = osc_graph_value(lower->graph, value);
    snprintf(name, sizeof name, "scratch%" PRIu32, value);
    osc_tensor tensor = {.name = osc_str_from_cstr(name),
                         .kind = OSC_TENSOR_SCRATCH,
                         .dtype = info->dtype,
                         .rank = info->rank,
                         .slot = UINT32_MAX,
                         .span_bytes = span_bytes(info)};
    memcpy(tensor.size, info->size, sizeof tensor.size);
    memcpy(tensor.stride, info->stride, sizeof tensor.stride);
    uint32_t index = osc_program_add_tensor(lower->kernel.program, &tensor);
    if (index == UINT32_MAX)
        osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory for the tensor table");
    return index;
}

uint32_t osc_lower_tensor(osc_lower *lower, osc_value value)
{
    osc_place *place = &lower->place[value];
    if (place->tensor != UINT32_MAX)
        return place->tensor;
    const osc_value_info *info = osc_graph_value(lower->graph, value);
    place->tensor =
        info->slot != OSC_NO_SLOT ? lower->tensor_of_slot[info->slot] : add_scratch(lower, value);
    if (place->tensor > UINT16_MAX)
        osc_kernel_fail(&lower->kernel, OSC_EUNSUPPORTED, "the graph has more than 65536 tensors");
    return place->tensor;
}

bool osc_lower_is_computed(const osc_lower *lower, osc_value value)
{
    return osc_graph_value(lower->graph, value)->is_input || lower->computed[value];
}

uint32_t osc_lower_scratch(osc_lower *lower, osc_dtype dtype, uint64_t elems)
{
    char name[32];
    snprintf(name, sizeof name, "layout%" PRIu32, lower->layouts++);
    osc_tensor tensor = {.name = osc_str_from_cstr(name),
                         .kind = OSC_TENSOR_SCRATCH,
                         .dtype = (uint8_t)dtype,
                         .rank = 1,
                         .slot = UINT32_MAX,
                         .size = {(int64_t)elems},
                         .stride = {1},
                         .span_bytes = elems * osc_dtype_size(dtype)};
    uint32_t index = osc_program_add_tensor(lower->kernel.program, &tensor);
    if (index == UINT32_MAX)
        osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory for the tensor table");
    if (index > UINT16_MAX)
        osc_kernel_fail(&lower->kernel, OSC_EUNSUPPORTED, "the graph has more than 65536 tensors");
    return index;
}

/* ---- verify ---- */

static osc_status verify_values(osc_lower *lower)
{
    for (osc_value v = 0; v < osc_graph_value_count(lower->graph); v++) {
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        int64_t bytes = (int64_t)osc_dtype_size((osc_dtype)info->dtype);
        bool ok =
            bytes != 0 && ((!info->is_input && !info->is_output) || info->slot != OSC_NO_SLOT);
        for (uint32_t d = 0; ok && d < info->rank; d++) {
            int64_t reach;
            ok = osc_mul_i64(info->size[d], info->stride[d], &reach) &&
                 osc_mul_i64(reach, bytes, &reach) && reach < INT64_MAX / 16;
        }
        int64_t elems = 1;
        for (uint32_t d = 0; ok && d < info->rank; d++)
            ok = osc_mul_i64(elems, info->size[d] == 0 ? 1 : info->size[d], &elems);
        if (!ok)
            return osc_kernel_fail(&lower->kernel, OSC_EINVAL,
                                   "tensor %" PRIu32 " of the graph has no dtype, no launch slot "
                                   "though it is an input or output, or a size beyond 2^59 bytes",
                                   v);
        if (info->slot != OSC_NO_SLOT && info->slot >= lower->slot_count)
            lower->slot_count = info->slot + 1;
    }
    if (lower->slot_count > osc_graph_value_count(lower->graph))
        return osc_kernel_fail(&lower->kernel, OSC_EINVAL,
                               "the graph's launch slots are not numbered from 0 without gaps");
    return OSC_OK;
}

static void note_use(osc_lower *lower, osc_value value, uint32_t node)
{
    lower->last_use[value] = node;
}

static void find_last_uses(osc_lower *lower)
{
    for (uint32_t n = 0; n < osc_graph_node_count(lower->graph); n++) {
        const osc_node *node = osc_graph_node(lower->graph, n);
        for (uint32_t a = 0; a < node->nargs; a++) {
            const osc_arg *arg = &node->args[a];
            if (arg->kind == OSC_ARG_TENSOR)
                note_use(lower, arg->tensor, n);
            for (uint32_t i = 0; arg->kind == OSC_ARG_TENSORS && i < arg->count; i++)
                note_use(lower, (osc_value)arg->ints[i], n);
        }
    }
}

static bool same_geometry(const osc_value_info *a, const osc_value_info *b)
{
    if (a->rank != b->rank || a->dtype != b->dtype)
        return false;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->size[d] != b->size[d] || (a->size[d] != 1 && a->stride[d] != b->stride[d]))
            return false;
    }
    return true;
}

/*
 * An output that shares its slot with an input may be written directly only when one elementwise node
 * does everything: each element is then read before it is written, in the same tile.
 */
static bool may_write_in_place(const osc_lower *lower, osc_value output)
{
    const osc_value_info *out = osc_graph_value(lower->graph, output);
    for (osc_value v = 0; v < osc_graph_value_count(lower->graph); v++) {
        const osc_value_info *in = osc_graph_value(lower->graph, v);
        if (v == output || in->slot != out->slot)
            continue;
        const osc_op_row *row = osc_op_find(osc_graph_node(lower->graph, 0)->name);
        bool alone = osc_graph_node_count(lower->graph) == 1 && row != NULL &&
                     row->kind == OSC_ROW_ELEMENTWISE;
        if (!alone || in->is_output || !same_geometry(in, out))
            return false;
    }
    return true;
}

static osc_status find_deferred(osc_lower *lower)
{
    uint32_t count = osc_graph_value_count(lower->graph);
    for (osc_value v = 0; v < count && osc_graph_node_count(lower->graph) > 0; v++) {
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        if (!info->is_output || info->is_input || may_write_in_place(lower, v))
            continue;
        lower->deferred[lower->deferred_count++] = v;
        lower->place[v].tensor = add_scratch(lower, v);
    }
    return lower->kernel.status;
}

/* Every output of the graph must be some node's result: its memory would stay as it was. */
static osc_status verify_outputs(osc_lower *lower)
{
    for (osc_value v = 0; v < osc_graph_value_count(lower->graph); v++) {
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        if (info->is_output && !info->is_input && !lower->computed[v])
            return osc_kernel_fail(&lower->kernel, OSC_EINVAL,
                                   "output in launch slot %" PRIu32 " is computed by no operator",
                                   info->slot);
    }
    return OSC_OK;
}

/* Copies the deferred outputs from their scratch to their slots. */
static void finish_deferred(osc_lower *lower)
{
    for (uint32_t i = 0; i < lower->deferred_count && lower->kernel.status == OSC_OK; i++) {
        osc_value v = lower->deferred[i];
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        osc_strided from = {.at = lower->place[v], .stride = info->stride};
        osc_strided to = {.at = {.tensor = lower->tensor_of_slot[info->slot]},
                          .stride = info->stride};
        lower->kernel.source = lower->source;
        osc_kernel_begin(&lower->kernel);
        osc_lower_move(lower, (osc_dtype)info->dtype, info->rank, info->size, &to, &from);
    }
}

/* ---- driver ---- */

static osc_status lower_init(osc_lower *lower, osc_err *err)
{
    uint32_t values = osc_graph_value_count(lower->graph);
    lower->place = OSC_ARENA_ARRAY(lower->arena, osc_place, values + 1);
    lower->last_use = OSC_ARENA_ARRAY(lower->arena, uint32_t, values + 1);
    lower->ref_of = OSC_ARENA_ARRAY(lower->arena, uint32_t, values + 1);
    lower->squeezed = OSC_ARENA_ARRAY(lower->arena, bool, values + 1);
    lower->computed = OSC_ARENA_ARRAY(lower->arena, bool, values + 1);
    lower->deferred = OSC_ARENA_ARRAY(lower->arena, uint32_t, values + 1);
    lower->tensor_of_slot = OSC_ARENA_ARRAY(lower->arena, uint32_t, values + 1);
    if (lower->place == NULL || lower->last_use == NULL || lower->ref_of == NULL ||
        lower->squeezed == NULL || lower->computed == NULL || lower->deferred == NULL ||
        lower->tensor_of_slot == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory for the compiler");
    for (uint32_t v = 0; v < values; v++) {
        lower->place[v].tensor = UINT32_MAX;
        lower->last_use[v] = lower->ref_of[v] = UINT32_MAX;
    }
    return OSC_OK;
}

static osc_status compile(osc_lower *lower, osc_err *err)
{
    osc_status status = lower_init(lower, err);
    if (status == OSC_OK)
        status = verify_values(lower);
    if (status != OSC_OK)
        return status;
    find_last_uses(lower);
    status = add_slots(lower);
    if (status == OSC_OK)
        status = find_deferred(lower);
    if (status == OSC_OK)
        status = osc_lower_graph(lower);
    if (status == OSC_OK)
        status = verify_outputs(lower);
    if (status != OSC_OK)
        return status;
    finish_deferred(lower);
    if (lower->kernel.status == OSC_OK)
        lower->kernel.status = osc_sync_finish(lower->kernel.sync, err);
    if (lower->kernel.status != OSC_OK)
        return lower->kernel.status;
    osc_program_set_flops(lower->kernel.program, lower->flops);
    return osc_program_seal(lower->kernel.program, err);
}

static osc_status compile_once(const osc_graph *graph, osc_generation generation, bool fuse,
                               osc_program **out, osc_err *err)
{
    osc_lower lower = {.graph = graph, .fuse = fuse, .arena = osc_arena_new(COMPILE_BYTES_MAX)};
    char name[256];
    osc_str_to_array(osc_graph_name(graph), name, sizeof name);
    osc_program *program = osc_program_new(name, generation);
    osc_status status;
    if (lower.arena == NULL || program == NULL)
        status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory for the compiler");
    else
        status = osc_kernel_init(&lower.kernel, program, osc_sheet_default(generation), lower.arena,
                                 err);
    if (status == OSC_OK)
        status = compile(&lower, err);
    osc_arena_free(lower.arena);
    if (status != OSC_OK) {
        osc_program_release(program);
        program = NULL;
    }
    *out = program;
    return status;
}

osc_status osc_compile(const osc_graph *graph, const osc_compile_options *options,
                       osc_program **out, osc_err *err)
{
    osc_err local = {0};
    osc_err *reason = err != NULL ? err : &local;
    *out = NULL;
    assert(options->size == sizeof *options);
    osc_status status = osc_graph_status(graph, reason);
    if (status != OSC_OK)
        return status;
    status = compile_once(graph, options->generation, options->fuse, out, reason);
    if (status == OSC_EUNSUPPORTED && options->fuse && osc_graph_node_count(graph) > 1) {
        /* a fused kernel may need more SBUF than there is; node by node each is smaller */
        status = compile_once(graph, options->generation, false, out, reason);
        if (status == OSC_OK)
            *reason = (osc_err){0};
    }
    return status;
}
