/*
 * tar.h - POSIX ustar archives in memory, both ways.
 *
 * Written archives are the same bytes for the same members: owner 0, mode 0644, time 0. The reader
 * takes ustar and old v7 members, GNU long names ('L') and pax 'path' and 'size' records; it hands out
 * views into the archive and stops with an offset at the first thing that is not an archive.
 */
#ifndef OSC_BASE_TAR_H
#define OSC_BASE_TAR_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OSC_TAR_BLOCK 512

/*
 * Appends one regular file. A name over 100 bytes is split at a '/' into ustar's prefix; one that
 * cannot be (over 255 bytes, or no fitting slash) is OSC_EINVAL and appends nothing. Memory failures
 * are sticky in out as always and give OSC_ENOMEM.
 */
osc_status osc_tar_add(osc_buf *out, osc_str name, const void *data, size_t len,
                       osc_err *err) OSC_MUST_CHECK;

/* Ends the archive with two zero blocks. */
void osc_tar_finish(osc_buf *out);

typedef struct osc_tar_entry {
    osc_str name; /* full path; a view into the archive or into the reader's own name buffer, valid
                        until the next call */
    osc_str data; /* the content; a view into the archive */
    char type;    /* '0' file, '5' directory, else the type byte as found */
    uint64_t offset; /* absolute offset of the member's header */
} osc_tar_entry;

typedef struct osc_tar_reader {
    osc_cursor at;     /* the archive */
    const char *input; /* name for messages, not owned, may be NULL */
    bool ended;        /* the end mark, the end of input, or an error was met */
    bool clean_end;    /* the end mark was there */
    char name[512];    /* joined prefix/name or a long name, of the entry handed out last */
} osc_tar_reader;

/* Starts reading len bytes at data (absolute offset base in the whole input). Owns nothing. */
void osc_tar_reader_init(osc_tar_reader *r, const void *data, size_t len, uint64_t base,
                         const char *input);

/*
 * Next member: OSC_OK with *found true and *entry, or *found false at the end. OSC_ETRUNCATED when a
 * member's bytes are not all there, OSC_EFORMAT on a bad header (checksum, number, name too long).
 */
osc_status osc_tar_next(osc_tar_reader *r, osc_tar_entry *entry, bool *found,
                        osc_err *err) OSC_MUST_CHECK;

#endif
