/*
 * tar.c - see tar.h.
 *
 * Header layout (POSIX.1-1988 ustar), byte offsets:
 *
 *     0 name[100]  100 mode[8]  108 uid[8]  116 gid[8]  124 size[12]  136 mtime[12]  148 chksum[8]
 *     156 typeflag  157 linkname[100]  257 magic[6]  263 version[2]  265 uname[32]  297 gname[32]
 *     329 devmajor[8]  337 devminor[8]  345 prefix[155]  500 unused[12]
 */
#include "base/tar.h"

#include "base/num.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE     100
#define PREFIX_AT     345
#define PREFIX_SIZE   155
#define SUM_AT        148
#define SIZE_AT       124
#define SIZE_SIZE     12
#define MAX_SIZE_BITS 33 /* eleven octal digits */
#define TYPE_AT       156
#define MAGIC_AT      257

/* Sum of all header bytes with the checksum's own eight taken as spaces. */
static uint32_t checksum(const unsigned char *header)
{
    uint32_t sum = 8 * ' ';
    for (size_t i = 0; i < OSC_TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? 0u : header[i];
    return sum;
}

/*
 * Where to cut a long name: the index of the '/' that leaves at most 155 bytes before it and at most
 * 100 after. SIZE_MAX when the whole name fits, 0 when it can not be stored.
 */
static size_t split_at(osc_str name)
{
    if (name.len <= NAME_SIZE)
        return SIZE_MAX;
    for (size_t i = name.len - NAME_SIZE - 1; i < name.len - 1 && i <= PREFIX_SIZE; i++) {
        if (name.ptr[i] == '/' && i > 0)
            return i;
    }
    return 0;
}

/* Octal digits and a NUL into a header field of `size` bytes. */
static void put_octal(unsigned char *field, size_t size, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%0*" PRIo64, (int)(size - 1), value);
    memcpy(field, text, size);
}

osc_status osc_tar_add(osc_buf *out, osc_str name, const void *data, size_t len, osc_err *err)
{
    size_t cut = split_at(name);
    if (cut == 0 || name.len == 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "archive member name '%.*s' is not storable",
                        OSC_STR_FMT(osc_str_sub(name, 0, 100)));
    if ((uint64_t)len >> MAX_SIZE_BITS != 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "archive member '%.*s' is 8 GiB or more",
                        OSC_STR_FMT(osc_str_sub(name, 0, 100)));
    unsigned char header[OSC_TAR_BLOCK] = {0};
    osc_str base = cut == SIZE_MAX ? name : osc_str_sub(name, cut + 1, SIZE_MAX);
    assert(base.len <= NAME_SIZE);
    memcpy(header, base.ptr, base.len);
    if (cut != SIZE_MAX)
        memcpy(header + PREFIX_AT, name.ptr, cut);
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + SIZE_AT, SIZE_SIZE, len);
    put_octal(header + 136, 12, 0);
    header[TYPE_AT] = '0';
    memcpy(header + MAGIC_AT, "ustar\00000", 8);
    put_octal(header + SUM_AT, 7, checksum(header));
    header[SUM_AT + 7] = ' ';
    osc_buf_append(out, header, sizeof header);
    osc_buf_append(out, data, len);
    size_t over = len % OSC_TAR_BLOCK;
    osc_buf_fill(out, 0, over ? OSC_TAR_BLOCK - over : 0);
    return osc_buf_status(out, "an archive", err);
}

void osc_tar_finish(osc_buf *out)
{
    osc_buf_fill(out, 0, (size_t)2 * OSC_TAR_BLOCK);
}

void osc_tar_reader_init(osc_tar_reader *r, const void *data, size_t len, uint64_t base,
                         const char *input)
{
    memset(r, 0, sizeof *r);
    r->at = osc_cursor_make_at(data, len, base);
    r->input = input;
}

