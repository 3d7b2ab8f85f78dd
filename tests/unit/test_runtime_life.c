/* Streams, events, start, shutdown, fork, memory through the public interface. */
#include "base/clock.h"
#include "runtime_support.h"

#include <pthread.h>
#include <sys/resource.h>

static bool child_info(void)
{
    osc_nrt_info info = {.size = sizeof info};
    NEED(osc_neuron_abi() == OSC_NEURON_ABI);
    NEED_OK(osc_nrt_get_info(&info, ERR));
    NEED(!osc_nrt_is_initialized());
    NEED(strcmp(info.instance_type, "trn3") == 0 && info.device_count == 2 && info.is_virtual);
    NEED(info.hbm_bytes == UINT64_C(64) << 20);
    info.size = 1;
    NEED(osc_nrt_get_info(&info, NULL) == OSC_EINVAL);
    NEED_OK(osc_nrt_init(ERR));
    NEED_OK(osc_nrt_init(ERR));
    NEED(osc_nrt_is_initialized());
    return true;
}

static bool child_bad_environment(void)
{
    osc_err err = {0};
    void *at = &err;
    NEED(osc_nrt_init(&err) == OSC_EINVAL && strstr(err.message, "OPSCOPE_HBM_BYTES") != NULL);
    NEED(osc_nrt_alloc(0, 0, 4, &at, &err) == OSC_EINVAL && at == NULL);
    NEED(!osc_nrt_is_initialized());
    osc_nrt_shutdown();
    return true;
}

static bool child_memory(void)
{
    osc_nrt_memory m = {.size = sizeof m};
    void *a, *b, *none = &m;
    osc_err err = {0};
    NEED_OK(osc_nrt_alloc(0, 0, 1000, &a, ERR));
    NEED_OK(osc_nrt_alloc(0, 0, 0, &none, ERR));
    NEED(none == NULL);
    NEED(osc_nrt_alloc(0, 0, UINT64_C(65) << 20, &b, &err) == OSC_EDEVMEM);
    NEED(strstr(err.message, "device 0 is out of memory: wanted 68.2 MB") != NULL);
    NEED_OK(osc_nrt_memory_stats(0, &m, ERR));
    NEED(m.allocated == 1024 && m.oom_count == 1 && m.capacity == UINT64_C(64) << 20);
    osc_nrt_free(a);
    osc_nrt_free(NULL);
    osc_nrt_free(&m);
    osc_nrt_empty_cache();
    NEED_OK(osc_nrt_memory_stats(0, &m, ERR));
    NEED(m.allocated == 0 && m.reserved == 0 && m.free_count == 1);
    osc_nrt_memory_reset_peak(0);
    osc_nrt_memory_reset_totals(0);
    NEED_OK(osc_nrt_memory_stats(0, &m, ERR));
    NEED(m.peak_allocated == 0 && m.alloc_count == 0);
    return true;
}

static bool child_file_limit(void)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    osc_err err = {0};
    void *at;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    NEED(osc_nrt_alloc(0, 0, 4, &at, &err) == OSC_ENOMEM &&
         strstr(err.message, "ulimit -f") != NULL);
    return true;
}

static bool child_events(void)
{
    osc_nrt_event *a, *b;
    osc_err err = {0};
    int64_t ns, stream;
    void *at;
    static char bytes[1 << 20];
    NEED_OK(osc_nrt_event_create(&a, ERR));
    NEED_OK(osc_nrt_event_create(&b, ERR));
    NEED(osc_nrt_event_query(a));
    NEED_OK(osc_nrt_event_wait(a, 0, 0, ERR)); /* never recorded: nothing to wait for */
    NEED_OK(osc_nrt_event_synchronize(a, ERR));
    NEED(osc_nrt_event_elapsed(a, b, &ns, &err) == OSC_ESTATE);
    NEED_OK(osc_nrt_alloc(0, 0, sizeof bytes, &at, ERR));
    NEED_OK(osc_nrt_stream_create(0, -1, &stream, ERR));
    NEED(stream == 1 && osc_nrt_stream_query(0, stream));
    NEED_OK(osc_nrt_event_record(a, 0, 0, ERR));
    NEED_OK(osc_nrt_write(0, 0, at, bytes, sizeof bytes, true, NULL, ERR));
    NEED_OK(osc_nrt_event_record(b, 0, 0, ERR));
    NEED(!osc_nrt_event_query(b) && !osc_nrt_stream_query(0, 0)); /* 1 MiB takes simulated time */
    NEED_OK(osc_nrt_event_wait(b, 0, stream, ERR));
    NEED_OK(osc_nrt_event_record(a, 0, stream, ERR)); /* recorded anew, behind the wait */
    osc_nrt_event_destroy(b);                         /* work still refers to it */
    NEED_OK(osc_nrt_stream_synchronize(0, stream, ERR));
    NEED(osc_nrt_event_query(a) && osc_nrt_stream_query(0, 0));
    osc_nrt_event_destroy(a);
    osc_nrt_event_destroy(NULL);
    return true;
}

