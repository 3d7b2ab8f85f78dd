/*
 * feed.c - see feed.h.
 *
 * Sliding moves only what is kept, an event at most; the rest of the buffer is then filled in one
 * read. Rejected: mapping the file. Page faults cost more than the copy (5 against 12 ms for 100
 * MB), a file that shrinks kills the process, and pipes cannot be mapped.
 */
#include "scope/read/feed.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

void osc_feed_init_bytes(osc_feed *f, const char *bytes, size_t len, size_t first)
{
    memset(f, 0, sizeof *f);
    f->bytes = bytes;
    f->byte_count = len;
    f->cap = first ? first : OSC_FEED_BYTES;
    f->max = OSC_FEED_MAX_BYTES;
}

void osc_feed_init_source(osc_feed *f, osc_source *source, osc_str head, size_t first)
{
    osc_feed_init_bytes(f, head.ptr, head.len, first);
    f->source = source;
}

void osc_feed_seek(osc_feed *f, osc_source *source, uint64_t at)
{
    assert(osc_source_seekable(source));
    f->source = source;
    f->positioned = true;
    f->at = at;
    f->base = at;
    f->len = 0;
    f->eof = false;
}

void osc_feed_free(osc_feed *f)
{
    if (f->data)
        osc_free(f->data - OSC_FEED_FRONT);
    f->data = NULL;
    f->len = 0;
}

/* Makes the window hold more than its kept bytes. False when it may not or memory is out. */
static bool make_room(osc_feed *f)
{
    size_t cap = f->cap;
    if (f->data && f->len < cap)
        return true;
    if (f->data) {
        if (cap >= f->max)
            return false;
        cap = cap > f->max / 2 ? f->max : cap * 2;
    }
    char *old = f->data ? f->data - OSC_FEED_FRONT : NULL;
    char *grown = osc_realloc(old, OSC_FEED_FRONT + cap + OSC_FEED_PAD);
    if (!grown) {
        f->status = osc_fail(&f->err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                             "out of memory for a window of %zu bytes", cap);
        return false;
    }
    if (!old)
        memset(grown, 0, OSC_FEED_FRONT);
    f->data = grown + OSC_FEED_FRONT;
    f->cap = cap;
    return true;
}

/* Up to n bytes at the end of the window; *got less than n: the input ended. */
static osc_status fetch(osc_feed *f, size_t n, size_t *got)
{
    char *to = f->data + f->len;
    if (f->positioned)
        return osc_source_read_at(f->source, f->at, to, n, got, &f->err);
    size_t ready = f->at < f->byte_count ? f->byte_count - (size_t)f->at : 0, more = 0;
    ready = ready < n ? ready : n;
    if (ready > 0)
        memcpy(to, f->bytes + f->at, ready);
    osc_status status = OSC_OK;
    if (f->source && ready < n)
        status = osc_source_read(f->source, to + ready, n - ready, &more, &f->err);
    *got = ready + more;
    return status;
}

bool osc_feed_more(osc_feed *f, size_t keep)
{
    assert(keep <= f->len);
    if (f->eof || f->status != OSC_OK)
        return false;
    if (keep > 0) {
        memmove(f->data, f->data + keep, f->len - keep);
        f->len -= keep;
        f->base += keep;
    }
    if (!make_room(f))
        return false;
    size_t want = f->cap - f->len, got = 0;
    osc_status status = fetch(f, want, &got);
    f->len += got;
    f->at += got;
    memset(f->data + f->len, 0, OSC_FEED_PAD);
    if (status == OSC_ETRUNCATED || status == OSC_EFORMAT) {
        f->cut = true;
        f->eof = true;
    } else if (status != OSC_OK) {
        f->status = status;
        return false;
    } else {
        f->eof = got < want;
    }
    return got > 0;
}
