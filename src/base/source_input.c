/*
 * source_input.c - the raw bytes of a source: a file, a pipe, a device, standard input.
 *
 * A read of a pipe may wait for ever, and the thread that inflates ahead waits in it while the
 * reader wants to close. So such descriptors are polled together with an event descriptor that
 * `wake` rings.
 */
#include "base/io_internal.h"
#include "base/mem.h"
#include "base/source_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device such as /dev/zero never ends; a pipe may carry a trace of any size, but not for ever. */
#define DEVICE_LIMIT ((uint64_t)4 << 30)
#define PIPE_LIMIT   ((uint64_t)64 << 30)

typedef struct input_fd {
    int fd;
    int bell;  /* event descriptor; -1 for regular files, which never make anybody wait for ever */
    bool keep; /* standard input is not ours to close */
} input_fd;

static ssize_t fd_read(void *context, void *buf, size_t n)
{
    input_fd *f = context;
    for (;;) {
        if (f->bell >= 0) {
            struct pollfd both[2] = {{.fd = f->fd, .events = POLLIN},
                                     {.fd = f->bell, .events = POLLIN}};
            int ready = poll(both, 2, -1);
            if (ready < 0 && errno != EINTR)
                return -1;
            if (ready < 0)
                continue;
            if (both[1].revents)
                return 0;
        }
        ssize_t got = read(f->fd, buf, n);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

static ssize_t fd_read_at(void *context, uint64_t at, void *buf, size_t n)
{
    input_fd *f = context;
    if (at > (uint64_t)INT64_MAX)
        return 0;
    for (;;) {
        ssize_t got = pread(f->fd, buf, n, (off_t)at);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

static void fd_wake(void *context)
{
    input_fd *f = context;
    uint64_t one = 1;
    /* the counter cannot be full: nobody else writes to it, and once is enough */
    if (f->bell >= 0 && write(f->bell, &one, sizeof one) < 0)
        assert(errno == EAGAIN);
}

static void fd_close(void *context)
{
    input_fd *f = context;
    if (!f)
        return;
    if (!f->keep && f->fd >= 0)
        (void)close(f->fd);
    if (f->bell >= 0)
        (void)close(f->bell);
    osc_free(f);
}

/* Fills *out by what the descriptor is. */
static osc_status describe(input_fd *f, const char *name, osc_source_input *out, osc_err *err)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return osc_io_fail(err, name, "read");
    if (S_ISDIR(st.st_mode))
        return osc_fail(err, OSC_EIO, name, OSC_NO_OFFSET, "cannot read: is a directory");
    *out = (osc_source_input){.context = f, .read = fd_read, .wake = fd_wake, .close = fd_close};
    out->limit = UINT64_MAX;
    out->inflate_always = OSC_INFLATE_ALWAYS;
    if (S_ISREG(st.st_mode)) {
        out->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
        /* a shell may hand over a file that was read from already: then it is a stream */
        if (lseek(f->fd, 0, SEEK_CUR) == 0)
            out->read_at = fd_read_at;
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        return OSC_OK;
    }
    out->limit = S_ISCHR(st.st_mode) ? DEVICE_LIMIT : PIPE_LIMIT;
    f->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return f->bell >= 0 ? OSC_OK : osc_io_fail(err, name, "read");
}

osc_status osc_source_input_open(const char *path, osc_source_input *out, osc_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    input_fd *f = osc_alloc(sizeof *f);
    osc_source_input in = {.name = osc_memdup0(name, strlen(name))};
    if (!f || !in.name) {
        osc_free(f);
        osc_free(in.name);
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to open it");
    }
    *f = (input_fd){
        .fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC), .bell = -1, .keep = standard};
    char *owned = in.name;
    osc_status status = f->fd < 0 ? osc_io_fail(err, name, "open") : describe(f, name, &in, err);
    if (status != OSC_OK) {
        fd_close(f);
        osc_free(owned);
        return status;
    }
    in.name = owned;
    *out = in;
    return OSC_OK;
}
