/* Discovery from the environment, the device clock, the launch model. */
#include "neuron/runtime/clock.h"
#include "neuron/runtime/discover.h"
#include "neuron/runtime/launch.h"
#include "runtime_support.h"

static osc_rt_config config;
static osc_err err;

static bool discovers(void)
{
    memset(&err, 0, sizeof err);
    return osc_rt_discover(&config, &err) == OSC_OK;
}

static bool child_defaults(void)
{
    NEED(discovers());
    NEED(strcmp(config.instance_type, "trn2") == 0 && config.generation == OSC_TRN2);
    NEED(config.device_count == 4);
    NEED(config.hbm_bytes == (uint64_t)osc_sheet_default(OSC_TRN2)->hbm_bytes);
    NEED(strcmp(config.cache_dir, "/tmp/neff_cache") == 0 && config.disk_cache);
    NEED(!config.launch_blocking && !config.timing_only && !config.check_hazards);
    NEED(strncmp(config.instance_id, "i-local-", 8) == 0);
    return true;
}

static bool child_all_set(void)
{
    NEED(discovers());
    NEED(config.generation == OSC_TRN1 && config.device_count == 3);
    NEED(config.hbm_bytes == UINT64_C(3) << 30);
    NEED(config.launch_blocking && config.timing_only && config.check_hazards &&
         !config.disk_cache);
    NEED(config.sheet.launch_submit_us == 7.5 && config.sheet.notify_ns == 12);
    NEED(config.clock_offset_ns == -5 && config.clock_drift_ppb == 250);
    NEED(strcmp(config.cache_dir, "/some/where") == 0);
    NEED(strcmp(config.instance_id, "i-0abc") == 0);
    return true;
}

static bool child_refuses(void)
{
    bool refused = !discovers();
    tap_note("%s", err.message);
    const char *name = getenv("EXPECT");
    return refused && err.code < 0 && name != NULL && strstr(err.message, name) != NULL;
}

static void test_discover(void)
{
    CHILD(child_defaults, "NEURON_RT_NUM_CORES=");
    CHILD(child_all_set, "OPSCOPE_INSTANCE_TYPE=trn1.32xlarge", "NEURON_RT_VISIBLE_CORES= 0, 2-3 ",
          "OPSCOPE_HBM_BYTES=3G", "NEURON_LAUNCH_BLOCKING=1", "OPSCOPE_TIMING_ONLY=yes",
          "OPSCOPE_CHECK_HAZARDS=on", "TORCH_NEURONX_DISABLE_NEFF_CACHE=1",
          "OPSCOPE_SHEET=launch_submit_us=7.5, notify_ns=12", "OPSCOPE_CLOCK_OFFSET_NS=-5",
          "OPSCOPE_CLOCK_DRIFT_PPB=250", "TORCH_NEURONX_NEFF_CACHE_DIR=/some/where",
          "OPSCOPE_INSTANCE_ID=i-0abc");
}

static void test_discover_refuses(void)
{
    CHILD(child_refuses, "EXPECT=OPSCOPE_INSTANCE_TYPE", "OPSCOPE_INSTANCE_TYPE=trn9");
    CHILD(child_refuses, "EXPECT=NEURON_RT_NUM_CORES", "NEURON_RT_NUM_CORES=0");
    CHILD(child_refuses, "EXPECT=NEURON_RT_NUM_CORES", "NEURON_RT_NUM_CORES=129");
    CHILD(child_refuses, "EXPECT=NEURON_RT_VISIBLE_CORES", "NEURON_RT_VISIBLE_CORES=0,0");
    CHILD(child_refuses, "EXPECT=NEURON_RT_VISIBLE_CORES", "NEURON_RT_VISIBLE_CORES=3-1");
    CHILD(child_refuses, "EXPECT=NEURON_RT_VISIBLE_CORES", "NEURON_RT_VISIBLE_CORES=1,128");
    CHILD(child_refuses, "EXPECT=OPSCOPE_HBM_BYTES", "OPSCOPE_HBM_BYTES=lots");
    CHILD(child_refuses, "EXPECT=OPSCOPE_SHEET", "OPSCOPE_SHEET=launch_submit_us");
    CHILD(child_refuses, "EXPECT=launch_submit", "OPSCOPE_SHEET=launch_submit=1");
    CHILD(child_refuses, "EXPECT=NEURON_LAUNCH_BLOCKING", "NEURON_LAUNCH_BLOCKING=maybe");
    CHILD(child_refuses, "EXPECT=OPSCOPE_CLOCK_DRIFT_PPB", "OPSCOPE_CLOCK_DRIFT_PPB=9999999");
}

