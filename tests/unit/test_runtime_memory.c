/* Device memory: addresses that fault, the allocator against a shadow, statistics, out of
 * memory. */
#include "base/mem.h"
#include "base/rng.h"
#include "neuron/runtime/memory.h"
#include "runtime_support.h"

#include <signal.h>

#define MIB (UINT64_C(1) << 20)

static osc_devmem *open_mem(uint64_t capacity)
{
    osc_devmem *mem = NULL;
    osc_err err = {0};
    TAP_OKF(osc_devmem_open(0, capacity, &mem, &err) == OSC_OK, "%s", err.message);
    return mem;
}

static void *take(osc_devmem *mem, uint64_t bytes)
{
    void *at = NULL;
    TAP_EQ_STATUS(osc_devmem_alloc(mem, bytes, &at, NULL), OSC_OK);
    return at;
}

static osc_nrt_memory stats_of(osc_devmem *mem)
{
    osc_nrt_memory s = {.size = sizeof s};
    osc_devmem_stats(mem, &s);
    return s;
}

static void test_alias(void)
{
    osc_devmem *mem = open_mem(4 * MIB);
    TAP_REQUIRE(mem != NULL);
    void *a = take(mem, 100);
    uint64_t rest;
    uint8_t *alias = osc_devmem_alias(mem, a, &rest);
    TAP_EQ_U64((uintptr_t)a % 256, 0);
    TAP_OK((void *)alias != a);
    TAP_EQ_U64(rest, 4 * MIB);
    memset(alias, 7, 100);
    TAP_OK(osc_devmem_owns(mem, a, 4 * MIB));
    TAP_OK(!osc_devmem_owns(mem, a, 4 * MIB + 1));
    TAP_OK(!osc_devmem_owns(mem, alias, 1));
    osc_devmem_punch(mem, 0, MIB);
    TAP_EQ_U64(alias[0], 0);
    TAP_EQ_U64(alias[99], 0);
    osc_devmem_close(mem);
}

static bool touch_device_address(void)
{
    osc_devmem *mem = open_mem(MIB);
    volatile char *at = take(mem, 256);
    (void)signal(SIGSEGV, SIG_DFL);
    return *at == 0;
}

