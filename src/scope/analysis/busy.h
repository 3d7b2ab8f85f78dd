/*
 * busy.h - what the devices of a capture did, in order of time, and who launched it.
 *
 * `steps`, `idle` and `path` read this one list: kernels, copies, fills and executions of every
 * vendor; never waits, annotations or sync rows (known-bad-inputs.md N07, R01). Each item knows its
 * lane (a stream), its device, its class, and the host call that launched it: the runtime call with
 * its correlation number, else the call with its sequence number, else the only launch of its
 * operator, else that operator.
 *
 * Immutable once built; any thread may read. The store and the calls must outlive it.
 */
#ifndef OSC_ANALYSIS_BUSY_H
#define OSC_ANALYSIS_BUSY_H

#include "base/intern.h"
#include "base/status.h"
#include "base/str.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/spans.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum osc_busy_class {
    OSC_BUSY_COMPUTE = 0,
    OSC_BUSY_COMM = 1, /* collectives and other transfers between ranks */
    OSC_BUSY_COPY = 2, /* copies and fills of one device's memory */
    OSC_BUSY_CLASSES = 3
} osc_busy_class;

/* What a name of the trace stands for; bits, see osc_busy_name. */
enum {
    OSC_NAME_COMM = 0x01,       /* a collective's kernel */
    OSC_NAME_COMM_OP = 0x02,    /* an operator or range that is a collective */
    OSC_NAME_BLOCKING = 0x04,   /* a runtime call that waits for the device */
    OSC_NAME_LAUNCH = 0x08,     /* a runtime call that starts device work */
    OSC_NAME_WAIT = 0x10,       /* a device row that is a wait, no work */
    OSC_NAME_STEP = 0x20,       /* ProfilerStep#N */
    OSC_NAME_BACKWARD = 0x40,   /* the autograd engine running a node */
    OSC_NAME_KERNELS = 0x80,    /* a launch of kernels, which always have device work */
    OSC_NAME_COPY = 0x100,      /* a device row that moves data */
    OSC_NAME_HOST_WAIT = 0x200, /* a range or frame that waits for data, a lock, a socket, time */
    OSC_NAME_TO_HOST = 0x400    /* a copy from a device to the host */
};

typedef struct osc_busy_item {
    int64_t start_ns, end_ns; /* never empty */
    uint32_t slice;
    uint32_t launch; /* slice of the host call or operator that launched it, OSC_NO_ROW unknown */
    uint32_t lane;   /* index of lanes */
    uint32_t device; /* index of devices */
    uint8_t cls;     /* osc_busy_class */
} osc_busy_item;

typedef struct osc_busy_lane {
    uint32_t track;  /* a track of it */
    uint32_t device; /* index of devices */
    osc_str name;    /* "7"; points into the store */
} osc_busy_lane;

typedef struct osc_busy {
    const osc_store *store;
    const osc_slice_cols *slices; /* of the store */
    const osc_calls *calls;
    osc_busy_item *items; /* by (device, start, order of the file); owned */
    uint32_t count;
    osc_busy_lane *lanes; /* owned */
    uint32_t lane_count;
    osc_intern *devices; /* their names, "0" or "NC:0"; id 0 is unused */
    uint32_t device_count;
    uint32_t *device_first;   /* [device_count + 1]: where each device's items begin; owned */
    uint16_t *name_bits;      /* [names of the store]: OSC_NAME_* bits and a bit for known; owned */
    int64_t start_ns, end_ns; /* the window: first start and last end of all recorded work */
    uint64_t unstamped;       /* device work without times, left out (known-bad-inputs.md T05) */
    uint64_t unlaunched;      /* items whose launch is not in the capture */
    uint64_t lost;            /* launches of kernels and graphs whose device work is missing */
} osc_busy;

/* Builds it. *out is zeroed on failure (OSC_ENOMEM). Free with osc_busy_free. Linear in slices. */
OSC_MUST_CHECK osc_status osc_busy_build(const osc_store *store, const osc_calls *calls,
                                         osc_busy *out, osc_err *err);

/*
 * The same, and the calls it needs: without python frames, with unfinished and same-named ones
 * kept. On success *calls is the caller's to free after the result; on failure both are empty.
 */
OSC_MUST_CHECK osc_status osc_busy_open(const osc_store *store, osc_calls **calls, osc_busy *out,
                                        osc_err *err);
void osc_busy_free(osc_busy *busy); /* NULL allowed; zeroes it */

#define OSC_NAME_KNOWN 0x8000u /* busy.c: the name was looked at */

/* OSC_NAME_* bits of a slice's name. */
static inline uint16_t osc_busy_name(const osc_busy *busy, uint32_t slice)
{
    return busy->name_bits[busy->slices->name[slice]] & (uint16_t)~OSC_NAME_KNOWN;
}

/* True for a slice of a host thread: operators, ranges, frames, runtime calls. */
bool osc_busy_is_host(const osc_busy *busy, uint32_t slice);

/* True for an operator; in files without categories, for whatever a thread did. No
 * ProfilerStep#. */
bool osc_busy_is_op(const osc_busy *busy, uint32_t slice);

/* The name of a slice as tables show it: demangled where it counts, else as the file has it. */
osc_str osc_busy_text(const osc_busy *busy, uint32_t slice);

/* Device name of an index; number by name, OSC_NO_ROW when there is none. */
osc_str osc_busy_device(const osc_busy *busy, uint32_t device);
uint32_t osc_busy_find_device(const osc_busy *busy, osc_str name);

/* Thread number a host slice runs on. */
uint32_t osc_busy_thread(const osc_busy *busy, uint32_t slice);

/*
 * What an option says of a device: *device is its index, OSC_NO_ROW (all) for the empty name.
 * OSC_ENOTFOUND, with those there are, when none has that name.
 */
OSC_MUST_CHECK osc_status osc_busy_pick_device(const osc_busy *busy, osc_str name, uint32_t *device,
                                               osc_err *err);

/* What to tell people about a capture in which no device worked; "" when one did. Static
 * storage. */
const char *osc_busy_why_none(const osc_busy *busy);

/* A host call that waits for the device. */
typedef struct osc_block {
    int64_t start_ns, end_ns;
    uint32_t slice;
    uint32_t thread;
    uint32_t item; /* the copy it waits for, OSC_NO_ROW: whatever runs */
} osc_block;

/*
 * All of them by (thread, start), not overlapping on a thread (the first of overlapping ones
 * counts). A call waits by its name, or because it launched a copy that ended before the call
 * returned; and an operator waits that stayed open, with nothing else on its thread, until the copy
 * to the host it had launched was done. *out is owned by the caller (osc_free); OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_busy_blocks(const osc_busy *busy, osc_block **out, uint32_t *count,
                                          osc_err *err);

/* The same for ranges and frames in which a thread waited for something else
 * (OSC_NAME_HOST_WAIT). */
OSC_MUST_CHECK osc_status osc_busy_host_waits(const osc_busy *busy, osc_block **out,
                                              uint32_t *count, osc_err *err);

#endif
