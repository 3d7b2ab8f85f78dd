/*
 * capture_files.c - session directory, ntrace.pb, trace_info.pb, NEFFs, NTFFs, run.json.
 *
 *     <dir>/<instance>_pid_<pid>/<timestamp>/
 *         run.json          always: at the start without an end, again at the end
 *         ntrace.pb trace_info.pb            RUNTIME
 *         neff_<hash>_vnc_<n>.neff  <hash>_instid_0_vnc_<n>.ntff   DEVICE, at a first execution
 *         cpu_util.pb host_mem.pb            the sampler's
 *
 * NEFFs are written from the loaded program, not copied from a cache: what ran is what is saved,
 * also when the cache is off or was emptied meanwhile.
 */
#include "neuron/runtime/capture_files.h"

#include "artifact/manifest.h"
#include "artifact/neff.h"
#include "artifact/session.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"
#include "neuron/runtime/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NEFF          ((size_t)1 << 30)
#define PRECACHE_BYTES    ((size_t)64 << 20)
#define PRECACHE_PROGRAMS 4096u

struct osc_capture_files {
    osc_capture_setup setup;
    char *dir;
    osc_sampler *sampler;
    osc_map ntffs[OSC_RT_MAX_DEVICES]; /* program hash -> osc_ntff_writer, 0: could not be opened */
    osc_map ready_neffs;               /* program hash -> osc_buf, owned; read-only once open */
    osc_mutex lock;                    /* all below */
    osc_systrace_writer *ntrace;
    uint64_t last_event;
    /* That ran; texts live in the program, of which each holds a reference. */
    osc_trace_program *programs;
    osc_nrt_program **held;
    size_t program_count, program_cap;
    osc_status status; /* first failure */
    osc_err error;
};

const char *osc_capture_files_dir(const osc_capture_files *files)
{
    return files->dir;
}

void osc_capture_files_note(osc_capture_files *files, osc_status status, const osc_err *err)
{
    if (status == OSC_OK)
        return;
    osc_mutex_lock(&files->lock);
    bool first = files->status == OSC_OK;
    if (first) {
        files->status = status;
        files->error = *err;
    }
    osc_mutex_unlock(&files->lock);
    if (first)
        osc_log(OSC_LOG_WARN, "capture: %s%s%s; what was written before is kept", err->input,
                err->input[0] != '\0' ? ": " : "", err->message);
}

/* ---- programs ---- */

static bool room_for_program(osc_capture_files *f)
{
    if (f->program_count < f->program_cap)
        return true;
    size_t cap = f->program_cap > 0 ? f->program_cap * 2 : 16;
    osc_trace_program *programs = osc_realloc_array(f->programs, cap, sizeof *programs);
    if (programs == NULL)
        return false;
    f->programs = programs;
    osc_nrt_program **held = osc_realloc_array(f->held, cap, sizeof(osc_nrt_program *));
    if (held == NULL)
        return false;
    f->held = held;
    f->program_cap = cap;
    return true;
}

/* Lists the program once; needs no files. */
static void list_program(osc_capture_files *f, osc_nrt_program *p)
{
    osc_mutex_lock(&f->lock);
    bool known = false;
    for (size_t i = 0; i < f->program_count && !known; i++)
        known = f->programs[i].hash == p->hash;
    if (!known && room_for_program(f)) {
        osc_trace_program *t = &f->programs[f->program_count];
        *t = (osc_trace_program){.hash = p->hash,
                                 .name = osc_str_from_cstr(p->name),
                                 .cache_key = osc_str_from_cstr(p->cache_key),
                                 .model_id = p->id,
                                 .flops = p->flops};
        osc_neff_uuid(p->program, t->uuid);
        osc_nrt_program_retain(p);
        f->held[f->program_count++] = p;
    }
    osc_mutex_unlock(&f->lock);
}

