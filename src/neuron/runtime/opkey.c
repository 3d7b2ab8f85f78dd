/*
 * opkey.c - the key of an eager call, made in one pass over its arguments, and the graph behind it.
 *
 * Layout in 64-bit words: name address; counts; per tensor one word (dtype, rank, first tensor it
 * equals) then sizes and strides; per argument one word (kind, count) then its values; one word per
 * result.
 *
 * Tensors that are the same memory with the same layout are one value: x * x loads x once, and an
 * in-place operator has a result that shares its operand's slot. Strides are taken as 0 where the
 * size is 1, since no address depends on them; the graph gets the contiguous ones. Nothing else is
 * rewritten: sizes mean something to most operators, so dimensions are not merged here.
 */
#include "neuron/runtime/opkey.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define MAX_WORDS (1u << 20)

/* ---- key ---- */

static bool grow(osc_opkey *key, uint32_t more)
{
    if (more > MAX_WORDS - key->count)
        return false;
    uint32_t cap = key->cap;
    while (cap < key->count + more)
        cap *= 2;
    bool owned = key->words != key->inlined;
    uint64_t *words = osc_realloc_array(owned ? key->words : NULL, cap, sizeof *words);
    if (words == NULL)
        return false;
    if (!owned)
        memcpy(words, key->inlined, key->count * sizeof *words);
    key->words = words;
    key->cap = cap;
    return true;
}

static inline bool room(osc_opkey *key, uint32_t more)
{
    return more <= key->cap - key->count || grow(key, more);
}

static inline void put(osc_opkey *key, uint64_t word)
{
    key->words[key->count++] = word;
}

static bool same_layout(const osc_nrt_tensor *a, const osc_nrt_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->size[d] != b->size[d] || (a->size[d] != 1 && a->stride[d] != b->stride[d]))
            return false;
    return true;
}

/* The first tensor that is the same as tensor i: itself, if none is. */
static uint32_t representative(const osc_nrt_call *call, uint32_t i)
{
    const osc_nrt_tensor *t = &call->tensors[i];
    if (t->address == NULL)
        return i;
    for (uint32_t j = 0; j < i; j++)
        if (call->tensors[j].address == t->address && same_layout(&call->tensors[j], t))
            return j;
    return i;
}

static osc_status key_tensor(const osc_nrt_call *call, uint32_t i, osc_opkey *key, osc_err *err)
{
    const osc_nrt_tensor *t = &call->tensors[i];
    if (t->rank > OSC_MAX_RANK)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "%s: tensor %u has %u dimensions, at most %d are supported", call->name, i,
                        t->rank, OSC_MAX_RANK);
    if (!room(key, 1 + 2 * OSC_MAX_RANK))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "%s: too many tensors", call->name);
    put(key, t->dtype | (uint64_t)t->rank << 16 | (uint64_t)representative(call, i) << 32);
    for (uint32_t d = 0; d < t->rank; d++) {
        put(key, (uint64_t)t->size[d]);
        put(key, t->size[d] == 1 ? 0 : (uint64_t)t->stride[d]);
    }
    return OSC_OK;
}

static osc_status bad_index(const osc_nrt_call *call, const char *what, uint32_t i, osc_err *err)
{
    return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                    "%s: %s %u names a tensor beyond the %u given", call->name, what, i,
                    call->ntensors);
}

static osc_status key_list(const osc_nrt_call *call, uint32_t i, osc_opkey *key, osc_err *err)
{
    const osc_arg *a = &call->args[i];
    if (!room(key, a->count))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "%s: argument %u has %u items",
                        call->name, i, a->count);
    for (uint32_t k = 0; k < a->count; k++) {
        if (a->kind == OSC_ARG_TENSORS && (uint64_t)a->ints[k] >= call->ntensors)
            return bad_index(call, "argument", i, err);
        put(key, (uint64_t)a->ints[k]);
    }
    return OSC_OK;
}