static void test_clock_exact(void)
{
    osc_devclock c = {.opened_ns = INT64_C(1764400000000000000), .offset_ns = 12345};
    for (int64_t d = 0; d < INT64_C(4000000000000); d += INT64_C(37000000013)) {
        TAP_EQ_I64(osc_devclock_to_dev(&c, c.opened_ns + d), 12345 + d);
        TAP_EQ_I64(osc_devclock_to_host(&c, 12345 + d), c.opened_ns + d);
    }
}

/* Over a day, at both signs of drift: host -> device -> host is the first instant with that
 * reading. */
static void test_clock_drift(void)
{
    const int64_t drifts[] = {1, -1, 20000, -20000, 1000000, -1000000};
    for (size_t i = 0; i < sizeof drifts / sizeof drifts[0]; i++) {
        osc_devclock c = {.opened_ns = INT64_C(1764400000000000000), .drift_ppb = drifts[i]};
        int64_t wrong = 0, last = INT64_MIN;
        for (int64_t d = -1000; d < INT64_C(86400000000000); d += INT64_C(86400000777)) {
            int64_t dev = osc_devclock_to_dev(&c, c.opened_ns + d);
            int64_t back = osc_devclock_to_host(&c, dev);
            wrong += dev <= last;
            wrong +=
                osc_devclock_to_dev(&c, back) < dev || osc_devclock_to_dev(&c, back - 1) >= dev;
            wrong += back > c.opened_ns + d || back < c.opened_ns + d - 2;
            last = dev;
        }
        TAP_EQ_I64(wrong, 0);
        int64_t hour = INT64_C(3600000000000);
        TAP_EQ_I64(osc_devclock_to_dev(&c, c.opened_ns + hour) - hour, 3600 * drifts[i]);
    }
}

static int64_t sum(const osc_launch *l)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < l->count; i++)
        total += l->parts[i].ns;
    return total;
}

static void test_launch(void)
{
    const osc_sheet *s = osc_sheet_default(OSC_TRN2);
    osc_launch profiled, again, plain, two;
    osc_launch_model(s, &(osc_launch_facts){.captured = true, .switched = true, .outputs = 1},
                     &profiled);
    osc_launch_model(s, &(osc_launch_facts){.captured = true, .outputs = 1}, &again);
    osc_launch_model(s, &(osc_launch_facts){.switched = true, .outputs = 1}, &plain);
    osc_launch_model(s, &(osc_launch_facts){.switched = true, .outputs = 2}, &two);
    /* neuroncore-model.md 5.3: 30 + 15 + 25 + 45 + 90 + 70 + 106 and 20 + 10 + 10 + 30 + 30 + 40
     * us. */
    TAP_EQ_I64(profiled.total_ns, 381000);
    TAP_EQ_I64(again.total_ns, 291000);
    TAP_EQ_I64(plain.total_ns, 140000);
    TAP_EQ_I64(two.total_ns - plain.total_ns, 10000);
    TAP_EQ_I64(sum(&profiled), profiled.total_ns);
    TAP_EQ_U64(profiled.count, 7);
    TAP_EQ_U64(plain.count, 6); /* no profiling part */
    TAP_EQ_VIEW(profiled.parts[0].name, "dispatch");
    TAP_EQ_VIEW(profiled.parts[6].name, "profiling");
    TAP_OK(profiled.parts[3].fitted);
}

static void test_launch_noise(void)
{
    osc_sheet s = *osc_sheet_default(OSC_TRN2);
    s.launch_sigma_us = 32;
    int64_t low = INT64_MAX, high = 0, repeats = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        osc_launch a, b;
        osc_launch_facts facts = {.captured = true, .switched = true, .outputs = 1, .seed = seed};
        osc_launch_model(&s, &facts, &a);
        osc_launch_model(&s, &facts, &b);
        repeats += a.total_ns == b.total_ns && sum(&a) == a.total_ns;
        low = a.total_ns < low ? a.total_ns : low;
        high = a.total_ns > high ? a.total_ns : high;
    }
    TAP_EQ_I64(repeats, 500);
    TAP_OKF(low >= 381000 - 64000 && low < 381000 - 32000, "lowest %lld", (long long)low);
    TAP_OKF(high <= 381000 + 64000 && high > 381000 + 32000, "highest %lld", (long long)high);
}

int main(void)
{
    TAP_RUN(test_discover);
    TAP_RUN(test_discover_refuses);
    TAP_RUN(test_clock_exact);
    TAP_RUN(test_clock_drift);
    TAP_RUN(test_launch);
    TAP_RUN(test_launch_noise);
    return tap_done();
}
