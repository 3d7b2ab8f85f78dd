/*
 * sniff.c - which kind of artifact a file is, by its first bytes (session.h).
 *
 * Our own formats begin with a name of theirs. Of the vendor's closed formats no byte layout is
 * published (neuron-explorer.md 1.4), so a file is taken for one when its name says so and its
 * content is not anything we know: an .ntff without our magic, a .pb that is protobuf on the wire
 * but lacks our header. A public NEFF header (1.5) and JSON are recognised whoever wrote them.
 */
#include "artifact/session.h"

#include "artifact/ntff_layout.h"
#include "artifact/systrace.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pb.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* NEFF header, neuron-explorer.md 1.5: offsets of what is looked at. */
#define NEFF_BUILD_VERSION_AT 40u
#define NEFF_UUID_AT          204u
#define NEFF_HEADER_BYTES     1024u
#define NEFF_PKG_VERSION_MAX  16u
#define OUR_NEFF_BUILD        "opscope"

#define GZIP_MAGIC  "\x1f\x8b"
#define INFLATE_MAX ((size_t)8 << 20)

#define FOREIGN_DIR_MAX  140u
#define FOREIGN_BASE_MAX 100u

const char *osc_artifact_kind_name(osc_artifact_kind kind)
{
    switch (kind) {
    case OSC_ART_UNKNOWN: break;
    case OSC_ART_NEFF: return "neff";
    case OSC_ART_NTFF: return "ntff";
    case OSC_ART_NTRACE: return "ntrace";
    case OSC_ART_TRACE_INFO: return "trace_info";
    case OSC_ART_CPU_UTIL: return "cpu_util";
    case OSC_ART_HOST_MEM: return "host_mem";
    case OSC_ART_TRACE_JSON: return "trace-json";
    case OSC_ART_RUN_JSON: return "run-json";
    case OSC_ART_PROFILE_JSON: return "profile-json";
    }
    return "unknown";
}

static osc_artifact_kind kind_of_pb(osc_systrace_kind kind)
{
    switch (kind) {
    case OSC_SYSTRACE_NTRACE: return OSC_ART_NTRACE;
    case OSC_SYSTRACE_CPU_UTIL: return OSC_ART_CPU_UTIL;
    case OSC_SYSTRACE_HOST_MEM: return OSC_ART_HOST_MEM;
    case OSC_SYSTRACE_INFO: return OSC_ART_TRACE_INFO;
    }
    return OSC_ART_UNKNOWN;
}

/* ---- our formats ---- */

static bool sniff_ntff(osc_str head, osc_sniff *out)
{
    size_t have = head.len < NTFF_MAGIC_BYTES ? head.len : NTFF_MAGIC_BYTES;
    if (have == 0 || memcmp(head.ptr, NTFF_MAGIC, have) != 0)
        return false;
    out->kind = OSC_ART_NTFF;
    out->origin = OSC_ORIGIN_OURS;
    if (head.len < OSC_NTFF_HEADER_BYTES)
        return true;
    osc_cursor c = osc_cursor_make(head.ptr, head.len);
    osc_cursor_skip(&c, NTFF_MAGIC_BYTES);
    out->major = osc_cursor_u16(&c);
    osc_cursor_skip(&c, sizeof(uint16_t) + sizeof(uint32_t));
    out->hash = osc_cursor_u64(&c);
    osc_cursor_copy(&c, out->uuid, sizeof out->uuid);
    osc_cursor_skip(&c, sizeof(uint32_t));
    out->core = osc_cursor_u32(&c);
    out->instance_index = osc_cursor_u32(&c);
    out->has_hash = out->has_uuid = !c.failed;
    return true;
}

/*
 * True when the file begins like the header record of a kind: tag, length (any), tag, length,
 * magic. A file that ends before that is one of ours cut short, as far as its bytes agree.
 */
static bool begins_like(osc_str head, osc_systrace_kind kind)
{
    osc_str magic = osc_str_from_cstr(osc_systrace_magic(kind));
    const char prefix[] = {0x0a, head.len > 1 ? head.ptr[1] : 0, 0x0a, (char)magic.len};
    size_t in_prefix = head.len < sizeof prefix ? head.len : sizeof prefix;
    size_t in_magic = head.len - in_prefix < magic.len ? head.len - in_prefix : magic.len;
    return memcmp(head.ptr, prefix, in_prefix) == 0 &&
           memcmp(head.ptr + in_prefix, magic.ptr, in_magic) == 0;
}

