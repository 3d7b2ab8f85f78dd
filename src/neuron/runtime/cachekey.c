/*
 * cachekey.c - names of compiled programs.
 *
 * The text form follows the published one: base name, "--", per input "[sizes]:Type:S(strides)"
 * with C for contiguous, static arguments, ":" and the digest in hex (torchneuron-face.md 2.3). It
 * is shown in traces and depends on the graph alone.
 *
 * The disk key has the identity of the code in it: the linker's build id of the object this
 * function is in. A cache directory outlives builds, and a program of last week's compiler under
 * today's key would be a bug nobody can see. Rejected: a version number by hand, which is forgotten
 * exactly when it matters.
 */
#include "neuron/runtime/cachekey.h"

#include "base/buf.h"
#include "base/mem.h"
#include "neuron/compiler/graph.h"

#include <inttypes.h>
#include <link.h>
#include <string.h>

#define MAX_TEXT     (64u << 20)
#define SHOWN_INPUTS 8u
#define SHOWN_ARGS   16u

/* ---- identity of the code ---- */

typedef struct code_id {
    const unsigned char *bytes;
    size_t len;
} code_id;

/* The build id among the notes at p, which the loader mapped. */
static bool find_note(const unsigned char *p, size_t len, code_id *id)
{
    while (len >= 12) {
        uint32_t head[3]; /* name size, descriptor size, type */
        memcpy(head, p, sizeof head);
        size_t name = (head[0] + 3u) & ~3u, desc = (head[1] + 3u) & ~3u;
        if (name > len - 12 || desc > len - 12 - name)
            return false;
        if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && memcmp(p + 12, "GNU", 4) == 0) {
            id->bytes = p + 12 + name;
            id->len = head[1];
            return true;
        }
        p += 12 + name + desc;
        len -= 12 + name + desc;
    }
    return false;
}

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && address >= start && address - start < h->p_memsz)
            return true;
    }
    return false;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char anchor = 0; /* a byte of the object we are in */
    (void)size;
    if (!contains(info, (uintptr_t)&anchor))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const unsigned char *notes = (const unsigned char *)(info->dlpi_addr + h->p_vaddr);
        if (h->p_type == PT_NOTE && find_note(notes, h->p_memsz, context))
            break;
    }
    return 1;
}

/* ---- text ---- */

static const char *scalar_type(uint8_t dtype)
{
    static const char *const names[OSC_DTYPE_COUNT] = {[OSC_BOOL] = "Bool",
                                                       [OSC_U8] = "Byte",
                                                       [OSC_I8] = "Char",
                                                       [OSC_I16] = "Short",
                                                       [OSC_I32] = "Int",
                                                       [OSC_I64] = "Long",
                                                       [OSC_F16] = "Half",
                                                       [OSC_BF16] = "BFloat16",
                                                       [OSC_F32] = "Float",
                                                       [OSC_F64] = "Double",
                                                       [OSC_U16] = "UInt16",
                                                       [OSC_U32] = "UInt32",
                                                       [OSC_RAW128] = "ComplexDouble"};
    return dtype < OSC_DTYPE_COUNT && names[dtype] != NULL ? names[dtype] : "Undefined";
}

static bool contiguous(const osc_value_info *v)
{
    int64_t expected = 1;
    for (uint32_t d = v->rank; d-- > 0;) {
        if (v->size[d] != 1 && v->stride[d] != expected)
            return false;
        expected *= v->size[d] > 0 ? v->size[d] : 1;
    }
    return true;
}

static void put_ints(osc_buf *out, const int64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        osc_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", values[i]);
}

static void put_input(osc_buf *out, const osc_value_info *v)
{
    osc_buf_cstr(out, "_[");
    put_ints(out, v->size, v->rank);
    osc_buf_printf(out, "]:%s:S(", scalar_type(v->dtype));
    if (contiguous(v))
        osc_buf_putc(out, 'C');
    else
        put_ints(out, v->stride, v->rank);
    osc_buf_putc(out, ')');
}

