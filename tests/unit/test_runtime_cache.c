/* The compile cache on disk: hits, damage, two processes, writers killed at any moment. */
#include "artifact/program.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "neuron/runtime/cachekey.h"
#include "neuron/runtime/diskcache.h"
#include "runtime_support.h"

#include <signal.h>

static char cache_dir[600], cache_setting[700];

static const char *const *settings(void)
{
    static const char *list[3];
    list[0] = cache_setting;
    list[1] = "OPSCOPE_HBM_BYTES=64M";
    return list;
}

/* x * x for a [1, columns] tensor; every width is a program of its own. */
static osc_graph *square_graph(int64_t columns)
{
    int64_t size[2] = {1, columns}, stride[2] = {columns, 1};
    osc_graph *g = osc_graph_new("aten::mul");
    osc_value in = osc_graph_tensor(g, OSC_F32, 2, size, stride, true, false, 0);
    osc_value out = osc_graph_tensor(g, OSC_F32, 2, size, stride, false, true, 1);
    osc_arg args[2] = {{.kind = OSC_ARG_TENSOR, .tensor = in},
                       {.kind = OSC_ARG_TENSOR, .tensor = in}};
    (void)osc_graph_op(g, "aten::mul.Tensor", args, 2, &out, 1);
    return g;
}

static int64_t width = 64;

static bool compile_and_run(uint64_t disk_hits, uint64_t compilations)
{
    osc_nrt_program *p;
    osc_nrt_cache_stats s = {.size = sizeof s};
    float host[2] = {3, 0};
    void *addresses[2];
    osc_graph *g = square_graph(width);
    NEED_OK(osc_nrt_compile(g, &p, ERR));
    osc_graph_free(g);
    for (int i = 0; i < 2; i++)
        NEED_OK(osc_nrt_alloc(0, 0, (uint64_t)width * 4, &addresses[i], ERR));
    NEED_OK(osc_nrt_write(0, 0, addresses[0], host, 4, false, NULL, ERR));
    NEED_OK(osc_nrt_launch(0, 0, p, addresses, 2, NULL, ERR));
    NEED_OK(osc_nrt_read(0, 0, host + 1, addresses[1], 4, NULL, ERR));
    osc_nrt_get_cache_stats(&s);
    NEED(host[1] == 9);
    NEED(s.disk_hits == disk_hits && s.compilations == compilations);
    osc_nrt_program_release(p);
    return true;
}

static bool child_compiles(void)
{
    return compile_and_run(0, 1);
}
static bool child_hits(void)
{
    return compile_and_run(1, 0);
}
static bool child_compiles_any(void)
{
    osc_nrt_program *p;
    osc_graph *g = square_graph(width);
    NEED_OK(osc_nrt_compile(g, &p, ERR));
    osc_graph_free(g);
    osc_nrt_program_release(p);
    return true;
}

/* Path of the entry of the current width; caller frees. */
static char *entry_path(void)
{
    osc_cachekey key;
    osc_graph *g = square_graph(width);
    char *path = NULL;
    if (TAP_OK(osc_cachekey_make(g, OSC_TRN2, &key, NULL) == OSC_OK)) {
        path = osc_diskcache_path(cache_dir, &key);
        osc_cachekey_free(&key);
    }
    osc_graph_free(g);
    return path;
}

static void test_hit(void)
{
    width = 64;
    TAP_OK(child_passes(child_compiles, settings()));
    char *path = entry_path();
    TAP_OK(path != NULL && osc_path_is_file(path));
    TAP_EQ_U64(strlen(path), strlen(cache_dir) + 6 + 1 + 37);
    osc_free(path);
    TAP_OK(child_passes(child_hits, settings()));
}

/* Cut short, emptied, one byte changed: found out, replaced by a good entry. */
static void test_damage(void)
{
    width = 64;
    char *path = entry_path(), *good;
    size_t len;
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &good, &len, NULL) == OSC_OK);
    size_t cuts[] = {0, 1, 1023, 1024, len / 2, len - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        TAP_EQ_STATUS(osc_write_file_atomic(path, good, cuts[i], NULL), OSC_OK);
        TAP_OK(child_passes(child_compiles, settings()));
        TAP_OK(child_passes(child_hits, settings()));
    }
    size_t changed[] = {5, 1024, 1024 + (len - 1024) / 2};
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        good[changed[i]] ^= 0x20;
        TAP_EQ_STATUS(osc_write_file_atomic(path, good, len, NULL), OSC_OK);
        good[changed[i]] ^= 0x20;
        TAP_OK(child_passes(child_compiles, settings()));
    }
    TAP_OK(child_passes(child_hits, settings()));
    osc_free(good);
    osc_free(path);
}

static bool child_no_cache_dir(void)
{
    return compile_and_run(0, 1);
}

