/*
 * memory.h - the HBM of one device: address space, allocator, statistics.
 *
 * Addresses handed out lie in a region the host cannot touch (PROT_NONE); the same bytes are mapped
 * a second time, readable and writable, for the queue thread alone. Blocks are 256-byte aligned. A
 * freed block may be handed out again at once: all users of a device's memory go through its one
 * queue, in submission order. Any thread unless noted.
 */
#ifndef OSC_NEURON_RUNTIME_MEMORY_H
#define OSC_NEURON_RUNTIME_MEMORY_H

#include "base/status.h"
#include "opscope/neuron.h" /* osc_nrt_memory */

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_devmem osc_devmem;

/*
 * Gives the host pages of [offset, offset + bytes) back once all work submitted so far is done;
 * false when that cannot be arranged now. Called with the memory's lock held: must not block or
 * call back.
 */
typedef bool (*osc_devmem_trim_hook)(void *context, uint64_t offset, uint64_t bytes);

/* Reserves the address space; no page is touched. capacity: whole MiB. device is for messages. */
osc_status osc_devmem_open(int32_t device, uint64_t capacity, osc_devmem **out,
                           osc_err *err) OSC_MUST_CHECK;
/* Unmaps everything, blocks in use included. NULL allowed. One thread. */
void osc_devmem_close(osc_devmem *mem);

/*
 * How many bytes of freed blocks are kept, pages and all, for requests of the same size. Touching
 * 400 MB of fresh pages was measured at 0.5 s, of kept ones at 0.06 s. Set before the second thread
 * uses the memory.
 */
#define OSC_DEVMEM_CACHE_BYTES (UINT64_C(256) << 20) /* until set */
void osc_devmem_set_cache_limit(osc_devmem *mem, uint64_t bytes);

/* Set before the second thread uses the memory. */
void osc_devmem_set_trim(osc_devmem *mem, osc_devmem_trim_hook hook, void *context);

/* bytes > 0. OSC_EDEVMEM: the message names wanted, in use, capacity and the way out. */
osc_status osc_devmem_alloc(osc_devmem *mem, uint64_t bytes, void **out,
                            osc_err *err) OSC_MUST_CHECK;
/* The same for the runtime's own use (scratch): counted as reserved, not as allocated by the
 * program. */
osc_status osc_devmem_alloc_own(osc_devmem *mem, uint64_t bytes, void **out,
                                osc_err *err) OSC_MUST_CHECK;
/* False when address is not the start of a block in use; nothing happens then. */
bool osc_devmem_free(osc_devmem *mem, void *address);

/* True when [address, address + bytes) lies inside the device's address range. */
bool osc_devmem_owns(const osc_devmem *mem, const void *address, uint64_t bytes);
/* The readable alias of an owned address, and how many bytes follow it up to the end of the
 * range. */
uint8_t *osc_devmem_alias(const osc_devmem *mem, const void *address, uint64_t *bytes);
/* Drops host pages now: the range reads as zeros afterwards. Queue thread, or after the queue
 * ended. */
void osc_devmem_punch(osc_devmem *mem, uint64_t offset, uint64_t bytes);

void osc_devmem_stats(osc_devmem *mem, osc_nrt_memory *out); /* all fields but size */
void osc_devmem_reset_peak(osc_devmem *mem);
void osc_devmem_reset_totals(osc_devmem *mem);
/* Returns cached blocks to the common pool, so that neighbours join and pages go back. */
void osc_devmem_empty_cache(osc_devmem *mem);

#endif