static osc_status save_neff(osc_capture_files *f, const osc_nrt_program *p, uint32_t core,
                            osc_err *err)
{
    char name[OSC_FILE_NAME_MAX];
    osc_buf own;
    uint64_t ready = 0;
    osc_buf_init(&own, MAX_NEFF);
    const osc_buf *neff =
        osc_map_get(&f->ready_neffs, p->hash, &ready) ? (const osc_buf *)(uintptr_t)ready : &own;
    char *path = osc_path_join(f->dir, osc_neff_file_name(p->hash, core, name));
    osc_status status =
        path != NULL ? OSC_OK : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory");
    if (status == OSC_OK && neff == &own)
        status = osc_neff_write(p->program, &own, err);
    if (status == OSC_OK)
        status = osc_write_file_atomic(path, neff->data, neff->len, err);
    osc_buf_free(&own);
    osc_free(path);
    return status;
}

/* Serialises one program ahead; false ends it: memory is short, or the ceiling is reached. */
static bool precache_one(osc_capture_files *f, const osc_nrt_program *p, size_t *total)
{
    if (osc_map_get(&f->ready_neffs, p->hash, NULL))
        return true;
    osc_buf *neff = osc_alloc(sizeof *neff);
    if (neff == NULL)
        return false;
    osc_buf_init(neff, PRECACHE_BYTES - *total);
    if (osc_neff_write(p->program, neff, NULL) != OSC_OK ||
        osc_map_put(&f->ready_neffs, p->hash, (uintptr_t)neff) != OSC_OK) {
        osc_buf_free(neff);
        osc_free(neff);
        return false;
    }
    *total += neff->len;
    return true;
}

/* What does not fit is serialised at its first execution, as without precaching. */
static void precache(osc_capture_files *f)
{
    osc_nrt_program **programs;
    size_t total = 0, count = osc_program_list(f->setup.rt, PRECACHE_PROGRAMS, &programs);
    bool more = true;
    for (size_t i = 0; i < count; i++) {
        more = more && precache_one(f, programs[i], &total);
        osc_nrt_program_release(programs[i]);
    }
    osc_free(programs);
}

