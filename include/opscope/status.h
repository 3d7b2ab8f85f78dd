/*
 * status.h - the result code and the error that every fallible function uses.
 *
 * A function that can fail returns osc_status: 0 is success, negative is a reason. The lowest layer
 * that knows what went wrong fills the caller's osc_err once (message, input name, byte offset) and
 * nobody above rewords it. Passing a NULL osc_err is allowed everywhere: the text is then dropped.
 */
#ifndef OPSCOPE_STATUS_H
#define OPSCOPE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fixed numbers, never reused. OSC_OK is 0, everything else is negative. */
typedef enum osc_status {
    OSC_OK = 0,
    OSC_ENOMEM = -1,       /* the host ran out of memory, or a stated ceiling was reached */
    OSC_EIO = -2,          /* the operating system refused a read, write, open, rename */
    OSC_EFORMAT = -3,      /* input bytes break their format */
    OSC_EVERSION = -4,     /* input is of a newer format version than this program knows */
    OSC_ETRUNCATED = -5,   /* input ends early; what is complete was kept */
    OSC_EINVAL = -6,       /* an argument is outside what the function allows */
    OSC_ENOTFOUND = -7,    /* the named thing does not exist */
    OSC_EUNSUPPORTED = -8, /* well-formed, but not something this build can do */
    OSC_EDEVMEM = -9,      /* the simulated device ran out of its own memory */
    OSC_EDEADLOCK = -10,   /* a device program waits for a semaphore nobody will raise */
    OSC_EHAZARD = -11,     /* a device program breaks an ordering, bounds or memory rule */
    OSC_ESTATE = -12,      /* not allowed now: already active, already shut down, forked */
    OSC_EFOREIGN = -13     /* a vendor's closed format, recognised but not readable */
} osc_status;

#define OSC_NO_OFFSET UINT64_MAX

/* What went wrong. Plain value; the caller owns it, usually on its stack, zero-initialised. */
typedef struct osc_err {
    osc_status code;
    uint64_t offset;   /* byte offset in the input, or OSC_NO_OFFSET */
    char input[256];   /* file name or other name of the input, "" if none */
    char message[512]; /* lower-case sentence, no full stop, says the way out where there is one */
} osc_err;

/* What libopscope offers; everything else in it is hidden. gcc and clang only. */
#define OSC_API __attribute__((visibility("default")))

#if defined(__GNUC__)
#define OSC_PRINTF(fmt_index, args_index) __attribute__((format(printf, fmt_index, args_index)))
#define OSC_MUST_CHECK                    __attribute__((warn_unused_result))
#else
#define OSC_PRINTF(fmt_index, args_index)
#define OSC_MUST_CHECK
#endif

/*
 * Fills *err (may be NULL) and returns code, so that a caller writes `return osc_fail(err, ...)`.
 * input may be NULL. Any thread.
 */
OSC_API osc_status osc_fail(osc_err *err, osc_status code, const char *input, uint64_t offset,
                            const char *fmt, ...) OSC_PRINTF(5, 6);

/* Short stable name of a code, e.g. "truncated". Static storage. Any thread. */
OSC_API const char *osc_status_name(osc_status code);

#ifdef __cplusplus
}
#endif
#endif