static void test_host_access_faults(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    tap_skip("the sanitizer takes the fault for itself");
    return;
#endif
    int status = child_status(touch_device_address, NULL);
    TAP_OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void test_reuse_and_stats(void)
{
    osc_devmem *mem = open_mem(8 * MIB);
    TAP_REQUIRE(mem != NULL);
    void *a = take(mem, 1000), *b = take(mem, 1000), *c = take(mem, 300);
    TAP_OK(a != b && b != c);
    osc_nrt_memory s = stats_of(mem);
    TAP_EQ_U64(s.capacity, 8 * MIB);
    TAP_EQ_U64(s.allocated, 1024 + 1024 + 512);
    TAP_OK(osc_devmem_free(mem, a));
    TAP_OK(!osc_devmem_free(mem, a));
    TAP_OK(osc_devmem_free(mem, b));
    s = stats_of(mem);
    TAP_EQ_U64(s.allocated, 512);
    TAP_EQ_U64(s.reserved, 2560);
    TAP_EQ_U64(s.peak_allocated, 2560);
    TAP_EQ_U64(s.free_count, 2);
    TAP_OK(take(mem, 999) == b); /* same grain count: the block freed last */
    TAP_OK(take(mem, 1024) == a);
    TAP_OK(osc_devmem_free(mem, b));
    osc_devmem_empty_cache(mem);
    TAP_EQ_U64(stats_of(mem).reserved, stats_of(mem).allocated);
    osc_devmem_reset_peak(mem);
    osc_devmem_reset_totals(mem);
    s = stats_of(mem);
    TAP_EQ_U64(s.peak_allocated, s.allocated);
    TAP_EQ_U64(s.alloc_count, 0);
    TAP_EQ_U64(s.total_allocated_bytes, 0);
    void *own = NULL;
    TAP_EQ_STATUS(osc_devmem_alloc_own(mem, 4096, &own, NULL), OSC_OK);
    TAP_EQ_U64(stats_of(mem).allocated, s.allocated);
    TAP_EQ_U64(stats_of(mem).reserved, s.reserved + 4096);
    TAP_EQ_U64(stats_of(mem).alloc_count, 0);
    TAP_OK(osc_devmem_free(mem, own));
    osc_devmem_empty_cache(mem);
    TAP_EQ_U64(stats_of(mem).reserved, s.reserved);
    osc_devmem_close(mem);
}

static void test_out_of_memory(void)
{
    osc_devmem *mem = open_mem(4 * MIB);
    TAP_REQUIRE(mem != NULL);
    void *block[4], *big = NULL;
    osc_err err = {0};
    for (int i = 0; i < 4; i++)
        block[i] = take(mem, MIB);
    TAP_EQ_STATUS(osc_devmem_alloc(mem, 1, &big, &err), OSC_EDEVMEM);
    TAP_OK(big == NULL);
    TAP_OK(strstr(err.message, "wanted 1 B") != NULL);
    TAP_OK(strstr(err.message, "in use 4.2 MB of 4.2 MB") != NULL);
    TAP_OK(strstr(err.message, "OPSCOPE_HBM_BYTES") != NULL);
    TAP_OK(osc_devmem_free(mem, block[0]));
    TAP_OK(osc_devmem_free(mem, block[2]));
    TAP_EQ_STATUS(osc_devmem_alloc(mem, 2 * MIB, &big, &err), OSC_EDEVMEM);
    TAP_OK(strstr(err.message, "no free range is that long") != NULL);
    TAP_OK(osc_devmem_free(mem, block[1]));
    TAP_EQ_STATUS(osc_devmem_alloc(mem, 3 * MIB, &big, &err), OSC_OK); /* neighbours join */
    TAP_EQ_U64(stats_of(mem).oom_count, 2);
    TAP_EQ_STATUS(osc_devmem_alloc(mem, UINT64_MAX, &block[1], &err), OSC_EDEVMEM);
    TAP_OK(osc_devmem_free(mem, big));
    TAP_OK(osc_devmem_free(mem, block[3]));
    TAP_OK(take(mem, 4 * MIB) != NULL);
    osc_devmem_close(mem);
}

typedef struct shadow {
    uint8_t *at;
    uint64_t size;
    uint8_t mark;
} shadow;

static bool intact(osc_devmem *mem, const shadow *s)
{
    uint64_t rest;
    const uint8_t *p = osc_devmem_alias(mem, s->at, &rest);
    return p[0] == s->mark && p[s->size / 2] == s->mark && p[s->size - 1] == s->mark;
}

/* Blocks keep their bytes while others come and go: no two overlap. */
static void test_random_against_shadow(void)
{
    enum { LIVE = 200 };
    osc_devmem *mem = open_mem(16 * MIB);
    TAP_REQUIRE(mem != NULL);
    shadow live[LIVE] = {{NULL, 0, 0}};
    osc_rng rng = {.state = 20261129};
    uint64_t bytes = 0, wrong = 0, refused = 0;
    for (int step = 0; step < 30000; step++) {
        shadow *s = &live[osc_rng_below(&rng, LIVE)];
        if (s->at != NULL) {
            wrong += !intact(mem, s) || !osc_devmem_free(mem, s->at);
            bytes -= (s->size + 255) / 256 * 256;
            s->at = NULL;
        } else {
            void *at;
            uint64_t rest;
            s->size = 1 + osc_rng_below(&rng, UINT64_C(1) << osc_rng_below(&rng, 20));
            s->mark = (uint8_t)osc_rng_next(&rng);
            if (osc_devmem_alloc(mem, s->size, &at, NULL) != OSC_OK) {
                refused++;
                continue;
            }
            s->at = at;
            memset(osc_devmem_alias(mem, at, &rest), s->mark, s->size);
            bytes += (s->size + 255) / 256 * 256;
        }
        wrong += stats_of(mem).allocated != bytes;
    }
    TAP_EQ_U64(wrong, 0);
    tap_note("%llu of 30000 requests did not fit", (unsigned long long)refused);
    for (int i = 0; i < LIVE; i++)
        if (live[i].at != NULL)
            TAP_OK(osc_devmem_free(mem, live[i].at));
    TAP_OK(take(mem, 16 * MIB) != NULL); /* everything joined again */
    osc_devmem_close(mem);
}

typedef struct trims {
    uint64_t calls, bytes;
    bool accept;
} trims;

static bool record_trim(void *context, uint64_t offset, uint64_t bytes)
{
    trims *t = context;
    (void)offset;
    t->calls++;
    t->bytes = bytes;
    return t->accept;
}

static void test_pages_go_back(void)
{
    osc_devmem *mem = open_mem(512 * MIB);
    TAP_REQUIRE(mem != NULL);
    trims t = {.accept = true};
    osc_devmem_set_trim(mem, record_trim, &t);
    void *a = take(mem, 300 * MIB); /* above what the cache keeps */
    TAP_OK(osc_devmem_free(mem, a));
    TAP_EQ_U64(t.calls, 1);
    TAP_OK(t.bytes >= 300 * MIB);
    void *b = take(mem, MIB);
    TAP_OK(osc_devmem_free(mem, b));
    osc_devmem_empty_cache(mem);
    TAP_EQ_U64(t.calls, 1); /* 1 MiB is not worth a call */
    t.accept = false;
    for (int i = 0; i < 2; i++) {
        a = take(mem, 8 * MIB);
        TAP_OK(osc_devmem_free(mem, a));
        osc_devmem_empty_cache(mem);
    }
    TAP_EQ_U64(t.calls, 3); /* refused: asked again next time */
    osc_devmem_close(mem);
}

static bool survive_no_memory(void *unused)
{
    (void)unused;
    osc_devmem *mem;
    void *at[40];
    int got = 0;
    osc_err err = {0};
    if (osc_devmem_open(0, MIB, &mem, &err) != OSC_OK)
        return mem == NULL && err.code == OSC_ENOMEM;
    for (int i = 0; i < 40; i++)
        if (osc_devmem_alloc(mem, 4096, &at[got], &err) == OSC_OK)
            got++;
    bool good = true;
    for (int i = 0; i < got; i++)
        good = good && osc_devmem_free(mem, at[i]);
    good = good && stats_of(mem).allocated == 0;
    osc_devmem_close(mem);
    return good;
}

static void test_no_host_memory(void)
{
    TAP_OK(tap_oom_sweep(survive_no_memory, NULL, 100));
}

int main(void)
{
    TAP_RUN(test_alias);
    TAP_RUN(test_host_access_faults);
    TAP_RUN(test_reuse_and_stats);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_random_against_shadow);
    TAP_RUN(test_pages_go_back);
    TAP_RUN(test_no_host_memory);
    return tap_done();
}