static osc_status open_ntff(osc_capture_files *f, osc_rt_device *device, const osc_nrt_program *p,
                            osc_ntff_writer **out, osc_err *err)
{
    char name[OSC_FILE_NAME_MAX];
    uint32_t core = (uint32_t)device->index;
    osc_ntff_header h = {.neff_hash = p->hash,
                         .generation = (uint32_t)osc_program_generation(p->program),
                         .core = core,
                         .simulated = true,
                         .pid = (uint64_t)getpid(),
                         .capture_start_ns = f->setup.start_ns,
                         .clock_origin_ns = osc_devclock_to_host(&device->clock, 0),
                         .clock_hz = 1000000000};
    osc_neff_uuid(p->program, h.neff_uuid);
    memcpy(h.instance_id, f->setup.rt->config.instance_id, sizeof h.instance_id);
    char *path = osc_path_join(f->dir, osc_ntff_file_name(p->hash, 0, core, name));
    if (path == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory");
    osc_status status = osc_ntff_writer_open(path, &h, out, err);
    osc_free(path);
    return status;
}

/* The NEFF of every program that has an NTFF, for each core. */
static void save_neffs(osc_capture_files *f)
{
    for (uint32_t core = 0; core < OSC_RT_MAX_DEVICES; core++)
        for (size_t i = 0; i < f->program_count; i++) {
            osc_err err = {0};
            if (osc_map_get(&f->ntffs[core], f->held[i]->hash, NULL))
                osc_capture_files_note(f, save_neff(f, f->held[i], core, &err), &err);
        }
}

osc_ntff_writer *osc_capture_files_ntff(osc_capture_files *files, osc_rt_device *device,
                                        osc_nrt_program *program)
{
    osc_map *map = &files->ntffs[device->index];
    osc_ntff_writer *writer = NULL;
    osc_err err = {0};
    uint64_t known;
    if (osc_map_get(map, program->hash, &known))
        return (osc_ntff_writer *)(uintptr_t)known;
    list_program(files, program);
    if ((files->setup.modes & OSC_MODE_DEVICE) == 0)
        return NULL;
    osc_status status = OSC_OK;
    if (!files->setup.neffs_at_stop)
        status = save_neff(files, program, (uint32_t)device->index, &err);
    osc_capture_files_note(files, status, &err);
    status = open_ntff(files, device, program, &writer, &err);
    osc_capture_files_note(files, status, &err);
    if (osc_map_put(map, program->hash, (uintptr_t)writer) != OSC_OK && writer != NULL) {
        osc_capture_files_note(files, osc_ntff_writer_close(writer, osc_now_ns(), &err), &err);
        writer = NULL;
    }
    return writer;
}

/* ---- system trace ---- */

void osc_capture_files_events(osc_capture_files *files, osc_systrace_event *events, size_t count)
{
    osc_err err = {0};
    if (files->ntrace == NULL)
        return;
    osc_mutex_lock(&files->lock);
    osc_status status = OSC_OK;
    uint64_t first = files->last_event + 1;
    for (size_t i = 0; i < count && status == OSC_OK; i++) {
        events[i].id = ++files->last_event;
        events[i].parent_id = i > 0 ? first : 0;
        status = osc_systrace_writer_event(files->ntrace, &events[i], &err);
    }
    if (status == OSC_OK)
        status = osc_systrace_writer_flush(files->ntrace, &err);
    osc_mutex_unlock(&files->lock);
    osc_capture_files_note(files, status, &err);
}

/* ---- metadata ---- */

static osc_status write_info(osc_capture_files *f, const osc_capture_outcome *o, osc_err *err)
{
    const osc_rt_config *config = &f->setup.rt->config;
    osc_trace_info info = {.instance_id = osc_str_from_cstr(config->instance_id),
                           .instance_type = osc_str_from_cstr(config->instance_type),
                           .pid = (uint64_t)getpid(),
                           .simulated = true,
                           .producer = OSC_STR("opscope " OSC_VERSION),
                           .window_start_ns = f->setup.start_ns,
                           .window_end_ns = o->end_ns,
                           .cores = o->cores,
                           .core_count = o->core_count,
                           .programs = f->programs,
                           .program_count = f->program_count,
                           .settings = f->setup.settings,
                           .setting_count = f->setup.setting_count};
    char *path = osc_path_join(f->dir, osc_systrace_file_name(OSC_SYSTRACE_INFO));
    if (path == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory");
    osc_status status = osc_trace_info_write(path, &info, err);
    osc_free(path);
    return status;
}

static osc_status write_manifest(osc_capture_files *f, const osc_capture_outcome *o, osc_err *err)
{
    const osc_rt_config *config = &f->setup.rt->config;
    osc_manifest_facts facts = {.size = sizeof facts,
                                .facts_json = f->setup.facts_json,
                                .settings_json = f->setup.settings_json,
                                .sheet = &config->sheet,
                                .instance_id = config->instance_id,
                                .instance_type = config->instance_type,
                                .pid = (uint64_t)getpid(),
                                .simulated = true,
                                .window_start_ns = f->setup.start_ns,
                                .window_end_ns = o->end_ns,
                                .dropped_events = o->dropped};
    return osc_manifest_write(f->dir, &facts, err);
}

/* ---- life ---- */

static osc_status open_ntrace(osc_capture_files *f, osc_err *err)
{
    char *path = osc_path_join(f->dir, osc_systrace_file_name(OSC_SYSTRACE_NTRACE));
    if (path == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory");
    osc_status status = osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &f->ntrace, err);
    osc_free(path);
    return status;
}

/* Files are written until the window ends, and the program may change its directory until then. */
static osc_status make_absolute(char **path, osc_err *err)
{
    char *absolute = realpath(*path, NULL);
    if (absolute == NULL)
        return osc_fail(err, OSC_EIO, *path, OSC_NO_OFFSET, "cannot resolve: %s", strerror(errno));
    osc_free(*path);
    *path = osc_memdup0(absolute, strlen(absolute));
    free(absolute);
    return *path != NULL ? OSC_OK
                         : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory");
}

static osc_status create_all(osc_capture_files *f, osc_err *err)
{
    const osc_capture_setup *setup = &f->setup;
    osc_capture_outcome open_window = {0};
    bool runtime = (setup->modes & OSC_MODE_RUNTIME) != 0;
    bool cpu = (setup->modes & OSC_MODE_CPU_UTIL) != 0,
         memory = (setup->modes & OSC_MODE_HOST_MEMORY) != 0;
    osc_status status = osc_session_create(setup->output_dir, setup->rt->config.instance_id,
                                           (uint64_t)getpid(), setup->start_ns, &f->dir, err);
    if (status == OSC_OK)
        status = make_absolute(&f->dir, err);
    if (status == OSC_OK && runtime)
        status = open_ntrace(f, err);
    if (status == OSC_OK && runtime)
        status = write_info(f, &open_window, err);
    if (status == OSC_OK)
        status = write_manifest(f, &open_window, err);
    if (status == OSC_OK && setup->precache && (setup->modes & OSC_MODE_DEVICE) != 0)
        precache(f);
    if (status == OSC_OK && (cpu || memory))
        status = osc_sampler_start(f->dir, cpu, memory, &f->sampler, err);
    return status;
}

static void discard(osc_capture_files *f)
{
    size_t pos = 0;
    uint64_t hash, neff;
    while (osc_map_next(&f->ready_neffs, &pos, &hash, &neff)) {
        osc_buf_free((osc_buf *)(uintptr_t)neff);
        osc_free((osc_buf *)(uintptr_t)neff);
    }
    osc_map_free(&f->ready_neffs);
    for (size_t i = 0; i < f->program_count; i++)
        osc_nrt_program_release(f->held[i]);
    for (size_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        osc_map_free(&f->ntffs[i]);
    osc_free(f->held);
    osc_free(f->programs);
    osc_free(f->dir);
    osc_mutex_destroy(&f->lock);
    osc_free(f);
}

osc_status osc_capture_files_open(const osc_capture_setup *setup, osc_capture_files **out,
                                  osc_err *err)
{
    *out = NULL;
    osc_capture_files *f = osc_calloc(1, sizeof *f);
    if (f == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a capture");
    osc_mutex_init(&f->lock);
    f->setup = *setup;
    osc_status status = create_all(f, err);
    if (status == OSC_OK) {
        *out = f;
        return OSC_OK;
    }
    osc_err ignored;
    if (osc_systrace_writer_close(f->ntrace, setup->start_ns, &ignored) != OSC_OK)
        osc_log(OSC_LOG_DEBUG, "capture: %s", ignored.message);
    if (f->dir != NULL && osc_remove_tree(f->dir, &ignored) != OSC_OK)
        osc_log(OSC_LOG_DEBUG, "capture: %s", ignored.message);
    discard(f);
    return status;
}

static void close_ntffs(osc_capture_files *f, int64_t end_ns)
{
    for (size_t i = 0; i < OSC_RT_MAX_DEVICES; i++) {
        size_t pos = 0;
        uint64_t hash, writer;
        while (osc_map_next(&f->ntffs[i], &pos, &hash, &writer)) {
            osc_err err = {0};
            osc_status status =
                osc_ntff_writer_close((osc_ntff_writer *)(uintptr_t)writer, end_ns, &err);
            osc_capture_files_note(f, status, &err);
        }
    }
}

osc_status osc_capture_files_close(osc_capture_files *files, const osc_capture_outcome *outcome,
                                   osc_err *err)
{
    osc_err mine = {0};
    bool runtime = (files->setup.modes & OSC_MODE_RUNTIME) != 0;
    if (files->setup.neffs_at_stop)
        save_neffs(files);
    close_ntffs(files, outcome->end_ns);
    osc_capture_files_note(files, osc_sampler_stop(files->sampler, &mine), &mine);
    for (size_t i = 0; i < outcome->core_count && files->ntrace != NULL; i++)
        if (outcome->cores[i].events_dropped > 0)
            osc_systrace_writer_dropped(files->ntrace, outcome->cores[i].nc_idx,
                                        outcome->cores[i].events_dropped);
    osc_capture_files_note(files, osc_systrace_writer_close(files->ntrace, outcome->end_ns, &mine),
                           &mine);
    if (runtime)
        osc_capture_files_note(files, write_info(files, outcome, &mine), &mine);
    osc_capture_files_note(files, write_manifest(files, outcome, &mine), &mine);
    osc_status status = files->status;
    if (status != OSC_OK && err != NULL)
        *err = files->error;
    discard(files);
    return status;
}