static void put_args(osc_buf *out, const osc_node *node)
{
    for (uint32_t i = 0; i < node->nargs && i < SHOWN_ARGS; i++) {
        const osc_arg *a = &node->args[i];
        if (a->kind == OSC_ARG_INT) {
            osc_buf_printf(out, "_i%" PRId64, a->i);
        } else if (a->kind == OSC_ARG_FLOAT) {
            osc_buf_printf(out, "_f%.9g", a->f);
        } else if (a->kind == OSC_ARG_INTS && a->count <= OSC_MAX_RANK) {
            osc_buf_cstr(out, "_l");
            put_ints(out, a->ints, a->count);
        }
    }
}

/* "aten::mul.Tensor" -> "mul"; a graph of several operators goes by its own name. */
static osc_str base_name(const osc_graph *graph)
{
    if (osc_graph_node_count(graph) != 1)
        return osc_graph_name(graph);
    osc_str name = osc_graph_node(graph, 0)->name;
    size_t space = osc_str_rfind_char(name, ':');
    if (space != SIZE_MAX)
        name = osc_str_sub(name, space + 1, name.len);
    size_t dot = osc_str_find_char(name, '.', 0);
    return dot == SIZE_MAX ? name : osc_str_sub(name, 0, dot);
}

static void put_text(osc_buf *out, const osc_graph *graph,
                     const unsigned char digest[OSC_SHA256_SIZE])
{
    char hex[OSC_SHA256_HEX];
    uint32_t shown = 0, count = osc_graph_value_count(graph);
    osc_buf_str(out, base_name(graph));
    osc_buf_cstr(out, "--");
    for (uint32_t i = 0; i < count; i++) {
        const osc_value_info *v = osc_graph_value(graph, i);
        if (v->is_input && shown++ < SHOWN_INPUTS)
            put_input(out, v);
    }
    if (shown > SHOWN_INPUTS)
        osc_buf_printf(out, "_and%" PRIu32 "more", shown - SHOWN_INPUTS);
    if (osc_graph_node_count(graph) == 1)
        put_args(out, osc_graph_node(graph, 0));
    osc_buf_printf(out, ":%s", osc_sha256_hex(digest, hex));
}

/* ---- public ---- */

static void make_disk_key(osc_cachekey *key)
{
    unsigned char digest[OSC_SHA256_SIZE];
    char hex[OSC_SHA256_HEX];
    code_id id = {(const unsigned char *)OSC_VERSION, sizeof OSC_VERSION};
    osc_sha256 sha;
    (void)dl_iterate_phdr(look_at_object, &id);
    osc_sha256_init(&sha);
    osc_sha256_update(&sha, key->digest, sizeof key->digest);
    osc_sha256_update(&sha, id.bytes, id.len);
    osc_sha256_final(&sha, digest);
    memcpy(key->disk, osc_sha256_hex(digest, hex), 32);
    key->disk[32] = '\0';
}

osc_status osc_cachekey_make(const osc_graph *graph, osc_generation generation, osc_cachekey *key,
                             osc_err *err)
{
    osc_buf text;
    key->text = NULL;
    osc_buf_init(&text, MAX_TEXT);
    osc_graph_describe(graph, &text);
    osc_buf_printf(&text, "generation %s\n", osc_generation_name(generation));
    osc_status status = osc_buf_status(&text, "the graph's description", err);
    if (status == OSC_OK) {
        osc_sha256_bytes(text.data, text.len, key->digest);
        osc_buf_clear(&text);
        put_text(&text, graph, key->digest);
        make_disk_key(key);
        status = osc_buf_status(&text, "a cache key", err);
    }
    if (status == OSC_OK) {
        key->text = osc_memdup0((const char *)text.data, text.len);
        if (key->text == NULL)
            status =
                osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a cache key");
    }
    osc_buf_free(&text);
    return status;
}

void osc_cachekey_free(osc_cachekey *key)
{
    osc_free(key->text);
    key->text = NULL;
}