/* A directory that cannot be made costs the cache, not the program. */
static void test_unwritable(void)
{
    char file[700], setting[900];
    (void)snprintf(file, sizeof file, "%s/in-the-way", cache_dir);
    TAP_EQ_STATUS(osc_write_file_atomic(file, "x", 1, NULL), OSC_OK);
    (void)snprintf(setting, sizeof setting, "TORCH_NEURONX_NEFF_CACHE_DIR=%s/cache", file);
    CHILD(child_no_cache_dir, setting, "OPSCOPE_HBM_BYTES=64M");
}

/* Several processes compile the same new programs at once; every entry is good afterwards. */
static bool child_compiles_many(void)
{
    for (width = 100; width < 130; width++)
        if (!child_compiles_any())
            return false;
    return true;
}

static bool child_hits_many(void)
{
    osc_nrt_cache_stats s = {.size = sizeof s};
    NEED(child_compiles_many());
    osc_nrt_get_cache_stats(&s);
    NEED(s.disk_hits == 30 && s.compilations == 0);
    return true;
}

static void start_child(bool (*body)(void), pid_t *pid)
{
    (void)fflush(NULL);
    *pid = fork();
    if (*pid != 0)
        return;
    (void)putenv(cache_setting);
    bool ok = body();
    (void)fflush(NULL);
    _exit(ok ? 0 : 1);
}

static void test_race(void)
{
    pid_t pids[3];
    for (int i = 0; i < 3; i++)
        start_child(child_compiles_many, &pids[i]);
    for (int i = 0; i < 3; i++) {
        int status = -1;
        TAP_OK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    }
    TAP_OK(child_passes(child_hits_many, settings()));
}

static int report_fd;

static bool child_compiles_forever(void)
{
    for (width = 1000;; width++) {
        NEED(child_compiles_any());
        if (width == 1000)
            NEED(write(report_fd, "x", 1) == 1);
    }
}

/* Kills writers at arbitrary moments: every name in the cache is a whole entry. */
static void test_killed_writers(void)
{
    enum { KILLS = 12 };
    for (int i = 0; i < KILLS; i++) {
        pid_t pid;
        int fds[2];
        char byte;
        TAP_REQUIRE(pipe(fds) == 0);
        report_fd = fds[1];
        start_child(child_compiles_forever, &pid);
        (void)close(fds[1]);
        TAP_OK(read(fds[0], &byte, 1) == 1);
        (void)close(fds[0]);
        osc_sleep_ns(i * 3700000);
        (void)kill(pid, SIGKILL);
        int status;
        TAP_OK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    }
    uint64_t entries = 0, bad = 0;
    for (width = 1000; width < 1400; width++) {
        osc_cachekey key;
        osc_program *program = NULL;
        osc_graph *g = square_graph(width);
        TAP_REQUIRE(osc_cachekey_make(g, OSC_TRN2, &key, NULL) == OSC_OK);
        char *path = osc_diskcache_path(cache_dir, &key);
        if (osc_path_exists(path)) {
            entries++;
            bad += !osc_diskcache_load(cache_dir, &key, OSC_TRN2, &program);
            osc_program_release(program);
        }
        osc_free(path);
        osc_cachekey_free(&key);
        osc_graph_free(g);
    }
    tap_note("%llu entries after %d kills", (unsigned long long)entries, KILLS);
    TAP_OK(entries > 0);
    TAP_EQ_U64(bad, 0);
}

static void test_key(void)
{
    osc_cachekey a, b, c;
    osc_graph *g = square_graph(7), *h = square_graph(8);
    TAP_EQ_STATUS(osc_cachekey_make(g, OSC_TRN2, &a, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_cachekey_make(g, OSC_TRN1, &b, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_cachekey_make(h, OSC_TRN2, &c, NULL), OSC_OK);
    TAP_OK(strcmp(a.disk, b.disk) != 0 && strcmp(a.disk, c.disk) != 0);
    TAP_OK(strncmp(a.text, "mul--_[1,7]:Float:S(C):", 23) == 0);
    TAP_EQ_U64(strlen(a.text), 23 + 64);
    osc_cachekey_free(&a);
    osc_cachekey_free(&b);
    osc_cachekey_free(&c);
    osc_graph_free(g);
    osc_graph_free(h);
}

int main(void)
{
    (void)snprintf(cache_dir, sizeof cache_dir, "%s/cache", tap_tmpdir());
    (void)snprintf(cache_setting, sizeof cache_setting, "TORCH_NEURONX_NEFF_CACHE_DIR=%s",
                   cache_dir);
    TAP_RUN(test_key);
    TAP_RUN(test_hit);
    TAP_RUN(test_damage);
    TAP_RUN(test_unwritable);
    TAP_RUN(test_race);
    TAP_RUN(test_killed_writers);
    return tap_done();
}
