/*
 * diskcache.c - the compile cache on disk.
 *
 * Nothing is locked: entries are immutable and named by content, so two processes that miss the
 * same key write the same bytes and the second rename changes nothing. A process killed while
 * writing leaves at most a temporary that no key names, swept up an hour later. The vendor's cache
 * takes a lock file per key to save a compile of minutes; ours saves milliseconds, and a lock that
 * outlives its owner costs more.
 *
 * Entries are not synced before the rename. A killed process cannot show half an entry; a machine
 * that loses power can, and then the NEFF's hash tells and the entry is compiled anew. The sync was
 * measured: 8 ms an entry against 0.04 ms to compile a small operator, paid by the thread that
 * launches it.
 *
 * A cache must not make a program fail: whatever is wrong here is a miss, said once to the log.
 */
#include "neuron/runtime/diskcache.h"

#include "artifact/neff.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_NEFF      ((size_t)1 << 30)
#define STALE_SECONDS 3600
#define TEMPORARY     ".tmp-" /* in the names that osc_write_file_atomic gives its temporaries */

char *osc_diskcache_path(const char *dir, const osc_cachekey *key)
{
    assert(strlen(key->disk) == 32);
    char name[48] = {0};
    memcpy(name, key->disk, 2);
    name[2] = '/';
    memcpy(name + 3, key->disk + 2, 2);
    name[5] = '/';
    memcpy(name + 6, key->disk, 32);
    memcpy(name + 38, ".neff", 5);
    return osc_path_join(dir, name);
}

static void drop_entry(const char *path, const osc_err *why)
{
    osc_err err = {0};
    bool removed = osc_remove_file(path, &err) == OSC_OK;
    osc_log(OSC_LOG_WARN, "compile cache: %s is unusable (%s)%s; it is compiled anew", path,
            why->message, removed ? " and was removed" : "");
}

static osc_program *read_entry(const char *path, osc_generation generation)
{
    osc_err err = {0};
    osc_program *program = NULL;
    char *data;
    size_t len;
    if (!osc_path_exists(path))
        return NULL;
    osc_status status = osc_read_file(path, MAX_NEFF, &data, &len, &err);
    if (status != OSC_OK) {
        osc_log(OSC_LOG_WARN, "compile cache: %s cannot be read: %s", path, err.message);
        return NULL;
    }
    status = osc_neff_read((const uint8_t *)data, len, path, &program, &err);
    osc_free(data);
    if (status == OSC_ENOMEM)
        return NULL;
    if (status != OSC_OK) {
        drop_entry(path, &err);
        return NULL;
    }
    if (osc_program_generation(program) == generation)
        return program;
    osc_program_release(program);
    return NULL;
}

bool osc_diskcache_load(const char *dir, const osc_cachekey *key, osc_generation generation,
                        osc_program **out)
{
    *out = NULL;
    char *path = osc_diskcache_path(dir, key);
    if (path == NULL)
        return false;
    *out = read_entry(path, generation);
    osc_free(path);
    return *out != NULL;
}

/* Temporaries of writers that died: nobody renames them any more after an hour. */
static void sweep_temporaries(const char *folder)
{
    osc_dir_list list;
    if (osc_list_dir(folder, &list, NULL) != OSC_OK)
        return;
    for (size_t i = 0; i < list.count; i++) {
        struct stat info;
        osc_err err = {0};
        if (strstr(list.entries[i].name, ".neff" TEMPORARY) == NULL)
            continue;
        char *path = osc_path_join(folder, list.entries[i].name);
        if (path != NULL && stat(path, &info) == 0 && time(NULL) - info.st_mtime > STALE_SECONDS &&
            osc_remove_file(path, &err) != OSC_OK)
            osc_log(OSC_LOG_DEBUG, "compile cache: %s", err.message);
        osc_free(path);
    }
    osc_dir_list_free(&list);
}

static osc_status write_entry(const char *path, const osc_program *program, osc_err *err)
{
    char folder[4200];
    osc_buf neff;
    osc_buf_init(&neff, MAX_NEFF);
    osc_str parent = osc_path_dir(osc_str_from_cstr(path));
    osc_status status = parent.len < sizeof folder ? OSC_OK
                                                   : osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET,
                                                              "the path is too long");
    if (status == OSC_OK)
        status = osc_mkdir_p(osc_str_to_array(parent, folder, sizeof folder), err);
    if (status == OSC_OK)
        sweep_temporaries(folder);
    if (status == OSC_OK)
        status = osc_neff_write(program, &neff, err);
    if (status == OSC_OK)
        status = osc_write_file_atomic(path, neff.data, neff.len, err);
    osc_buf_free(&neff);
    return status;
}

void osc_diskcache_save(const char *dir, const osc_cachekey *key, const osc_program *program)
{
    osc_err err = {0};
    char *path = osc_diskcache_path(dir, key);
    if (path == NULL)
        return;
    if (write_entry(path, program, &err) != OSC_OK)
        osc_log(OSC_LOG_WARN, "compile cache: %s was not saved: %s", path, err.message);
    osc_free(path);
}
