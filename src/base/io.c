/*
 * io.c - whole files in and out; see io.h. Appending is in io_append.c, folders in io_dir.c, gzip
 * in gzip.c.
 */
#include "base/io.h"

#include "base/io_internal.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ ((size_t)64 << 10)

osc_status osc_io_fail(osc_err *err, const char *path, const char *action)
{
    int reason = errno;
    osc_status code = reason == ENOENT || reason == ENOTDIR ? OSC_ENOTFOUND
                      : reason == ENOMEM                    ? OSC_ENOMEM
                                                            : OSC_EIO;
    if (reason == ENOENT)
        return osc_fail(err, code, path, OSC_NO_OFFSET, "cannot %s: no such file or directory",
                        action);
    return osc_fail(err, code, path, OSC_NO_OFFSET, "cannot %s: %s", action, strerror(reason));
}

osc_status osc_io_write_all(int fd, const char *path, const void *data, size_t len, osc_err *err)
{
    const unsigned char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return osc_io_fail(err, path, "write");
        assert((size_t)n <= len);
        p += n;
        len -= (size_t)n;
    }
    return OSC_OK;
}

static osc_status too_large(osc_err *err, const char *name, size_t max)
{
    return osc_fail(err, OSC_EUNSUPPORTED, name, OSC_NO_OFFSET,
                    "larger than the ceiling of %zu bytes", max);
}

/* Grows *ptr so that it holds more than len bytes and a NUL, up to max + 1 bytes and the NUL. */
static bool grow(char **ptr, size_t *cap, size_t max)
{
    /* one byte over the ceiling tells "exactly max" from "more" */
    size_t ceiling = max > SIZE_MAX - 2 ? SIZE_MAX - 2 : max + 1;
    size_t bigger = *cap > ceiling / 2 ? ceiling : *cap * 2;
    char *data = osc_realloc(*ptr, bigger + 1);
    if (!data)
        return false;
    *ptr = data;
    *cap = bigger;
    return true;
}

/* First capacity: the size the system reports, so that most files need one allocation and no
 * copy. */
static size_t first_capacity(int fd, size_t max)
{
    struct stat st;
    size_t want = FIRST_READ;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size < SIZE_MAX - 2)
        want = (size_t)st.st_size + 1;
    return want > max && max < SIZE_MAX - 2 ? max + 1 : want;
}

osc_status osc_read_fd(int fd, const char *name, size_t max, char **ptr, size_t *len, osc_err *err)
{
    size_t cap = first_capacity(fd, max), used = 0;
    *ptr = NULL;
    *len = 0;
    char *data = osc_alloc(cap + 1);
    osc_status status = OSC_OK;
    if (!data)
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to read %zu bytes", cap);
    for (;;) {
        ssize_t n = read(fd, data + used, cap - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = osc_io_fail(err, name, "read");
        if (n <= 0)
            break;
        used += (size_t)n;
        if (used > max)
            status = too_large(err, name, max);
        else if (used == cap && !grow(&data, &cap, max))
            status = osc_fail(err, OSC_ENOMEM, name, used, "no memory to read on");
        if (status != OSC_OK)
            break;
    }
    if (status != OSC_OK) {
        osc_free(data);
        return status;
    }
    data[used] = '\0';
    *ptr = data;
    *len = used;
    return OSC_OK;
}

osc_status osc_read_file(const char *path, size_t max, char **ptr, size_t *len, osc_err *err)
{
    struct stat st;
    *ptr = NULL;
    *len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return osc_io_fail(err, path, "open");
    osc_status status;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > max)
        status = too_large(err, path, max);
    else
        status = osc_read_fd(fd, path, max, ptr, len, err);
    (void)close(fd);
    return status;
}

/* "<path>.tmp-<pid>-<n>": one process may write the same file from two threads. Caller frees. */
static char *temporary_name(const char *path, unsigned attempt)
{
    size_t size = strlen(path) + 48;
    char *name = osc_alloc(size);
    if (name)
        (void)snprintf(name, size, "%s.tmp-%ld-%u", path, (long)getpid(), attempt);
    return name;
}

int osc_io_create_temporary(const char *path, char **name)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        *name = temporary_name(path, attempt);
        if (!*name) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        int reason = errno;
        osc_free(*name);
        *name = NULL;
        errno = reason;
        if (reason != EEXIST)
            return -1;
    }
    return -1;
}

osc_status osc_write_file_atomic(const char *path, const void *data, size_t len, osc_err *err)
{
    char *temporary = NULL;
    int fd = osc_io_create_temporary(path, &temporary);
    if (fd < 0)
        return osc_io_fail(err, path, "create");
    osc_status status = osc_io_write_all(fd, path, data, len, err);
    if (close(fd) != 0 && status == OSC_OK)
        status = osc_io_fail(err, path, "close");
    if (status == OSC_OK && rename(temporary, path) != 0)
        status = osc_io_fail(err, path, "rename into place");
    if (status != OSC_OK)
        (void)unlink(temporary);
    osc_free(temporary);
    return status;
}