static osc_status key_arg(const osc_nrt_call *call, uint32_t i, osc_opkey *key, osc_err *err)
{
    const osc_arg *a = &call->args[i];
    bool list = a->kind == OSC_ARG_INTS || a->kind == OSC_ARG_TENSORS;
    uint64_t bits = 0;
    if (!room(key, 2))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "%s: too many arguments", call->name);
    put(key, a->kind | (uint64_t)(list ? a->count : 0) << 32);
    if (list)
        return key_list(call, i, key, err);
    if (a->kind == OSC_ARG_TENSOR) {
        if (a->tensor >= call->ntensors)
            return bad_index(call, "argument", i, err);
        bits = a->tensor;
    } else if (a->kind == OSC_ARG_INT) {
        bits = (uint64_t)a->i;
    } else if (a->kind == OSC_ARG_FLOAT) {
        memcpy(&bits, &a->f, sizeof bits);
    }
    put(key, bits);
    return OSC_OK;
}

static osc_status key_outs(const osc_nrt_call *call, osc_opkey *key, osc_err *err)
{
    if (!room(key, call->nouts))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "%s: too many results", call->name);
    for (uint32_t i = 0; i < call->nouts; i++) {
        if (call->outs[i] != OSC_NO_VALUE && call->outs[i] >= call->ntensors)
            return bad_index(call, "result", i, err);
        put(key, call->outs[i]);
    }
    return OSC_OK;
}

osc_status osc_opkey_make(const osc_nrt_call *call, osc_opkey *key, osc_err *err)
{
    key->words = key->inlined;
    key->cap = OSC_OPKEY_INLINE;
    key->count = 0;
    if (call->size != sizeof *call || call->name == NULL)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "osc_nrt_call needs size = sizeof(osc_nrt_call) and a name");
    put(key, (uint64_t)(uintptr_t)call->name);
    put(key, call->ntensors | (uint64_t)call->nargs << 32);
    osc_status status = OSC_OK;
    for (uint32_t i = 0; i < call->ntensors && status == OSC_OK; i++)
        status = key_tensor(call, i, key, err);
    for (uint32_t i = 0; i < call->nargs && status == OSC_OK; i++)
        status = key_arg(call, i, key, err);
    if (status == OSC_OK)
        status = key_outs(call, key, err);
    if (status == OSC_OK)
        key->hash = osc_hash64(key->words, key->count * sizeof *key->words, 0);
    return status;
}

void osc_opkey_free(osc_opkey *key)
{
    if (key->words != key->inlined)
        osc_free(key->words);
    key->words = NULL;
}

/* ---- graph ---- */

/* Per tensor of the call, all indexed like call->tensors. */
typedef struct values {
    bool *read, *written;      /* of the representative */
    osc_value *input, *output; /* values of the representative */
} values;

static bool values_new(values *v, uint32_t n)
{
    v->read = osc_calloc(n + 1, sizeof *v->read);
    v->written = osc_calloc(n + 1, sizeof *v->written);
    v->input = osc_calloc(n + 1, sizeof *v->input);
    v->output = osc_calloc(n + 1, sizeof *v->output);
    return v->read != NULL && v->written != NULL && v->input != NULL && v->output != NULL;
}

static void values_free(values *v)
{
    osc_free(v->read);
    osc_free(v->written);
    osc_free(v->input);
    osc_free(v->output);
}

static void mark_uses(const osc_nrt_call *call, values *v)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        const osc_arg *a = &call->args[i];
        if (a->kind == OSC_ARG_TENSOR)
            v->read[representative(call, a->tensor)] = true;
        for (uint32_t k = 0; a->kind == OSC_ARG_TENSORS && k < a->count; k++)
            v->read[representative(call, (uint32_t)a->ints[k])] = true;
    }
    for (uint32_t i = 0; i < call->nouts; i++)
        if (call->outs[i] != OSC_NO_VALUE)
            v->written[representative(call, call->outs[i])] = true;
}