/* Kinds agree in their first bytes; where a file ends within those, its name decides. */
static bool sniff_pb(osc_str name, osc_str head, osc_sniff *out)
{
    osc_str base = osc_path_base(name);
    for (int k = OSC_SYSTRACE_NTRACE; k <= OSC_SYSTRACE_INFO; k++) {
        if (!begins_like(head, (osc_systrace_kind)k))
            continue;
        bool named = osc_str_eq_cstr(base, osc_systrace_file_name((osc_systrace_kind)k));
        if (named || out->kind == OSC_ART_UNKNOWN)
            out->kind = kind_of_pb((osc_systrace_kind)k);
        out->origin = OSC_ORIGIN_OURS;
    }
    return out->kind != OSC_ART_UNKNOWN;
}

/* ---- public formats ---- */

static bool sniff_neff(osc_str head, osc_sniff *out)
{
    osc_cursor c = osc_cursor_make(head.ptr, head.len);
    uint64_t pkg_version = osc_cursor_u64(&c);
    uint64_t header_size = osc_cursor_u64(&c);
    if (c.failed || pkg_version > NEFF_PKG_VERSION_MAX || header_size != NEFF_HEADER_BYTES)
        return false;
    out->kind = OSC_ART_NEFF;
    osc_cursor_seek(&c, NEFF_BUILD_VERSION_AT);
    osc_str build = osc_cursor_bytes(&c, sizeof OUR_NEFF_BUILD - 1);
    if (c.failed)
        return true;
    out->origin = osc_str_eq(build, OSC_STR(OUR_NEFF_BUILD)) ? OSC_ORIGIN_OURS : OSC_ORIGIN_VENDOR;
    osc_cursor_seek(&c, NEFF_UUID_AT);
    osc_cursor_copy(&c, out->uuid, sizeof out->uuid);
    out->has_uuid = !c.failed;
    return true;
}

/*
 * Tables of a vendor device profile or system profile in JSON: summary-metrics.md 3,
 * neuron-explorer.md 2.6.
 */
static bool is_profile_key(const osc_json_token *key)
{
    static const char *const keys[] = {
        "metadata",
        "profile_info",
        "neff_header",
        "neff_node",
        "instruction",
        "dma",
        "dma_queues_info",
        "semaphore_update",
        "active_time",
        "pending_dma",
        "dma_throughput",
        "instruction_usage",
        "ham",
        "layer_summary",
        "model_info",
        "nc_mem_usage",
        "summary_group_order",
        "summary_groups",
        "summary",
        "terminology",
        "warnings",
        "errors",
        "cc_ops",
        "cc_cores_instruction",
        "throttle",
        "tensor_info",
        "flow",
        "system_profile",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (osc_json_is(key, keys[i]))
            return true;
    }
    return false;
}

static osc_artifact_kind classify_key(osc_json *j, const osc_json_token *key)
{
    if (osc_json_is(key, "traceEvents") || osc_json_is(key, "schemaVersion") ||
        osc_json_is(key, "displayTimeUnit"))
        return OSC_ART_TRACE_JSON;
    osc_json_token value = osc_json_peek(j);
    if (osc_json_is(key, "format") && value.type == OSC_JSON_STRING &&
        osc_json_is(&value, "opscope.run"))
        return OSC_ART_RUN_JSON;
    return is_profile_key(key) && value.type == OSC_JSON_ARR_BEGIN ? OSC_ART_PROFILE_JSON
                                                                   : OSC_ART_UNKNOWN;
}

static bool sniff_json(osc_str head, osc_sniff *out)
{
    osc_json j;
    osc_json_token key;
    osc_json_init(&j, head.ptr, head.len);
    osc_json_token first = osc_json_next(&j);
    if (first.type == OSC_JSON_ARR_BEGIN) {
        /* the array form of a Chrome trace: a list of event objects */
        osc_json_token element = osc_json_peek(&j);
        if (element.type == OSC_JSON_OBJ_BEGIN || element.type == OSC_JSON_ARR_END)
            out->kind = OSC_ART_TRACE_JSON;
        return out->kind != OSC_ART_UNKNOWN;
    }
    if (first.type != OSC_JSON_OBJ_BEGIN)
        return false;
    while (out->kind == OSC_ART_UNKNOWN && osc_json_next_member(&j, &key)) {
        out->kind = classify_key(&j, &key);
        if (!osc_json_skip_value(&j, NULL))
            break;
    }
    if (out->kind == OSC_ART_RUN_JSON)
        out->origin = OSC_ORIGIN_OURS;
    if (out->kind == OSC_ART_PROFILE_JSON)
        out->origin = OSC_ORIGIN_VENDOR;
    return out->kind != OSC_ART_UNKNOWN;
}

