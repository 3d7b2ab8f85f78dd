/*
 * io_dir.c - folders and paths; see io.h.
 */
#include "base/io.h"

#include "base/io_internal.h"
#include "base/mem.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deepest tree osc_remove_tree descends: it keeps one descriptor per level. */
#define REMOVE_MAX_DEPTH 64

static int make_one(const char *path)
{
    return mkdir(path, 0777) == 0 || (errno == EEXIST && osc_path_is_dir(path)) ? 0 : -1;
}

osc_status osc_mkdir_p(const char *path, osc_err *err)
{
    if (path[0] == '\0')
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET, "an empty path names no directory");
    char *part = osc_memdup0(path, strlen(path));
    if (!part)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to make a directory");
    osc_status status = OSC_OK;
    for (char *slash = strchr(part + 1, '/'); slash && status == OSC_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_one(part) != 0)
            status = osc_io_fail(err, part, "make the directory");
        *slash = '/';
    }
    if (status == OSC_OK && make_one(part) != 0)
        status = osc_io_fail(err, path, "make the directory");
    osc_free(part);
    return status;
}

void osc_dir_list_free(osc_dir_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        osc_free(list->entries[i].name);
    osc_free(list->entries);
    list->entries = NULL;
    list->count = 0;
}

static int by_name(const void *a, const void *b)
{
    const osc_dir_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Adds one entry; *cap is the room in list->entries. */
static bool add_entry(osc_dir_list *list, size_t *cap, int dir_fd, const char *name)
{
    struct stat st;
    if (list->count == *cap) {
        size_t bigger = *cap ? *cap * 2 : 16;
        osc_dir_entry *entries = osc_realloc_array(list->entries, bigger, sizeof *entries);
        if (!entries)
            return false;
        list->entries = entries;
        *cap = bigger;
    }
    osc_dir_entry entry = {.name = osc_memdup0(name, strlen(name))};
    if (!entry.name)
        return false;
    if (fstatat(dir_fd, name, &st, 0) == 0) {
        entry.is_dir = S_ISDIR(st.st_mode);
        entry.is_file = S_ISREG(st.st_mode);
        entry.size = entry.is_file ? (uint64_t)st.st_size : 0;
    }
    list->entries[list->count++] = entry;
    return true;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

osc_status osc_list_dir(const char *path, osc_dir_list *out, osc_err *err)
{
    size_t cap = 0;
    memset(out, 0, sizeof *out);
    DIR *dir = opendir(path);
    if (!dir)
        return osc_io_fail(err, path, "open the directory");
    osc_status status = OSC_OK;
    errno = 0;
    for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        if (!is_dot(d->d_name) && !add_entry(out, &cap, dirfd(dir), d->d_name)) {
            status =
                osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to list a directory");
            break;
        }
        errno = 0;
    }
    if (status == OSC_OK && errno != 0)
        status = osc_io_fail(err, path, "read the directory");
    (void)closedir(dir);
    if (status != OSC_OK)
        osc_dir_list_free(out);
    else if (out->count > 1)
        qsort(out->entries, out->count, sizeof *out->entries, by_name);
    return status;
}

bool osc_path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool osc_path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool osc_path_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

osc_status osc_file_size(const char *path, uint64_t *size, osc_err *err)
{
    struct stat st;
    *size = 0;
    if (stat(path, &st) != 0)
        return osc_io_fail(err, path, "open");
    if (!S_ISREG(st.st_mode))
        return osc_fail(err, OSC_EIO, path, OSC_NO_OFFSET, "not a regular file");
    *size = (uint64_t)st.st_size;
    return OSC_OK;
}

osc_status osc_remove_file(const char *path, osc_err *err)
{
    return unlink(path) == 0 || errno == ENOENT ? OSC_OK : osc_io_fail(err, path, "remove");
}

/*
 * One removal step: deletes what is not a directory, and the first level of `path` that is empty.
 * Walks down with one open directory per level and no recursion.
 */
struct level {
    DIR *dir;
    char *name; /* in its parent; owned */
};

/* Opens a directory under a descriptor without following a link; NULL with errno. */
static DIR *open_below(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        (void)close(fd);
    return dir;
}

/* Goes into a directory: false with errno set. */
static bool push(struct level *levels, size_t *depth, int parent, const char *name)
{
    if (*depth == REMOVE_MAX_DEPTH) {
        errno = ELOOP;
        return false;
    }
    struct level l = {open_below(parent, name), NULL};
    if (!l.dir)
        return false;
    l.name = osc_memdup0(name, strlen(name));
    if (!l.name) {
        (void)closedir(l.dir);
        errno = ENOMEM;
        return false;
    }
    levels[(*depth)++] = l;
    return true;
}

/* Leaves the deepest directory and removes it from its parent. */
static bool pop(struct level *levels, size_t *depth)
{
    assert(*depth > 0);
    struct level l = levels[--*depth];
    (void)closedir(l.dir);
    int parent = *depth > 0 ? dirfd(levels[*depth - 1].dir) : AT_FDCWD;
    bool removed = unlinkat(parent, l.name, AT_REMOVEDIR) == 0;
    osc_free(l.name);
    return removed;
}

static bool remove_levels(struct level *levels, size_t *depth)
{
    while (*depth > 0) {
        DIR *dir = levels[*depth - 1].dir;
        struct dirent *d = readdir(dir);
        if (!d) {
            if (!pop(levels, depth))
                return false;
            continue;
        }
        if (is_dot(d->d_name) || unlinkat(dirfd(dir), d->d_name, 0) == 0)
            continue;
        if ((errno != EISDIR && errno != EPERM) || !push(levels, depth, dirfd(dir), d->d_name))
            return false;
    }
    return true;
}

osc_status osc_remove_tree(const char *path, osc_err *err)
{
    struct level levels[REMOVE_MAX_DEPTH];
    size_t depth = 0;
    if (!push(levels, &depth, AT_FDCWD, path)) {
        if (errno == ENOENT)
            return OSC_OK;
        return errno == ENOTDIR || errno == ELOOP ? osc_remove_file(path, err)
                                                  : osc_io_fail(err, path, "remove");
    }
    if (remove_levels(levels, &depth))
        return OSC_OK;
    osc_status status = osc_io_fail(err, path, "remove");
    while (depth > 0) {
        depth--;
        (void)closedir(levels[depth].dir);
        osc_free(levels[depth].name);
    }
    return status;
}

char *osc_path_join(const char *dir, const char *name)
{
    size_t a = strlen(dir), b = strlen(name);
    if (a == 0 || name[0] == '/')
        return osc_memdup0(name, b);
    bool slash = dir[a - 1] != '/';
    char *path = osc_alloc(a + slash + b + 1);
    if (!path)
        return NULL;
    memcpy(path, dir, a);
    if (slash)
        path[a] = '/';
    memcpy(path + a + slash, name, b + 1);
    return path;
}

osc_str osc_path_base(osc_str path)
{
    size_t slash = osc_str_rfind_char(path, '/');
    return slash == SIZE_MAX ? path : osc_str_sub(path, slash + 1, SIZE_MAX);
}

osc_str osc_path_dir(osc_str path)
{
    size_t slash = osc_str_rfind_char(path, '/');
    if (slash == SIZE_MAX)
        return OSC_STR(".");
    return slash == 0 ? OSC_STR("/") : osc_str_sub(path, 0, slash);
}