/* A header number: octal digits with spaces or NULs around, or GNU base-256 after a 0x80 byte. */
static bool header_number(const unsigned char *field, size_t size, uint64_t *value)
{
    uint64_t v = 0;
    size_t i = 0;
    if (field[0] & 0x80) {
        v = field[0] & 0x7f;
        for (i = 1; i < size; i++) {
            if (v >> 55 != 0)
                return false;
            v = v << 8 | field[i];
        }
        *value = v;
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(field[i] - '0');
    for (; i < size; i++) {
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    }
    *value = v; /* at most 12 octal digits: 36 bits */
    return true;
}

static osc_str field_text(const unsigned char *field, size_t size)
{
    return osc_str_make((const char *)field, strnlen((const char *)field, size));
}

static osc_status bad(osc_tar_reader *r, osc_status code, uint64_t offset, const char *text,
                      osc_err *err)
{
    r->ended = true;
    return osc_fail(err, code, r->input, offset, "not a readable archive: %s", text);
}

/* One header and the content behind it. *is_zero when it is a block of zeros instead. */
struct member {
    const unsigned char *header;
    osc_str data;
    uint64_t offset;
    bool is_zero;
};

static osc_status read_member(osc_tar_reader *r, const uint64_t *forced_size, struct member *m,
                              osc_err *err)
{
    static const unsigned char zeros[OSC_TAR_BLOCK];
    uint64_t sum, size;
    m->offset = osc_cursor_offset(&r->at);
    osc_str block = osc_cursor_bytes(&r->at, OSC_TAR_BLOCK);
    if (block.len != OSC_TAR_BLOCK)
        return bad(r, OSC_ETRUNCATED, m->offset, "a header is cut short", err);
    m->header = (const unsigned char *)block.ptr;
    m->is_zero = memcmp(block.ptr, zeros, OSC_TAR_BLOCK) == 0;
    if (m->is_zero)
        return OSC_OK;
    if (!header_number(m->header + SUM_AT, 8, &sum) || sum != checksum(m->header))
        return bad(r, OSC_EFORMAT, m->offset, "a header's checksum is wrong", err);
    if (!header_number(m->header + SIZE_AT, SIZE_SIZE, &size))
        return bad(r, OSC_EFORMAT, m->offset + SIZE_AT, "a header's size is no number", err);
    if (forced_size)
        size = *forced_size;
    uint64_t left = osc_cursor_left(&r->at);
    if (size > left)
        return bad(r, OSC_ETRUNCATED, m->offset, "a member is cut short", err);
    m->data = osc_cursor_bytes(&r->at, (size_t)size);
    size_t over = (size_t)(size % OSC_TAR_BLOCK), pad = over ? OSC_TAR_BLOCK - over : 0;
    osc_cursor_skip(&r->at, pad < osc_cursor_left(&r->at) ? pad : osc_cursor_left(&r->at));
    return OSC_OK;
}

/* What an extended header ('L' or 'x') says about the member behind it. */
struct extension {
    osc_str name; /* empty: none */
    uint64_t size;
    bool has_size;
};

/* pax records: "<length> <key>=<value>\n"; length counts the whole record. */
static bool read_pax(osc_str text, struct extension *ext)
{
    while (text.len > 0) {
        uint64_t len;
        size_t space = osc_str_find_char(text, ' ', 0);
        if (space == SIZE_MAX || !osc_parse_u64(osc_str_sub(text, 0, space), &len) ||
            len > text.len || len < space + 2)
            return false;
        osc_str record = osc_str_sub(text, space + 1, (size_t)len - space - 2);
        text = osc_str_sub(text, (size_t)len, SIZE_MAX);
        size_t equals = osc_str_find_char(record, '=', 0);
        if (equals == SIZE_MAX)
            return false;
        osc_str key = osc_str_sub(record, 0, equals),
                value = osc_str_sub(record, equals + 1, SIZE_MAX);
        if (osc_str_eq(key, OSC_STR("path")))
            ext->name = value;
        else if (osc_str_eq(key, OSC_STR("size"))) {
            if (!osc_parse_u64(value, &ext->size))
                return false;
            ext->has_size = true;
        }
    }
    return true;
}

/* Puts the member's full name into r->name. */
static osc_status join_name(osc_tar_reader *r, const struct member *m, osc_str extended,
                            osc_err *err)
{
    osc_str name = extended.len > 0 ? extended : field_text(m->header, NAME_SIZE);
    osc_str prefix = osc_str_make(NULL, 0);
    if (extended.len == 0 && memcmp(m->header + MAGIC_AT, "ustar", 6) == 0)
        prefix = field_text(m->header + PREFIX_AT, PREFIX_SIZE);
    if (name.len + prefix.len + 2 > sizeof r->name)
        return bad(r, OSC_EFORMAT, m->offset, "a name is too long", err);
    (void)snprintf(r->name, sizeof r->name, "%.*s%s%.*s", OSC_STR_FMT(prefix),
                   prefix.len > 0 ? "/" : "", OSC_STR_FMT(name));
    return OSC_OK;
}

static osc_status read_extension(osc_tar_reader *r, const struct member *m, struct extension *ext,
                                 osc_err *err)
{
    if (m->header[TYPE_AT] == 'L')
        ext->name = osc_str_make(m->data.ptr, m->data.len ? strnlen(m->data.ptr, m->data.len) : 0);
    else if (m->header[TYPE_AT] == 'x' && !read_pax(m->data, ext))
        return bad(r, OSC_EFORMAT, m->offset + OSC_TAR_BLOCK, "a pax record is malformed", err);
    return OSC_OK;
}

osc_status osc_tar_next(osc_tar_reader *r, osc_tar_entry *entry, bool *found, osc_err *err)
{
    struct extension ext = {0};
    memset(entry, 0, sizeof *entry);
    *found = false;
    while (!r->ended) {
        struct member m = {0};
        if (osc_cursor_done(&r->at)) {
            r->ended = true;
            break;
        }
        osc_status status = read_member(r, ext.has_size ? &ext.size : NULL, &m, err);
        if (status != OSC_OK)
            return status;
        if (m.is_zero) {
            r->ended = r->clean_end = true;
            break;
        }
        char type = (char)m.header[TYPE_AT];
        if (type == 'L' || type == 'x' || type == 'g') {
            ext.has_size = false;
            status = read_extension(r, &m, &ext, err);
            if (status != OSC_OK)
                return status;
            continue;
        }
        status = join_name(r, &m, ext.name, err);
        if (status != OSC_OK)
            return status;
        entry->name = osc_str_from_cstr(r->name);
        entry->data = m.data;
        entry->type = type == '\0' ? '0' : type;
        entry->offset = m.offset;
        *found = true;
        return OSC_OK;
    }
    return OSC_OK;
}
