/*
 * io_append.c - the appender; see io.h.
 *
 * Records go straight to the system with write(): nothing waits in our memory when the process dies.
 * Callers batch records into one write when there are many.
 */
#include "base/io.h"

#include "base/io_internal.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct osc_file_appender {
    int fd;
    uint64_t size; /* bytes in the file after the last complete write */
    char *path;
};

osc_status osc_file_appender_open(const char *path, bool truncate, osc_file_appender **out,
                                  osc_err *err)
{
    struct stat st;
    *out = NULL;
    osc_file_appender *a = osc_calloc(1, sizeof *a);
    char *copy = osc_memdup0(path, strlen(path));
    if (!a || !copy) {
        osc_free(a);
        osc_free(copy);
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to open a file");
    }
    a->path = copy;
    a->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0), 0666);
    if (a->fd < 0 || fstat(a->fd, &st) != 0) {
        osc_status status = osc_io_fail(err, path, "open for writing");
        if (a->fd >= 0)
            (void)close(a->fd);
        osc_free(a->path);
        osc_free(a);
        return status;
    }
    a->size = (uint64_t)st.st_size;
    *out = a;
    return OSC_OK;
}

osc_status osc_file_appender_write(osc_file_appender *a, const void *bytes, size_t n, osc_err *err)
{
    osc_status status = osc_io_write_all(a->fd, a->path, bytes, n, err);
    if (status == OSC_OK) {
        a->size += n;
        return OSC_OK;
    }
    /* a half record at the end would make all later ones unreadable; it may not be cut on a pipe */
    while (ftruncate(a->fd, (off_t)a->size) != 0 && errno == EINTR) {
    }
    return status;
}

uint64_t osc_file_appender_size(const osc_file_appender *a)
{
    return a->size;
}

osc_status osc_file_appender_close(osc_file_appender *a, osc_err *err)
{
    if (!a)
        return OSC_OK;
    osc_status status = OSC_OK;
    /* not repeated on EINTR: the descriptor is gone either way on Linux */
    if (close(a->fd) != 0 && errno != EINTR)
        status = osc_io_fail(err, a->path, "close");
    osc_free(a->path);
    osc_free(a);
    return status;
}
