/* Writes, reads, fills, copies within and between devices: values, order, simulated time, wrong
 * ranges. */
#include "base/clock.h"
#include "base/rng.h"
#include "runtime_support.h"

#define BIG (3u << 20)

static uint8_t sent[BIG], got[BIG];

static void *device_block(int32_t device, uint64_t bytes)
{
    void *at = NULL;
    TAP_EQ_STATUS(osc_nrt_alloc(device, 0, bytes, &at, NULL), OSC_OK);
    return at;
}

static bool child_round_trips(void)
{
    static const uint64_t sizes[] = {1, 4, 63, 64, 65, 4096, 4097, 100000, BIG};
    osc_rng rng = {.state = 7};
    osc_rng_bytes(&rng, sent, sizeof sent);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int non_blocking = 0; non_blocking < 2; non_blocking++) {
            void *at = device_block(0, sizes[i]);
            memset(got, 0, sizeof got);
            NEED_OK(osc_nrt_write(0, 0, at, sent, sizes[i], non_blocking, NULL, ERR));
            if (non_blocking && sizes[i] <= 4096)
                sent[0] ^= 0xff; /* the bytes were taken already */
            NEED_OK(osc_nrt_read(0, 0, got, at, sizes[i], NULL, ERR));
            if (non_blocking && sizes[i] <= 4096)
                sent[0] ^= 0xff;
            NEED(memcmp(sent, got, sizes[i]) == 0);
            osc_nrt_free(at);
        }
    NEED_OK(osc_nrt_write(0, 0, NULL, sent, 0, false, NULL, ERR));
    NEED_OK(osc_nrt_read(0, 0, got, NULL, 0, NULL, ERR));
    return true;
}

static bool fill_is_right(uint64_t count, uint32_t unit)
{
    uint8_t pattern[16];
    uint64_t bytes = count * unit;
    for (uint32_t i = 0; i < 16; i++)
        pattern[i] = (uint8_t)(31 * i + unit);
    uint8_t *at = device_block(0, bytes + 1);
    NEED_OK(osc_nrt_fill(0, 0, at, bytes + 1, "\xee", 1, NULL, ERR));
    NEED_OK(osc_nrt_fill(0, 0, at, count, pattern, unit, NULL, ERR));
    NEED_OK(osc_nrt_read(0, 0, got, at, bytes + 1, NULL, ERR));
    for (uint64_t i = 0; i < bytes; i++)
        if (got[i] != pattern[i % unit])
            return false;
    osc_nrt_free(at);
    return got[bytes] == 0xee;
}

static bool child_fills(void)
{
    static const uint32_t units[] = {1, 2, 4, 8, 16};
    static const uint64_t counts[] = {1, 2, 3, 7, 1000, 65537};
    for (size_t u = 0; u < 5; u++)
        for (size_t c = 0; c < 6; c++)
            NEED(fill_is_right(counts[c], units[u]));
    osc_err err = {0};
    void *at = device_block(0, 100);
    NEED(osc_nrt_fill(0, 0, at, 10, "abc", 3, NULL, &err) == OSC_EINVAL);
    NEED(osc_nrt_fill(0, 0, at, UINT64_MAX / 2, "abcd", 4, NULL, &err) == OSC_EINVAL);
    return true;
}

static bool child_copies(void)
{
    osc_rng rng = {.state = 9};
    osc_rng_bytes(&rng, sent, sizeof sent);
    void *a = device_block(0, BIG), *b = device_block(0, BIG), *c = device_block(1, BIG);
    NEED(osc_nrt_device_of(a) == 0 && osc_nrt_device_of(c) == 1 && osc_nrt_device_of(sent) == -1);
    NEED_OK(osc_nrt_write(0, 0, a, sent, BIG, false, NULL, ERR));
    NEED_OK(osc_nrt_copy(0, 0, b, a, BIG, NULL, ERR));
    NEED_OK(osc_nrt_copy(1, 0, c, b, BIG, NULL, ERR)); /* the target's device runs it */
    NEED_OK(osc_nrt_fill(0, 0, b, BIG, "\0", 1, NULL, ERR));
    NEED_OK(osc_nrt_read(1, 0, got, c, BIG, NULL, ERR));
    NEED(memcmp(sent, got, BIG) == 0);
    NEED_OK(osc_nrt_copy(1, 0, b, c, BIG, NULL, ERR)); /* the source's device runs it */
    NEED_OK(osc_nrt_fill(1, 0, c, BIG, "\1", 1, NULL, ERR));
    NEED_OK(osc_nrt_read(0, 0, got, b, BIG, NULL, ERR));
    NEED(memcmp(sent, got, BIG) == 0);
    return true;
}

/* Ping-pong between two devices from two sides at once: ordered, and no deadlock. */
static bool child_copies_both_ways(void)
{
    void *a = device_block(0, 4096), *b = device_block(1, 4096);
    NEED_OK(osc_nrt_fill(0, 0, a, 4096, "\5", 1, NULL, ERR));
    for (int i = 0; i < 2000; i++) {
        NEED_OK(osc_nrt_copy(i % 3 == 0, 0, b, a, 4096, NULL, ERR));
        NEED_OK(osc_nrt_copy(i % 2, 0, a, b, 4096, NULL, ERR));
    }
    NEED_OK(osc_nrt_read(0, 0, got, a, 4096, NULL, ERR));
    NEED(got[0] == 5 && got[4095] == 5);
    return true;
}

static bool refuses(osc_status status, const osc_err *err, const char *text)
{
    return TAP_OKF(status == OSC_EINVAL && strstr(err->message, text) != NULL, "%s: %s",
                   osc_status_name(status), err->message);
}

