/*
 * io.h - files, with every failure a status.
 *
 * Reading takes a ceiling; writing a whole file is atomic (a reader sees the old bytes or the new,
 * never half); appending keeps what was complete when a process dies. Calls interrupted by signals are
 * repeated. Paths are NUL-terminated bytes as the system takes them. Any thread, unless it says else.
 */
#ifndef OSC_BASE_IO_H
#define OSC_BASE_IO_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The whole file at path in memory, *ptr (a NUL follows, not counted) and *len. The caller frees *ptr
 * with osc_free. OSC_ENOTFOUND when absent, OSC_EUNSUPPORTED when larger than max bytes, OSC_EIO else
 * (a directory too). "-" is not special here. On failure *ptr is NULL.
 */
osc_status osc_read_file(const char *path, size_t max, char **ptr, size_t *len,
                         osc_err *err) OSC_MUST_CHECK;

/* The rest of an open descriptor in memory, as osc_read_file; name is for messages. Does not close. */
osc_status osc_read_fd(int fd, const char *name, size_t max, char **ptr, size_t *len,
                       osc_err *err) OSC_MUST_CHECK;

/*
 * Like osc_read_file, and a gzip file (by its first bytes) is inflated; max bounds both the file and
 * the inflated bytes. *was_gzip (may be NULL) says which. A gzip file cut short gives what could be
 * inflated together with OSC_ETRUNCATED: *ptr is then set and the caller frees it.
 */
osc_status osc_read_file_auto(const char *path, size_t max, char **ptr, size_t *len, bool *was_gzip,
                              osc_err *err) OSC_MUST_CHECK;

/* Inflates gzip bytes in memory, under the same rules. name is for messages. */
osc_status osc_gunzip(const void *data, size_t n, const char *name, size_t max, char **ptr,
                      size_t *len, osc_err *err) OSC_MUST_CHECK;

/* Compresses to one gzip member (level 6, no time stamp: same bytes in, same bytes out). */
osc_status osc_gzip(const void *data, size_t n, char **ptr, size_t *len,
                    osc_err *err) OSC_MUST_CHECK;

/*
 * Replaces or creates the file at path by a temporary in the same directory and a rename. On failure
 * the old file is untouched and the temporary is gone. A killed process never leaves half a file under
 * the name. Nothing is synced: that costs milliseconds a file, and after a power cut the formats' own
 * checksums find what is missing.
 */
osc_status osc_write_file_atomic(const char *path, const void *data, size_t len,
                                 osc_err *err) OSC_MUST_CHECK;

/* Bytes still to come are written at the end of a file; one thread at a time. */
typedef struct osc_file_appender osc_file_appender;

/* Opens path for appending, created if absent, emptied when truncate. NULL in *out on failure. */
osc_status osc_file_appender_open(const char *path, bool truncate, osc_file_appender **out,
                                  osc_err *err) OSC_MUST_CHECK;

/*
 * Appends all n bytes, or fails: OSC_EIO with the system's reason (disk full, quota). A failed append
 * cuts the file back to where it began, so the file ends at a record boundary; the appender stays
 * usable.
 */
osc_status osc_file_appender_write(osc_file_appender *a, const void *bytes, size_t n,
                                   osc_err *err) OSC_MUST_CHECK;

/* Bytes in the file so far, those present at opening included. */
uint64_t osc_file_appender_size(const osc_file_appender *a);

/* Closes and frees; NULL allowed. The status is the close's; the memory is freed either way. */
osc_status osc_file_appender_close(osc_file_appender *a, osc_err *err) OSC_MUST_CHECK;

/* Makes the directory and its parents (mode 0777 less umask). Present already is OK. */
osc_status osc_mkdir_p(const char *path, osc_err *err) OSC_MUST_CHECK;

typedef struct osc_dir_entry {
    char *name;    /* last component, NUL-terminated, owned by the list */
    bool is_dir;   /* after following symbolic links */
    bool is_file;  /* a regular file, likewise */
    uint64_t size; /* bytes of a regular file, else 0 */
} osc_dir_entry;

typedef struct osc_dir_list {
    osc_dir_entry *entries; /* sorted by name in byte order; owned */
    size_t count;
} osc_dir_list;

/* All entries but "." and ".."; free with osc_dir_list_free. Empty list on failure. */
osc_status osc_list_dir(const char *path, osc_dir_list *out, osc_err *err) OSC_MUST_CHECK;

/* Frees the list and empties it; NULL allowed. */
void osc_dir_list_free(osc_dir_list *list);

/* Kind and size of a path, symbolic links followed. */
bool osc_path_exists(const char *path);
bool osc_path_is_dir(const char *path);
bool osc_path_is_file(const char *path);

/* Size in bytes of a regular file. */
osc_status osc_file_size(const char *path, uint64_t *size, osc_err *err) OSC_MUST_CHECK;

/* Removes a file; absent is OK. */
osc_status osc_remove_file(const char *path, osc_err *err) OSC_MUST_CHECK;

/* Removes a directory and all in it, links not followed; absent is OK. */
osc_status osc_remove_tree(const char *path, osc_err *err) OSC_MUST_CHECK;

/* "a/b" from "a" and "b" ("b" alone when a is empty or b is absolute). Caller frees; NULL: no memory */
char *osc_path_join(const char *dir, const char *name);

/* The part after the last '/', and the part before it ("." when none). Views into path. */
osc_str osc_path_base(osc_str path);
osc_str osc_path_dir(osc_str path);

#endif