/* Waiting really lasts until the simulated end. */
static bool child_waits_for_simulated_time(void)
{
    void *at;
    static char bytes[1 << 20];
    NEED_OK(osc_nrt_alloc(0, 0, sizeof bytes, &at, ERR));
    int64_t begin = osc_now_ns();
    for (int i = 0; i < 10; i++)
        NEED_OK(osc_nrt_write(0, 0, at, bytes, sizeof bytes, true, NULL, ERR));
    NEED_OK(osc_nrt_synchronize(0, ERR));
    /* ten MiB at the host link's rate, about 16 GB/s: over 0.6 ms, whatever the host needed */
    NEED(osc_now_ns() - begin > 600000);
    return true;
}

static bool child_event_across_devices(void)
{
    osc_nrt_event *event;
    static char bytes[1 << 20];
    void *a, *b;
    NEED_OK(osc_nrt_event_create(&event, ERR));
    NEED_OK(osc_nrt_alloc(0, 0, sizeof bytes, &a, ERR));
    NEED_OK(osc_nrt_alloc(1, 0, 4, &b, ERR));
    for (int round = 0; round < 50; round++) {
        int64_t ns;
        osc_nrt_event *later;
        NEED_OK(osc_nrt_event_create(&later, ERR));
        NEED_OK(osc_nrt_write(0, 0, a, bytes, sizeof bytes, true, NULL, ERR));
        NEED_OK(osc_nrt_event_record(event, 0, 0, ERR));
        NEED_OK(osc_nrt_event_wait(event, 1, 0, ERR));
        NEED_OK(osc_nrt_write(1, 0, b, bytes, 4, true, NULL, ERR));
        NEED_OK(osc_nrt_event_record(later, 1, 0, ERR));
        NEED_OK(osc_nrt_synchronize(1, ERR));
        NEED_OK(osc_nrt_event_elapsed(event, later, &ns, ERR));
        NEED(ns > 0);
        osc_nrt_event_destroy(later);
    }
    osc_nrt_event_destroy(event);
    return true;
}

static bool child_stream_limit(void)
{
    osc_err err = {0};
    int64_t stream = 0;
    osc_status status = OSC_OK;
    for (int i = 0; i < 2000 && status == OSC_OK; i++)
        status = osc_nrt_stream_create(0, 0, &stream, &err);
    return status == OSC_ENOMEM && stream == -1 && strstr(err.message, "reuse streams") != NULL;
}

static bool child_shutdown(void)
{
    void *at, *more;
    char byte = 1;
    osc_err err = {0};
    NEED_OK(osc_nrt_alloc(0, 0, 4096, &at, ERR));
    for (int i = 0; i < 300; i++)
        NEED_OK(osc_nrt_write(0, 0, at, &byte, 1, true, NULL, ERR));
    osc_nrt_shutdown();
    osc_nrt_shutdown();
    NEED(!osc_nrt_is_initialized());
    NEED(osc_nrt_alloc(0, 0, 4, &more, &err) == OSC_ESTATE &&
         strstr(err.message, "shut down") != NULL);
    NEED(osc_nrt_write(0, 0, at, &byte, 1, true, NULL, &err) == OSC_ESTATE);
    NEED(osc_nrt_init(&err) == OSC_ESTATE);
    NEED(osc_nrt_device_of(at) == 0);
    osc_nrt_free(at);
    return true;
}

static void *launch_forever(void *stop)
{
    void *at;
    char byte = 1;
    if (osc_nrt_alloc(0, 0, 16, &at, NULL) != OSC_OK)
        return NULL;
    while (osc_nrt_write(0, 0, at, &byte, 1, true, NULL, NULL) == OSC_OK) {
    }
    *(int *)stop = 1;
    return NULL;
}

