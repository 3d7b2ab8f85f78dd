/*
 * tracks.h - builds the store's track table while events come in, in whatever order the file has.
 *
 * A trace names a lane by (pid, tid), each a number or a text, and what the lane is follows from
 * the events on it. The builder hands out track numbers at once and names them at the end, when the
 * process, the host and the kind of device are known. Names are
 * instance/PID:<pid>/subsystem/identifier (neuron-explorer.md 3.1).
 */
#ifndef OSC_READ_TRACKS_H
#define OSC_READ_TRACKS_H

#include "base/status.h"
#include "base/str.h"
#include "scope/store/store.h"

#include <stdint.h>

typedef struct osc_tracks osc_tracks;

/* A builder that adds its tracks after those already in store. NULL when out of memory. */
osc_tracks *osc_tracks_new(osc_store *store);

/* Frees the builder; NULL is allowed. The store keeps its rows. */
void osc_tracks_free(osc_tracks *tracks);

/*
 * Number the track of (pid, tid) and kind will have in the store; the same for the same arguments.
 * Texts are canonical by the caller ("17", not "17.0"). Sticky failure: OSC_NO_ROW.
 */
uint32_t osc_tracks_get(osc_tracks *tracks, osc_str pid, osc_str tid, osc_lane_kind kind);

/*
 * Number of the pair (pid, tid) alone, without making a lane; osc_tracks_lane_of gives its first
 * lane, of any kind, once all are known: OSC_NO_ROW when it has none. Sticky failure: OSC_NO_ROW.
 */
uint32_t osc_tracks_pair(osc_tracks *tracks, osc_str pid, osc_str tid);
uint32_t osc_tracks_lane_of(const osc_tracks *tracks, uint32_t pair);

/*
 * Adds what another builder (of a store of its own) was told, as if it had been told to this one.
 * Fills lanes[i] and pairs[i] with this builder's numbers for the other's lanes and pairs; they
 * have room for osc_tracks_count and osc_tracks_pair_count.
 */
void osc_tracks_merge(osc_tracks *tracks, const osc_tracks *other, uint32_t *lanes,
                      uint32_t *pairs);
uint32_t osc_tracks_count(const osc_tracks *tracks);
uint32_t osc_tracks_pair_count(const osc_tracks *tracks);

/* What the producer calls the thread (pid, tid), or the process when tid is the empty text. */
void osc_tracks_label(osc_tracks *tracks, osc_str pid, osc_str tid, osc_str label);

/* The process label given for pid, or the empty view. */
osc_str osc_tracks_process_label(const osc_tracks *tracks, osc_str pid);

/* The pid of the first track of a kind, or the empty view. */
osc_str osc_tracks_first_pid(const osc_tracks *tracks, osc_lane_kind kind);

/*
 * Adds the rows. instance and pid name the process whose capture this is; with neuron, device lanes
 * are cores (neuron_hw/NC:<pid>) instead of device:<pid>/Stream:<tid>. OSC_ENOMEM when a call
 * failed.
 */
OSC_MUST_CHECK osc_status osc_tracks_finish(osc_tracks *tracks, osc_str instance, osc_str pid,
                                            bool neuron, osc_err *err);

#endif
