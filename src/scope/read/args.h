/*
 * args.h - the arguments of events, read again from the input when somebody asks.
 *
 * The store keeps for each slice only where its arguments lie (slices.args_at, args_len). This
 * reads them: from a plain file at once, from a compressed one in a single pass for all slices
 * asked for. The input must be the file the store was read from; one that changed since is refused.
 */
#ifndef OSC_READ_ARGS_H
#define OSC_READ_ARGS_H

#include "base/status.h"
#include "base/str.h"
#include "scope/read/scan.h"
#include "scope/store/store.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Notes in the store which input the offsets of its slices are about: metadata input_path (path as
 * it was given, "-" for standard input), input_size and input_mtime_ns. Readers call it; does
 * nothing for what cannot be read again.
 */
void osc_args_note_input(osc_store *store, const char *path);

/* Takes the arguments of one slice: the JSON text of the object, valid during the call. */
typedef void (*osc_args_fn)(void *context, uint32_t slice, osc_str args);

/*
 * Calls fn for each of n slices that has arguments, in the order of the file. OSC_EUNSUPPORTED when
 * the input cannot be read twice (standard input) or the store was opened without OSC_OMIT_ARGS's
 * columns; OSC_EIO, OSC_EFORMAT when the file changed.
 */
OSC_MUST_CHECK osc_status osc_args_each(const osc_store *store, const uint32_t *slices, size_t n,
                                        osc_args_fn fn, void *context, osc_err *err);

/* The value of one key of an arguments object; false when it has none. The last of repeated keys
 * counts. */
bool osc_args_find(osc_str args, const char *key, osc_scan_value *out);

/* The same as an integer or a text (unescaped into out, which is cleared first). False when
 * absent. */
bool osc_args_i64(osc_str args, const char *key, int64_t *out);
bool osc_args_text(osc_str args, const char *key, osc_buf *out);

#endif