static bool child_wrong_ranges(void)
{
    osc_err e = {0};
    uint8_t *a = device_block(0, 4096);
    void *c = device_block(1, 4096);
    uint64_t whole = UINT64_C(64) << 20;
    NEED(
        refuses(osc_nrt_write(0, 0, sent, sent, 4, false, NULL, &e), &e, "not memory of device 0"));
    NEED(refuses(osc_nrt_write(0, 0, c, sent, 4, false, NULL, &e), &e, "not memory of device 0"));
    NEED(refuses(osc_nrt_write(0, 0, a, sent, whole + 1, true, NULL, &e), &e, "not memory"));
    NEED(refuses(osc_nrt_read(0, 0, got, sent, 4, NULL, &e), &e, "read:"));
    NEED(refuses(osc_nrt_read(0, 0, a, a, 4, NULL, &e), &e, "use osc_nrt_copy"));
    NEED(refuses(osc_nrt_write(0, 0, a, c, 4, true, NULL, &e), &e, "is memory of device 1"));
    NEED(refuses(osc_nrt_write(0, 0, a, NULL, 4, false, NULL, &e), &e, "host address is NULL"));
    NEED(refuses(osc_nrt_fill(0, 0, a, UINT64_MAX / 2, sent, 4, NULL, &e), &e, "not memory"));
    NEED(refuses(osc_nrt_fill(0, 0, a, 1, NULL, 4, NULL, &e), &e, "a pattern has"));
    NEED(refuses(osc_nrt_copy(0, 0, a, sent, 4, NULL, &e), &e, "not memory of any device"));
    NEED(refuses(osc_nrt_copy(2, 0, a, c, 4, NULL, &e), &e, "is memory of device 2"));
    NEED(refuses(osc_nrt_write(4, 0, a, sent, 4, false, NULL, &e), &e, "Valid range is 0 to 3"));
    NEED(refuses(osc_nrt_write(-1, 0, a, sent, 4, false, NULL, &e), &e, "Invalid device id: -1"));
    NEED(refuses(osc_nrt_write(0, 5, a, sent, 4, false, NULL, &e), &e, "no stream 5"));
    osc_nrt_op bad = {.size = 3};
    NEED(refuses(osc_nrt_write(0, 0, a, sent, 4, false, &bad, &e), &e, "osc_nrt_op.size"));
    return true;
}

/* A link slow enough that the host is always ahead of simulated time. */
#define SLOW_LINK "OPSCOPE_SHEET=host_link_bw=0.005,host_copy_fixed_ns=1000000"

static int64_t link_ns(uint64_t bytes)
{
    return 1000000 + (int64_t)bytes * 200;
}

/* Simulated time: a write takes its model time, writes of all streams queue behind each other. */
static bool child_times(void)
{
    osc_nrt_event *begin, *middle, *end, *other;
    int64_t stream, ns;
    uint64_t bytes = 1u << 18;
    void *a = device_block(0, bytes);
    NEED_OK(osc_nrt_stream_create(0, 0, &stream, ERR));
    NEED_OK(osc_nrt_event_create(&begin, ERR));
    NEED_OK(osc_nrt_event_create(&middle, ERR));
    NEED_OK(osc_nrt_event_create(&end, ERR));
    NEED_OK(osc_nrt_event_create(&other, ERR));
    NEED_OK(osc_nrt_write(0, 0, a, sent, bytes, true, NULL, ERR)); /* makes the stream busy */
    NEED_OK(osc_nrt_event_record(begin, 0, 0, ERR));
    NEED_OK(osc_nrt_write(0, 0, a, sent, bytes, true, NULL, ERR));
    NEED_OK(osc_nrt_event_record(middle, 0, 0, ERR));
    NEED_OK(osc_nrt_write(0, stream, a, sent, 100, true, NULL, ERR)); /* same lane, other stream */
    NEED_OK(osc_nrt_event_record(other, 0, stream, ERR));
    NEED_OK(osc_nrt_write(0, 0, a, sent, 4, true, NULL, ERR));
    NEED_OK(osc_nrt_event_record(end, 0, 0, ERR));
    int64_t before = osc_now_ns();
    NEED_OK(osc_nrt_synchronize(0, ERR));
    NEED(osc_now_ns() - before > 2 * link_ns(bytes) - 10000000); /* it really waits */
    NEED_OK(osc_nrt_event_elapsed(begin, middle, &ns, ERR));
    NEED(ns == link_ns(bytes));
    NEED_OK(osc_nrt_event_elapsed(middle, other, &ns, ERR));
    NEED(ns == link_ns(100));
    NEED_OK(osc_nrt_event_elapsed(middle, end, &ns, ERR));
    NEED(ns == link_ns(100) + link_ns(4));
    osc_nrt_event_destroy(begin);
    osc_nrt_event_destroy(middle);
    osc_nrt_event_destroy(end);
    osc_nrt_event_destroy(other);
    return true;
}

static void test_round_trips(void)
{
    CHILD(child_round_trips, PLAIN);
}
static void test_fills(void)
{
    CHILD(child_fills, PLAIN);
}
static void test_copies(void)
{
    CHILD(child_copies, PLAIN);
}
static void test_copies_both_ways(void)
{
    CHILD(child_copies_both_ways, PLAIN);
}
static void test_wrong_ranges(void)
{
    CHILD(child_wrong_ranges, PLAIN);
}
static void test_times(void)
{
    CHILD(child_times, PLAIN, SLOW_LINK);
}

int main(void)
{
    TAP_RUN(test_round_trips);
    TAP_RUN(test_fills);
    TAP_RUN(test_copies);
    TAP_RUN(test_copies_both_ways);
    TAP_RUN(test_wrong_ranges);
    TAP_RUN(test_times);
    return tap_done();
}
