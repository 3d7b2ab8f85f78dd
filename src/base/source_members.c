/*
 * source_members.c - gzip members or zstd frames one after the other, as one stream.
 *
 * Writers such as pigz and bgzip, and everybody who says `cat a.gz b.gz`, make files of several
 * members, empty ones among them (known-bad-inputs.md S05). Zeros behind a member are padding.
 * Anything else there that begins no member is garbage: counted to the end of the input, never read
 * as data.
 *
 * The first bytes of a member may be split over two pieces of input, so they are collected here
 * until it is clear what they begin, and go to the inflater from here.
 */
#include "base/source_internal.h"

#include <assert.h>
#include <string.h>

typedef enum match { MATCH_NO, MATCH_PREFIX, MATCH_YES } match;

/* A zstd frame, or a skippable one (0x184D2A50 to 0x184D2A5F, little endian). */
static match match_zstd(const unsigned char *p, size_t n)
{
    static const unsigned char frame[4] = {0x28, 0xb5, 0x2f, 0xfd};
    static const unsigned char skip[4] = {0x50, 0x2a, 0x4d, 0x18};
    size_t some = n < 4 ? n : 4;
    bool is_frame = memcmp(p, frame, some) == 0;
    bool is_skip = n > 0 && (p[0] & 0xf0u) == skip[0] && memcmp(p + 1, skip + 1, some - 1) == 0;
    if (!is_frame && !is_skip)
        return MATCH_NO;
    return n < 4 ? MATCH_PREFIX : MATCH_YES;
}

static match match_gzip(const unsigned char *p, size_t n)
{
    if (n > 0 && p[0] != 0x1f)
        return MATCH_NO;
    if (n > 1 && p[1] != 0x8b)
        return MATCH_NO;
    return n < 2 ? MATCH_PREFIX : MATCH_YES;
}

static match match_form(osc_source_form form, const unsigned char *p, size_t n)
{
    assert(form != OSC_SOURCE_PLAIN);
    return form == OSC_SOURCE_GZIP ? match_gzip(p, n) : match_zstd(p, n);
}

osc_source_form osc_source_form_of_bytes(const unsigned char *bytes, size_t n)
{
    if (match_gzip(bytes, n) == MATCH_YES)
        return OSC_SOURCE_GZIP;
    return match_zstd(bytes, n) == MATCH_YES ? OSC_SOURCE_ZSTD : OSC_SOURCE_PLAIN;
}

/* Takes bytes between members until one begins or all are taken. False when there is no memory. */
static bool look_for_member(osc_members *m, const unsigned char *in, size_t n, size_t *used)
{
    size_t at = *used;
    while (at < n && m->state == OSC_MEMBERS_BETWEEN) {
        unsigned char c = in[at++];
        if (m->head_len == 0 && c == 0)
            continue;
        m->head[m->head_len++] = c;
        match found = match_form(m->form, m->head, m->head_len);
        if (found == MATCH_NO) {
            m->state = OSC_MEMBERS_GARBAGE;
            m->garbage = m->head_len;
        } else if (found == MATCH_YES) {
            m->state = OSC_MEMBERS_INSIDE;
            m->head_taken = 0;
            if (at >= m->head_len) {
                /* All of them are here. ISA-L 2.30 finds the checksum of a header that comes in two
                 * pieces wrong, so the member goes to it from its first byte. */
                at -= m->head_len;
                m->head_len = 0;
            }
        }
    }
    *used = at;
    return m->state != OSC_MEMBERS_INSIDE || m->inflater->reset(m->inflater);
}

