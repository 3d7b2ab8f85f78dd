/*
 * feed.h - a window that slides over the bytes of an input of any size.
 *
 *     input    ......[ kept from here | new bytes        ]......
 *     window         ^ data            ^                 ^ data + len, then OSC_FEED_PAD zero bytes
 *                    base
 *
 * One buffer is used again and again, small enough for the second-level cache. It grows only when
 * one value does not fit, up to a ceiling. Readers that touch up to OSC_FEED_PAD bytes behind the
 * end see zeros, so that they need no bounds check for each byte.
 */
#ifndef OSC_READ_FEED_H
#define OSC_READ_FEED_H

#include "base/source.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OSC_FEED_PAD 128u

/* Bytes before the window that may be read too; what they hold is anything. */
#define OSC_FEED_FRONT 64u

/* First size of the window, and the largest; a single value beyond that is skipped and counted. */
#define OSC_FEED_BYTES     ((size_t)512 << 10)
#define OSC_FEED_MAX_BYTES ((size_t)256 << 20)

typedef struct osc_feed {
    char *data;        /* the window; owned */
    size_t len;        /* bytes of input in it */
    size_t cap;        /* bytes allocated, without the padding */
    size_t max;        /* ceiling of cap */
    uint64_t base;     /* offset of data[0] in the input */
    bool eof;          /* nothing follows data + len */
    bool cut;          /* the source failed with OSC_ETRUNCATED or OSC_EFORMAT; err says where */
    osc_status status; /* sticky: OSC_ENOMEM, OSC_EIO, ... */
    osc_err err;       /* of status, or of the cut */
    /* where bytes come from: memory first, then a source (at its position, or from `at` on) */
    osc_source *source;
    bool positioned; /* read with osc_source_read_at */
    uint64_t at;     /* next byte of the input to read */
    const char *bytes;
    size_t byte_count;
} osc_feed;

/* A window over memory that outlives it, or over a source from its position on, behind the bytes
 * `head` that were taken from it before. first is the size of the window to begin with, 0:
 * OSC_FEED_BYTES. Allocates at the first osc_feed_more. */
void osc_feed_init_bytes(osc_feed *f, const char *bytes, size_t len, size_t first);
void osc_feed_init_source(osc_feed *f, osc_source *source, osc_str head, size_t first);

/* Goes on at an offset of a seekable source; the window is empty then and its memory is kept. */
void osc_feed_seek(osc_feed *f, osc_source *source, uint64_t at);

void osc_feed_free(osc_feed *f);

/*
 * Slides: bytes before `keep` go, at least one more comes in. False at the end of the input (eof),
 * when the window is at its ceiling, or on a failure (status).
 */
bool osc_feed_more(osc_feed *f, size_t keep);

#endif