/* Adds tensor t's value; dimensions of size 1 get the stride a contiguous tensor would have. */
static osc_value add_value(osc_graph *graph, const osc_nrt_tensor *t, bool input, uint32_t slot)
{
    int64_t stride[OSC_MAX_RANK], next = 1;
    for (uint32_t d = t->rank; d-- > 0;) {
        stride[d] = t->size[d] == 1 ? next : t->stride[d];
        next = stride[d] * (t->size[d] > 0 ? t->size[d] : 1);
    }
    return osc_graph_tensor(graph, (osc_dtype)t->dtype, t->rank, t->size, stride, input, !input,
                            slot);
}

/* Inputs first, then results, each in the order of the call's tensors. */
static void add_values(const osc_nrt_call *call, osc_graph *graph, values *v, osc_opslots *slots)
{
    for (uint32_t i = 0; i < call->ntensors; i++) {
        if (!v->read[i] && !v->written[i])
            continue;
        uint32_t slot = slots->count++;
        slots->tensor[slot] = i;
        if (v->read[i])
            v->input[i] = add_value(graph, &call->tensors[i], true, slot);
        if (v->written[i])
            v->output[i] = add_value(graph, &call->tensors[i], false, slot);
    }
}

/* Rewrites tensor indices to values. lists: owned copies of tensor lists, freed by the caller. */
static bool map_args(const osc_nrt_call *call, const values *v, osc_arg *args, int64_t **lists)
{
    for (uint32_t i = 0; i < call->nargs; i++) {
        const osc_arg *a = &call->args[i];
        args[i] = *a;
        if (a->kind == OSC_ARG_TENSOR)
            args[i].tensor = v->input[representative(call, a->tensor)];
        if (a->kind != OSC_ARG_TENSORS)
            continue;
        lists[i] = osc_calloc(a->count + 1, sizeof *lists[i]);
        if (lists[i] == NULL)
            return false;
        for (uint32_t k = 0; k < a->count; k++)
            lists[i][k] = v->input[representative(call, (uint32_t)a->ints[k])];
        args[i].ints = lists[i];
    }
    return true;
}

static bool add_op(const osc_nrt_call *call, osc_graph *graph, const values *v)
{
    osc_arg *args = osc_calloc(call->nargs + 1, sizeof *args);
    int64_t **lists = osc_calloc(call->nargs + 1, sizeof *lists);
    osc_value *outs = osc_calloc(call->nouts + 1, sizeof *outs);
    bool ok = args != NULL && lists != NULL && outs != NULL && map_args(call, v, args, lists);
    if (ok) {
        for (uint32_t i = 0; i < call->nouts; i++)
            outs[i] = call->outs[i] == OSC_NO_VALUE
                          ? OSC_NO_VALUE
                          : v->output[representative(call, call->outs[i])];
        (void)osc_graph_op(graph, call->name, args, call->nargs, outs, call->nouts);
    }
    for (uint32_t i = 0; lists != NULL && i < call->nargs; i++)
        osc_free(lists[i]);
    osc_free(outs);
    osc_free(lists);
    osc_free(args);
    return ok;
}

/* "aten::mul.Tensor" -> "aten::mul": what the program is called in traces. */
static osc_graph *new_graph(const char *name)
{
    char base[128];
    osc_str whole = osc_str_from_cstr(name);
    size_t dot = osc_str_find_char(whole, '.', 0);
    return osc_graph_new(osc_str_to_array(osc_str_sub(whole, 0, dot), base, sizeof base));
}

osc_status osc_opkey_graph(const osc_nrt_call *call, osc_graph **graph, osc_opslots *slots,
                           osc_err *err)
{
    values v;
    *graph = new_graph(call->name);
    slots->count = 0;
    slots->tensor = osc_calloc(call->ntensors + 1, sizeof *slots->tensor);
    bool ok = values_new(&v, call->ntensors) && *graph != NULL && slots->tensor != NULL;
    if (ok) {
        mark_uses(call, &v);
        add_values(call, *graph, &v, slots);
        ok = add_op(call, *graph, &v);
    }
    values_free(&v);
    if (ok)
        return OSC_OK;
    osc_graph_free(*graph);
    osc_free(slots->tensor);
    *graph = NULL;
    slots->tensor = NULL;
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for the graph of %s",
                    call->name);
}
