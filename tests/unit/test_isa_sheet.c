/* test_isa_sheet.c - parameter sheets: complete, sourced, settable, and equal to the published figures. */
#include "tap.h"

#include "isa/sheet.h"

#include <math.h>
#include <string.h>

static double value_at(const osc_sheet *sheet, const osc_sheet_row *row)
{
    double value;
    memcpy(&value, (const char *)sheet + row->offset, sizeof value);
    return value;
}

/* A source names a place and says how good the value is. */
static bool says_how_good(const char *source)
{
    static const char *const WORDS[] = {"documented", "measured",           "derived", "fitted",
                                        "guessed",    "inside dma_desc_ns", "set to 0"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (strstr(source, WORDS[i]) != NULL)
            return true;
    }
    return false;
}

static void test_rows_are_complete(void)
{
    size_t count, fields = (sizeof(osc_sheet) - offsetof(osc_sheet, pe_mhz)) / sizeof(double);
    const osc_sheet_row *rows = osc_sheet_rows(&count);
    TAP_EQ_U64(count, fields);
    for (size_t i = 0; i < count; i++) {
        TAP_REQUIRE(rows[i].name && rows[i].unit && rows[i].meaning && rows[i].source);
        TAP_EQ_U64(rows[i].offset, offsetof(osc_sheet, pe_mhz) + i * sizeof(double));
        TAP_OKF(rows[i].unit[0] && rows[i].meaning[0], "%s has unit and meaning", rows[i].name);
        TAP_OKF(says_how_good(rows[i].source), "%s: %s", rows[i].name, rows[i].source);
        for (unsigned g = 0; g < OSC_GENERATIONS; g++) {
            double value = rows[i].value[g];
            TAP_OKF(isfinite(value) && value >= 0, "%s of %u", rows[i].name, g);
            TAP_EQ_F64(value_at(osc_sheet_default((osc_generation)g), &rows[i]), value);
        }
    }
}

/* neuroncore-model.md 1.1, 9 and 5.3, spot checks by hand. */
static void test_published_values(void)
{
    const osc_sheet *v2 = osc_sheet_default(OSC_TRN1), *v3 = osc_sheet_default(OSC_TRN2),
                    *v4 = osc_sheet_default(OSC_TRN3);
    TAP_EQ_F64(v3->dve_mhz, 960);
    TAP_EQ_F64(v2->sbuf_partition_bytes, 180224);
    TAP_EQ_F64(v4->sbuf_partition_bytes, 245752);
    TAP_EQ_F64(v4->matmul_free_max, 4096);
    TAP_EQ_F64(v3->hbm_bytes, 24.0 * 1024 * 1024 * 1024);
    TAP_EQ_F64(v3->act_table_load_ns, 1285);
    TAP_EQ_F64(v2->lnc, 1);
    TAP_EQ_F64(v3->lnc, 2);
    TAP_EQ_F64(v3->launch_dispatch_us + v3->launch_lookup_us + v3->launch_alloc_us +
                   v3->launch_submit_us + v3->launch_switch_us + v3->launch_notify_us +
                   v3->launch_prof_us,
               381);
    TAP_EQ_F64(v3->sync_dispatch_us + v3->sync_lookup_us + v3->sync_alloc_us + v3->sync_submit_us +
                   v3->sync_switch_us + v3->sync_notify_us + v3->sync_prof_us,
               140);
    TAP_EQ_F64(v3->launch_sigma_us, 0);
    /* the 4 x 4096 exp kernel of 1.9: 32 KiB on one DMA engine, and 4096 elements alone on Scalar */
    TAP_NEAR(32768 / v3->dma_bw, 1416, 10);
    TAP_NEAR((4096 + v3->act_fixed_alone_cycles) / v3->act_mhz * 1000, 3705, 2);
}

static void test_generations(void)
{
    osc_err err = {0};
    osc_generation g = OSC_TRN3;
    TAP_EQ_STATUS(osc_generation_parse("inf2", &g, &err), OSC_OK);
    TAP_EQ_I64(g, OSC_TRN1);
    for (unsigned i = 0; i < OSC_GENERATIONS; i++) {
        TAP_EQ_STATUS(osc_generation_parse(osc_generation_name((osc_generation)i), &g, &err),
                      OSC_OK);
        TAP_EQ_I64(g, i);
        TAP_EQ_I64(osc_sheet_default((osc_generation)i)->generation, i);
        TAP_EQ_U64(osc_sheet_default((osc_generation)i)->size, sizeof(osc_sheet));
    }
    TAP_EQ_STATUS(osc_generation_parse("trn9", &g, &err), OSC_ENOTFOUND);
    TAP_OK(strstr(err.message, "trn9") && strstr(err.message, "trn1, trn2, trn3"));
    TAP_EQ_STR(osc_generation_name(OSC_GENERATIONS), "?");
}

static void test_set(void)
{
    osc_sheet sheet = *osc_sheet_default(OSC_TRN2);
    osc_err err = {0};
    size_t count;
    const osc_sheet_row *rows = osc_sheet_rows(&count);
    for (size_t i = 0; i < count; i++) {
        TAP_EQ_STATUS(osc_sheet_set(&sheet, rows[i].name, 1, &err), OSC_OK);
        TAP_EQ_F64(value_at(&sheet, &rows[i]), 1);
    }
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_wb", 1, &err), OSC_ENOTFOUND);
    TAP_OK(strstr(err.message, "dma_bw") != NULL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "zzzzzzzzzzzzzzzz", 1, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_bw", -1, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_bw", 0, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_bw", (double)NAN, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "nop_ns", (double)INFINITY, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "nop_ns", 0, &err), OSC_OK);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "psum_banks", 9, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_engines", 17, &err), OSC_EINVAL);
    TAP_EQ_F64(sheet.dma_bw, 1);
}

int main(void)
{
    TAP_RUN(test_rows_are_complete);
    TAP_RUN(test_published_values);
    TAP_RUN(test_generations);
    TAP_RUN(test_set);
    return tap_done();
}