/* One step of the inflater, from the kept first bytes while there are any. */
static osc_inflate_code step_inside(osc_members *m, const unsigned char *in, size_t n, size_t *used,
                                    unsigned char *out, size_t cap, size_t *made)
{
    size_t taken = 0, written = 0;
    bool from_head = m->head_taken < m->head_len;
    const unsigned char *p = from_head ? m->head + m->head_taken : in + *used;
    size_t len = from_head ? m->head_len - m->head_taken : n - *used;
    osc_inflate_code code =
        m->inflater->step(m->inflater, p, len, &taken, out + *made, cap - *made, &written);
    assert(taken <= len && written <= cap - *made);
    *made += written;
    if (from_head)
        m->head_taken += (uint32_t)taken;
    else
        *used += taken;
    if (code == OSC_INFLATE_END) {
        assert(m->head_taken == m->head_len); /* no member is as short as its magic number */
        m->members++;
        m->state = OSC_MEMBERS_BETWEEN;
        m->head_len = m->head_taken = 0;
        return OSC_INFLATE_MORE;
    }
    if (code == OSC_INFLATE_MORE && taken == 0 && written == 0 && len > 0 && cap > *made)
        return OSC_INFLATE_DAMAGED; /* neither takes nor gives: would go on for ever */
    return code;
}

static osc_inflate_code step_all(osc_members *m, const unsigned char *in, size_t n, size_t *used,
                                 unsigned char *out, size_t cap, size_t *made)
{
    osc_inflate_code code = OSC_INFLATE_MORE;
    for (;;) {
        if (m->state == OSC_MEMBERS_GARBAGE) {
            m->garbage += n - *used;
            *used = n;
        } else if (m->state == OSC_MEMBERS_BETWEEN) {
            if (!look_for_member(m, in, n, used))
                return OSC_INFLATE_NO_MEMORY;
        }
        if (m->state != OSC_MEMBERS_INSIDE) {
            if (*used == n)
                return OSC_INFLATE_MORE;
            continue;
        }
        size_t made_before = *made;
        code = step_inside(m, in, n, used, out, cap, made);
        bool starved = *used == n && m->head_taken == m->head_len && *made == made_before;
        if (code != OSC_INFLATE_MORE || *made == cap || starved)
            return code;
    }
}

osc_inflate_code osc_members_step(osc_members *m, const unsigned char *in, size_t n, size_t *used,
                                  unsigned char *out, size_t cap, size_t *made)
{
    *used = 0;
    *made = 0;
    osc_inflate_code code = step_all(m, in, n, used, out, cap, made);
    assert(*used <= n && *made <= cap && code != OSC_INFLATE_END);
    m->consumed += *used;
    return code;
}

bool osc_members_end(osc_members *m)
{
    /* one to three bytes that could begin a skippable frame are far more often just text */
    if (m->state == OSC_MEMBERS_BETWEEN && m->head_len > 0 && (m->head[0] & 0xf0u) == 0x50) {
        m->state = OSC_MEMBERS_GARBAGE;
        m->garbage = m->head_len;
    }
    return m->state == OSC_MEMBERS_GARBAGE || (m->state == OSC_MEMBERS_BETWEEN && m->head_len == 0);
}

static const char *form_name(const osc_members *m)
{
    return m->form == OSC_SOURCE_GZIP ? "gzip" : "zstd";
}

osc_status osc_members_fail(const osc_members *m, osc_inflate_code code, const char *name,
                            osc_err *err)
{
    assert(code < 0);
    switch (code) {
    case OSC_INFLATE_NO_MEMORY:
        return osc_fail(err, OSC_ENOMEM, name, m->consumed, "no memory to inflate");
    case OSC_INFLATE_CHECKSUM:
        return osc_fail(err, OSC_EFORMAT, name, m->consumed,
                        "the checksum of the %s stream is wrong: the data is damaged",
                        form_name(m));
    case OSC_INFLATE_WINDOW:
        return osc_fail(
            err, OSC_EUNSUPPORTED, name, m->consumed,
            "a zstd frame needs a window above %d MiB; compress it again without --long",
            1 << (OSC_ZSTD_WINDOW_LOG - 20));
    default:
        return osc_fail(err, OSC_EFORMAT, name, m->consumed, "the %s stream is damaged",
                        form_name(m));
    }
}

osc_status osc_members_fail_cut(const osc_members *m, const char *name, osc_err *err)
{
    return osc_fail(err, OSC_ETRUNCATED, name, m->consumed, "the %s stream ends early",
                    form_name(m));
}
