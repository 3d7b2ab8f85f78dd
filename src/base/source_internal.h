/*
 * source_internal.h - what the .c files behind source.h share, and what tests put in their place.
 *
 *   osc_source_input   where raw bytes come from          source_input.c, or a test
 *   osc_inflater       one member or frame, step by step  source_gzip.c, source_zstd.c
 *   osc_members        members one after the other        source_members.c
 *   osc_source         reading ahead, limits, errors      source.c
 *
 * gzip.c inflates bytes in memory with the second and the third.
 */
#ifndef OSC_BASE_SOURCE_INTERNAL_H
#define OSC_BASE_SOURCE_INTERNAL_H

#include "base/source.h"

#include <sys/types.h>

/* Raw bytes. Plain value; the functions are called by one thread at a time, `wake` by any. */
typedef struct osc_source_input {
    void *context;
    /* Up to n bytes, 0 at the end, -1 with errno set. Interrupted calls are repeated inside. */
    ssize_t (*read)(void *context, void *buf, size_t n);
    ssize_t (*read_at)(void *context, uint64_t at, void *buf, size_t n); /* NULL: not seekable */
    void (*wake)(
        void *context); /* makes a waiting read return 0, now and ever after; may be NULL */
    void (*close)(void *context); /* may be NULL */
    char *name;                   /* for messages; owned by the source once it is open */
    uint64_t size;                /* of the file, 0 unknown */
    uint64_t limit;               /* default ceiling of plain bytes, UINT64_MAX none */
    uint64_t inflate_always;      /* inflated bytes allowed at any ratio, by default */
} osc_source_input;

#define OSC_INFLATE_ALWAYS ((uint64_t)4 << 30)
#define OSC_INFLATE_RATIO  200u

/* Opens what a path names ("-": standard input). *out is untouched on failure. */
osc_status osc_source_input_open(const char *path, osc_source_input *out,
                                 osc_err *err) OSC_MUST_CHECK;

typedef enum osc_inflate_code {
    OSC_INFLATE_MORE = 0, /* all is well: wants more input, or more room */
    OSC_INFLATE_END = 1,  /* the member ended; what follows it was not taken */
    OSC_INFLATE_DAMAGED = -1,
    OSC_INFLATE_CHECKSUM =
        -2, /* all bytes of the member were given, but they are not the right ones */
    OSC_INFLATE_NO_MEMORY = -3,
    OSC_INFLATE_WINDOW =
        -4 /* a zstd frame that needs more memory than OSC_ZSTD_WINDOW_LOG allows */
} osc_inflate_code;

/* zstd's own limit for frames made without --long: a window of 128 MiB. */
#define OSC_ZSTD_WINDOW_LOG 27

typedef struct osc_inflater osc_inflater;

/* Bytes in, bytes out: in[0, n) of which *used were taken, out[0, cap) of which *made were
 * written. */
struct osc_inflater {
    osc_inflate_code (*step)(osc_inflater *self, const unsigned char *in, size_t n, size_t *used,
                             unsigned char *out, size_t cap, size_t *made);
    bool (*reset)(osc_inflater *self); /* before each member; false: no memory */
    void (*free)(osc_inflater *self);
};

/* Who inflates gzip: the fastest there is, or one by name (tests). */
typedef enum osc_gzip_engine {
    OSC_GZIP_BEST = 0,
    OSC_GZIP_ISAL = 1,
    OSC_GZIP_ZLIB = 2
} osc_gzip_engine;

/* *out is NULL on failure: OSC_ENOMEM, or OSC_EUNSUPPORTED when this build or machine has none. */
osc_status osc_gzip_inflater_new(osc_gzip_engine engine, const char *name, osc_inflater **out,
                                 osc_err *err) OSC_MUST_CHECK;
osc_status osc_zstd_inflater_new(const char *name, osc_inflater **out, osc_err *err) OSC_MUST_CHECK;

#define OSC_MEMBER_MAGIC 4u /* bytes that tell whether a member begins */

typedef enum osc_members_state {
    OSC_MEMBERS_BETWEEN = 0, /* zeros, or the first bytes of the next member */
    OSC_MEMBERS_INSIDE = 1,
    OSC_MEMBERS_GARBAGE = 2 /* what follows is no member and is only counted */
} osc_members_state;

/* A run of gzip members or zstd frames. Zero-initialise, then set form and inflater. */
typedef struct osc_members {
    osc_source_form form;
    osc_inflater *inflater; /* not owned */
    osc_members_state state;
    unsigned char
        head[OSC_MEMBER_MAGIC]; /* first bytes of a member, until the inflater took them */
    uint32_t head_len, head_taken;
    uint64_t consumed; /* bytes taken from the input so far */
    uint64_t garbage;  /* of these, behind the last member */
    uint64_t members;  /* that ended */
} osc_members;

/* Which form begins with these bytes; OSC_SOURCE_PLAIN for others. n up to OSC_MEMBER_MAGIC is
 * looked at. */
osc_source_form osc_source_form_of_bytes(const unsigned char *bytes, size_t n);

/* As osc_inflater's step, over the ends of members; never OSC_INFLATE_END. Takes all of in, or
 * fills out. */
osc_inflate_code osc_members_step(osc_members *m, const unsigned char *in, size_t n, size_t *used,
                                  unsigned char *out, size_t cap, size_t *made);

/* Told that the input ended: whether it may end there; false inside a member or its first bytes. */
bool osc_members_end(osc_members *m);

/* The sentence and code for an inflate code below zero, at the offset that m has come to. */
osc_status osc_members_fail(const osc_members *m, osc_inflate_code code, const char *name,
                            osc_err *err);
/* The same for an input that ends although it may not. */
osc_status osc_members_fail_cut(const osc_members *m, const char *name, osc_err *err);

/* osc_source_open with the bytes of any input. Takes *input over, name included, also on
 * failure. */
osc_status osc_source_open_input(osc_source_input *input, const osc_source_options *options,
                                 osc_gzip_engine engine, osc_source **out,
                                 osc_err *err) OSC_MUST_CHECK;

#endif