/* A thread that never stops submitting is refused, not waited for. */
static bool child_shutdown_under_fire(void)
{
    pthread_t thread;
    int stopped = 0;
    NEED_OK(osc_nrt_init(ERR));
    NEED(pthread_create(&thread, NULL, launch_forever, &stopped) == 0);
    osc_sleep_ns(20000000);
    osc_nrt_shutdown();
    NEED(pthread_join(thread, NULL) == 0);
    return stopped == 1;
}

static bool in_forked_child(void *inherited, osc_nrt_event *event)
{
    osc_err err = {0};
    void *at;
    int64_t ns;
    osc_nrt_info info = {.size = sizeof info};
    NEED(osc_nrt_in_bad_fork() && !osc_nrt_is_initialized());
    NEED(osc_nrt_init(&err) == OSC_ESTATE);
    NEED(strcmp(err.message,
                "Cannot re-initialize Neuron runtime in forked subprocess. To use Neuron with "
                "multiprocessing, use the 'spawn' start method") == 0);
    NEED(osc_nrt_alloc(0, 0, 4, &at, &err) == OSC_ESTATE);
    NEED(osc_nrt_synchronize(0, &err) == OSC_ESTATE);
    NEED(osc_nrt_stream_create(0, 0, &ns, &err) == OSC_ESTATE);
    NEED_OK(osc_nrt_get_info(&info, ERR));
    osc_nrt_free(inherited);
    NEED(osc_nrt_event_query(event));
    NEED(osc_nrt_event_synchronize(event, &err) == OSC_ESTATE);
    NEED(osc_nrt_event_elapsed(event, event, &ns, &err) == OSC_ESTATE);
    osc_nrt_event_destroy(event);
    osc_nrt_empty_cache();
    osc_nrt_shutdown();
    return true;
}

static bool child_forks(void)
{
    void *at;
    osc_nrt_event *event;
    NEED(!osc_nrt_in_bad_fork());
    NEED_OK(osc_nrt_alloc(0, 0, 4096, &at, ERR));
    NEED_OK(osc_nrt_event_create(&event, ERR));
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_forked_child(at, event) ? 0 : 1);
    int status = -1;
    NEED(waitpid(pid, &status, 0) == pid && status == 0);
    char byte = 3;
    NEED_OK(osc_nrt_write(0, 0, at, &byte, 1, false, NULL, ERR)); /* the parent goes on */
    NEED_OK(osc_nrt_synchronize(0, ERR));
    osc_nrt_event_destroy(event);
    return true;
}

static void test_info(void)
{
    CHILD(child_info, PLAIN, "OPSCOPE_INSTANCE_TYPE=trn3", "NEURON_RT_NUM_CORES=2");
}
static void test_bad_environment(void)
{
    CHILD(child_bad_environment, "OPSCOPE_HBM_BYTES=none");
}
static void test_memory(void)
{
    CHILD(child_memory, PLAIN);
}
static void test_file_limit(void)
{
    CHILD(child_file_limit, PLAIN);
}

static void test_events(void)
{
    CHILD(child_events, PLAIN);
}
static void test_waits(void)
{
    CHILD(child_waits_for_simulated_time, PLAIN);
}
static void test_across_devices(void)
{
    CHILD(child_event_across_devices, PLAIN);
}
static void test_stream_limit(void)
{
    CHILD(child_stream_limit, PLAIN);
}
static void test_shutdown(void)
{
    CHILD(child_shutdown, PLAIN);
}
static void test_shutdown_under_fire(void)
{
    CHILD(child_shutdown_under_fire, PLAIN);
}

static void test_fork(void)
{
#if defined(__SANITIZE_THREAD__)
    tap_skip("ThreadSanitizer does not follow a fork of a threaded process");
    return;
#endif
    CHILD(child_forks, PLAIN);
}

int main(void)
{
    TAP_RUN(test_info);
    TAP_RUN(test_bad_environment);
    TAP_RUN(test_memory);
    TAP_RUN(test_file_limit);
    TAP_RUN(test_events);
    TAP_RUN(test_waits);
    TAP_RUN(test_across_devices);
    TAP_RUN(test_stream_limit);
    TAP_RUN(test_shutdown);
    TAP_RUN(test_shutdown_under_fire);
    TAP_RUN(test_fork);
    return tap_done();
}
