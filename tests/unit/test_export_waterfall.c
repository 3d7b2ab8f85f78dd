/*
 * test_export_waterfall.c - how `follow` is told as text: groups that repeat, limits, nothing wider than 80 columns.
 */
#include "tap.h"

#include "base/buf.h"
#include "scope/analysis/follow.h"
#include "scope/export/waterfall.h"
#include "scope/store/store.h"

#include <string.h>

/* The table of one operator without launches, to which tests add rows. */
static osc_table *plain_table(void)
{
    osc_store *s = osc_store_new();
    osc_table *t = NULL;
    osc_err err = {0};
    if (!s)
        return NULL;
    osc_track_row track = {.lane = osc_store_intern(s, OSC_STR("framework/TID:1")),
                           .lane_kind = OSC_LANE_THREAD};
    osc_slice_row op = {
        .dur_ns = 5000, .name = osc_store_intern(s, OSC_STR("aten::mm")), .kind = OSC_KIND_CPU_OP};
    (void)osc_store_add_track(s, &track);
    (void)osc_store_add_slice(s, &op);
    if (osc_store_seal(s, &err) != OSC_OK ||
        osc_follow(s, OSC_STR("aten::mm"), 1, &t, &err) != OSC_OK)
        TAP_OKF(false, "no table: %s", err.message);
    osc_store_free(s);
    return t;
}

static void add_row(osc_table *t, int64_t level, const char *kind, const char *engine,
                    const char *name, int64_t offset)
{
    uint32_t row = osc_table_add_row(t);
    osc_table_set_i64(t, row, OSC_FOLLOW_LEVEL, level);
    osc_table_set_str(t, row, OSC_FOLLOW_LANE, OSC_STR("neuron_hw/NC:0"));
    osc_table_set_str(t, row, OSC_FOLLOW_KIND, osc_str_from_cstr(kind));
    osc_table_set_str(t, row, OSC_FOLLOW_ENGINE, osc_str_from_cstr(engine));
    osc_table_set_str(t, row, OSC_FOLLOW_NAME, osc_str_from_cstr(name));
    osc_table_set_i64(t, row, OSC_FOLLOW_OFFSET_NS, offset);
    osc_table_set_i64(t, row, OSC_FOLLOW_DUR_NS, 1000);
}

/* A tiled product: load, load, multiply, sixteen times; then one store. Transfers lie between. */
static osc_table *tiled(void)
{
    osc_table *t = plain_table();
    if (!t)
        return NULL;
    add_row(t, 0, "execution", "", "nc_exec_running", 0);
    for (int64_t i = 0; i < 16; i++) {
        add_row(t, 1, "dma", "Sync", "dma x -> SBUF", 3000 * i);
        add_row(t, 2, "transfer", "DMA", "transfer", 3000 * i);
        add_row(t, 1, "dma", "Sync", "dma w -> SBUF", 3000 * i + 1000);
        add_row(t, 1, "instruction", "Tensor", "matmul", 3000 * i + 2000);
    }
    add_row(t, 1, "dma", "Sync", "dma SBUF -> output0", 48000);
    return t;
}

static bool has(const osc_buf *text, const char *part)
{
    return osc_str_find(osc_buf_view(text), osc_str_from_cstr(part)) != SIZE_MAX;
}

static uint32_t times(const osc_buf *text, const char *part)
{
    osc_str rest = osc_buf_view(text), line;
    uint32_t count = 0;
    while (osc_str_next_line(&rest, &line))
        count += osc_str_find(line, osc_str_from_cstr(part)) != SIZE_MAX;
    return count;
}

static void tell(const osc_table *t, int64_t limit, osc_buf *out)
{
    osc_str rest, line;
    osc_buf_init(out, SIZE_MAX);
    osc_export_waterfall(t, limit, false, out);
    rest = osc_buf_view(out);
    while (osc_str_next_line(&rest, &line))
        TAP_OKF(osc_utf8_columns(line) <= 80, "%.*s", OSC_STR_FMT(line));
}

static void test_repeats_are_told_once(void)
{
    osc_table *t = tiled();
    osc_buf out;
    TAP_REQUIRE(t != NULL);
    tell(t, 40, &out);
    TAP_EQ_U64(times(&out, "matmul"), 1);
    TAP_EQ_U64(times(&out, "dma x -> SBUF"), 1);
    TAP_OK(has(&out, "... these 3 lines 15 times more, until +48.0 us (--all tells them)"));
    TAP_OK(has(&out, "dma SBUF -> output0"));
    osc_buf_free(&out);
    osc_table_free(t);
}

static void test_all_tells_all(void)
{
    osc_table *t = tiled();
    osc_buf out;
    TAP_REQUIRE(t != NULL);
    tell(t, -1, &out);
    TAP_EQ_U64(times(&out, "matmul"), 16);
    TAP_OK(!has(&out, "--all"));
    osc_buf_free(&out);
    osc_table_free(t);
}

/* What differs is no repetition; the limit then counts lines. */
static void test_limit(void)
{
    osc_table *t = plain_table();
    osc_buf out;
    TAP_REQUIRE(t != NULL);
    add_row(t, 0, "execution", "", "nc_exec_running", 0);
    static const char *const names[] = {"a", "b", "c", "d", "e", "b", "d", "a"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_row(t, 1, "instruction", "Vector", names[i], (int64_t)i * 1000);
    tell(t, 3, &out);
    TAP_OK(has(&out, "... 5 more instructions (--all tells them)"));
    TAP_OK(!has(&out, "times more"));
    osc_buf_free(&out);
    osc_table_free(t);
}

int main(void)
{
    TAP_RUN(test_repeats_are_told_once);
    TAP_RUN(test_all_tells_all);
    TAP_RUN(test_limit);
    return tap_done();
}
