/*
 * neff.h - NEFF files: the serialised form of an osc_program.
 *
 * The container is the public one (neuron-explorer.md 1.5): a header of 1024 bytes, then a tar with JSON
 * descriptions and engine binaries. What is inside the engine binaries of the vendor's files is not
 * public, so this reads only files that opscope wrote and says so of others. Byte by byte in
 * docs/formats/neff.md. The same program always gives the same bytes.
 */
#ifndef OSC_ARTIFACT_NEFF_H
#define OSC_ARTIFACT_NEFF_H

#include "artifact/program.h"
#include "base/buf.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define OSC_NEFF_HEADER_BYTES 1024u
#define OSC_NEFF_UUID_BYTES   16u

/* Version of what the tar holds ("format_version" of info.json); readers refuse newer ones. */
#define OSC_NEFF_FORMAT_VERSION 1u

/*
 * Appends the NEFF of a sealed program to out, which the caller owns; out's ceiling bounds the size.
 * OSC_ENOMEM when it does not fit; out then holds a part that must not be used. Any thread.
 */
OSC_MUST_CHECK osc_status osc_neff_write(const osc_program *program, osc_buf *out, osc_err *err);

/*
 * Reads the NEFF of len bytes at data, which need not outlive the call, into a sealed program with one
 * reference in *out. input_name is for messages, may be NULL. Memory is at most OSC_NEFF_MEMORY_FACTOR
 * times len. OSC_EFOREIGN: a NEFF of the vendor's compiler. OSC_EVERSION: written by a newer opscope.
 * OSC_ETRUNCATED, OSC_EFORMAT: damaged (the SHA-256 of the data is checked). OSC_EHAZARD: it holds an
 * illegal instruction. *out is NULL on failure. Any thread.
 */
OSC_MUST_CHECK osc_status osc_neff_read(const uint8_t *data, size_t len, const char *input_name,
                                        osc_program **out, osc_err *err);
#define OSC_NEFF_MEMORY_FACTOR 256u

/* The uuid in the header: the first 16 bytes of the program's digest. Sealed programs only. Any thread. */
void osc_neff_uuid(const osc_program *program, uint8_t uuid[OSC_NEFF_UUID_BYTES]);

/* The file's name is osc_neff_file_name (artifact/session.h) of osc_program_hash. */

#endif