static bool sniff_gzip(osc_str head, osc_sniff *out)
{
    char *text = NULL;
    size_t len = 0;
    if (!osc_str_starts(head, OSC_STR(GZIP_MAGIC)))
        return false;
    /* Only the head is there, so "truncated" is what is expected of a whole file. */
    osc_status st = osc_gunzip(head.ptr, head.len, "", INFLATE_MAX, &text, &len, NULL);
    bool known =
        (st == OSC_OK || st == OSC_ETRUNCATED) && text && sniff_json(osc_str_make(text, len), out);
    osc_free(text);
    return known;
}

/* ---- the vendor's closed formats ---- */

static bool is_protobuf(osc_str head)
{
    osc_cursor c = osc_cursor_make(head.ptr, head.len);
    osc_pb_field f;
    size_t fields = 0;
    while (osc_pb_next(&c, &f))
        fields++;
    return !c.malformed && (fields > 0 || osc_cursor_offset(&c) > 0);
}

static void sniff_closed(osc_str name, osc_str head, osc_sniff *out)
{
    osc_str base = osc_path_base(name);
    if (osc_str_ends(base, OSC_STR(".ntff"))) {
        out->kind = OSC_ART_NTFF;
        out->origin = OSC_ORIGIN_VENDOR;
        return;
    }
    for (int k = OSC_SYSTRACE_NTRACE; k <= OSC_SYSTRACE_INFO; k++) {
        if (!osc_str_eq_cstr(base, osc_systrace_file_name((osc_systrace_kind)k)))
            continue;
        out->kind = kind_of_pb((osc_systrace_kind)k);
        if (is_protobuf(head))
            out->origin = OSC_ORIGIN_VENDOR;
    }
}

void osc_sniff_bytes(const char *name, const void *head, size_t len, uint64_t file_size,
                     osc_sniff *out)
{
    osc_str bytes = osc_str_make(head, len < OSC_SNIFF_BYTES ? len : OSC_SNIFF_BYTES);
    assert(len <= file_size);
    *out = (osc_sniff){0};
    if (file_size == 0 || len == 0)
        return;
    if (sniff_ntff(bytes, out) || sniff_pb(osc_str_from_cstr(name), bytes, out) ||
        sniff_neff(bytes, out) || sniff_gzip(bytes, out) || sniff_json(bytes, out))
        return;
    sniff_closed(osc_str_from_cstr(name), bytes, out);
}

/* Up to size bytes from the start of a file. */
static osc_status read_head(const char *path, char *head, size_t size, size_t *len, osc_err *err)
{
    *len = 0;
    /* Not blocking: a named pipe in a session directory must not hang the scan. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return osc_fail(err, errno == ENOENT ? OSC_ENOTFOUND : OSC_EIO, path, OSC_NO_OFFSET,
                        "cannot be opened: %s", strerror(errno));
    ssize_t n = 0;
    do {
        n = read(fd, head + *len, size - *len);
        *len += n > 0 ? (size_t)n : 0;
    } while ((n > 0 && *len < size) || (n < 0 && errno == EINTR));
    int reason = errno;
    (void)close(fd);
    if (n < 0)
        return osc_fail(err, OSC_EIO, path, *len, "cannot be read: %s", strerror(reason));
    return OSC_OK;
}

osc_status osc_sniff_file(const char *path, osc_sniff *out, osc_err *err)
{
    char head[OSC_SNIFF_BYTES];
    size_t len;
    *out = (osc_sniff){0};
    osc_status st = read_head(path, head, sizeof head, &len, err);
    if (st == OSC_OK)
        osc_sniff_bytes(path, head, len, len, out);
    return st;
}

osc_status osc_foreign_fail(const char *path, osc_artifact_kind kind, osc_err *err)
{
    osc_str dir = path ? osc_path_dir(osc_str_from_cstr(path)) : OSC_STR("DIR");
    osc_str base = path ? osc_path_base(osc_str_from_cstr(path)) : OSC_STR("the file");
    /* The message has a fixed size and its end is the way out; the full path is in err->input. */
    if (dir.len > FOREIGN_DIR_MAX)
        dir = OSC_STR("DIR");
    if (base.len > FOREIGN_BASE_MAX)
        base = OSC_STR("the file");
    /* The JSON export ends after tools 2.33.0: neuron-explorer.md 6.1. */
    return osc_fail(
        err, OSC_EFOREIGN, path, 0,
        "%.*s is in the Neuron runtime's closed %s format (or its first bytes are damaged); "
        "make it readable with Neuron tools up to 2.33.0: neuron-explorer view -d %.*s "
        "--output-format json --output-file F, then open F",
        OSC_STR_FMT(base), osc_artifact_kind_name(kind), OSC_STR_FMT(dir));
}
