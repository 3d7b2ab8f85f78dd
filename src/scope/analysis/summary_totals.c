/*
 * summary_totals.c - the sums and unions that the summary's formulas are made of.
 *
 * One pass for each: rows are sorted, so a union costs one walk and no memory. What only a profile
 * of the vendor's has (throttling, semaphore rows, the fitted end of the run) stays zero for
 * captures of ours, whose executions say exactly how long they took.
 */
#include "scope/analysis/summary_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "isa/isa.h"
#include "isa/sheet.h"
#include "scope/analysis/sat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * total_time ends at a notification that is not exported. A run ends in a fixed sequence, so the
 * start of the last NOTIFY plus this constant is that end, in ns: low, middle, high
 * (summary-metrics.md 1.3, fitted on tools 2.27.33, runtime 2.29.40, inf2). Where the two ends of
 * the trace disagree with it by more than SLACK the sequence is another one, and the traced time is
 * used instead.
 */
#define NOTIFY_TO_STOP_LOW  182.80
#define NOTIFY_TO_STOP      183.35
#define NOTIFY_TO_STOP_HIGH 183.90
#define NOTIFY_SLACK        1000.0

/* ---- filters ---- */

static bool is_any_work(const osc_view *v, const osc_view_row *row, int arg)
{
    (void)v;
    (void)arg;
    return row->kind == OSC_PART_WORKING || row->kind == OSC_PART_PACKET;
}

static bool is_on_engine(const osc_view *v, const osc_view_row *row, int slot)
{
    return row->kind == OSC_PART_WORKING &&
           osc_engine_slot(osc_store_work(v->store)->engine[row->work]) == (unsigned)slot;
}

static bool is_kind(const osc_view *v, const osc_view_row *row, int kind)
{
    (void)v;
    return row->kind == kind;
}

static bool is_activate(const osc_view *v, const osc_view_row *row, int arg)
{
    (void)arg;
    return osc_view_is_instruction(row) && osc_view_is(v, row->work, v->activate, 4);
}

/* Packets of captures of ours come from rings that the compiler filled. */
static int class_of(const osc_view *v, uint32_t work)
{
    const osc_queue_cols *q = osc_store_queue(v->store);
    uint32_t queue = osc_store_work(v->store)->queue[work];
    return queue < q->count ? q->dma_class[queue] : OSC_DMA_STATIC;
}

static bool is_packet_of(const osc_view *v, const osc_view_row *row, int dma_class)
{
    return row->kind == OSC_PART_PACKET && class_of(v, row->work) == dma_class;
}

/* ---- device ---- */

static double meta_number(const osc_store *store, const char *key)
{
    double value;
    return osc_parse_f64(osc_store_get_meta(store, key), &value) && value > 0 && value < 1e18
               ? value
               : 0;
}

static double sheet_number(const osc_store *store, const char *name, double otherwise)
{
    char key[64];
    snprintf(key, sizeof key, "parameter.%s", name);
    double value = meta_number(store, key);
    return value > 0 ? value : otherwise;
}

/* A capture of ours: the parameters its manifest states, else the sheet of its generation. */
static void device_of_capture(const osc_store *store, osc_device_facts *device)
{
    osc_generation generation;
    char name[32];
    osc_str_to_array(osc_store_get_meta(store, "generation"), name, sizeof name);
    if (osc_generation_parse(name, &generation, NULL) != OSC_OK)
        return;
    const osc_sheet *sheet = osc_sheet_default(generation);
    device->pe_rows = device->pe_columns = OSC_PARTITIONS;
    device->pe_ghz = sheet_number(store, "pe_mhz", sheet->pe_mhz) / 1e3;
    device->core_ghz = sheet_number(store, "act_mhz", sheet->act_mhz) / 1e3;
    device->hbm_bytes_per_s = sheet_number(store, "hbm_bw", sheet->hbm_bw) * 1e9;
}

void osc_device_find(const osc_view *v, osc_device_facts *device)
{
    *device = (osc_device_facts){.traced_ns = (double)v->span_ns};
    if (!v->profile) {
        device_of_capture(v->store, device);
        return;
    }
    device->pe_rows = meta_number(v->store, "metadata.pe_num_rows");
    device->pe_columns = meta_number(v->store, "metadata.pe_num_cols");
    device->pe_ghz = meta_number(v->store, "metadata.pe_clock_freq");
    device->core_ghz = meta_number(v->store, "metadata.pe_clock_others");
    device->hbm_bytes_per_s = meta_number(v->store, "metadata.hbm_ddr_bandwidth");
}

double osc_peak_flops(const osc_device_facts *device)
{
    return 2 * device->pe_rows * device->pe_columns * device->pe_ghz * 1e9;
}

/* ---- instructions ---- */

static int64_t last_notify(const osc_view *v, bool *found)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        const osc_view_row *row = &v->rows[i];
        bool notify = row->kind == OSC_PART_WORKING && osc_view_is(v, row->work, v->notify, 2);
        if (notify && (!*found || row->start_ns > last)) {
            last = row->start_ns;
            *found = true;
        }
    }
    return last;
}

static void find_total_time(osc_totals *t)
{
    double traced = t->device.traced_ns;
    bool found = false;
    t->total_ns = (osc_bounds){traced, traced, traced};
    if (!t->view.profile)
        return;
    t->total_ns.low = traced > NOTIFY_SLACK ? traced - NOTIFY_SLACK : 0;
    const osc_exec_cols *e = osc_store_exec(t->view.store);
    int64_t first = e->count > 0 ? e->start_ns[0] : 0;
    double notify = (double)(last_notify(&t->view, &found) - first);
    double before_end = traced - (notify + NOTIFY_TO_STOP);
    if (!found || before_end < -NOTIFY_SLACK || before_end > NOTIFY_SLACK)
        return;
    t->total_fitted = true;
    t->total_ns = (osc_bounds){notify + NOTIFY_TO_STOP, notify + NOTIFY_TO_STOP_LOW,
                               notify + NOTIFY_TO_STOP_HIGH};
}

static void add_traffic(osc_totals *t, uint32_t row)
{
    const osc_traffic_cols *c = osc_store_traffic(t->view.store);
    osc_grow_sat(&t->elements, c->elements[row]);
    osc_grow_sat(&t->transposed, c->flags[row] & OSC_TRAFFIC_TRANSPOSE ? c->elements[row] : 0);
    osc_grow_sat(&t->regular, c->flags[row] & OSC_TRAFFIC_REGULAR ? c->elements[row] : 0);
    osc_grow_sat(&t->hbm_read, c->hbm_read[row]);
    osc_grow_sat(&t->hbm_write, c->hbm_write[row]);
    osc_grow_sat(&t->sbuf_read, c->sbuf_read[row]);
    osc_grow_sat(&t->sbuf_write, c->sbuf_write[row]);
    osc_grow_sat(&t->psum_read, c->psum_read[row]);
    osc_grow_sat(&t->psum_write, c->psum_write[row]);
    osc_grow_sat(&t->psum_to_sbuf, c->psum_to_sbuf[row]);
    osc_grow_sat(&t->input_queue, c->input_queue[row]);
    osc_grow_sat(&t->output_queue, c->output_queue[row]);
    osc_grow_sat(&t->weight_queue, c->weight_queue[row]);
    osc_grow_sat(&t->spill_save, c->spill_save[row]);
    osc_grow_sat(&t->spill_reload, c->spill_reload[row]);
    t->psum_to_sbuf_count += (c->flags[row] & OSC_TRAFFIC_PSUM_TO_SBUF) != 0;
}

static void add_instruction(osc_totals *t, const osc_view_row *row)
{
    const osc_view *v = &t->view;
    uint32_t inst = osc_store_work(v->store)->inst[row->work];
    unsigned slot = osc_engine_slot(osc_store_work(v->store)->engine[row->work]);
    t->instructions++;
    if (slot < OSC_ENGINE_SLOTS)
        t->engine[slot].count++;
    t->matmuls += osc_view_is(v, row->work, v->matmul, 4);
    t->activates += osc_view_is(v, row->work, v->activate, 4);
    if (inst < osc_store_inst(v->store)->count && v->traffic_of[inst] != OSC_NO_ROW)
        add_traffic(t, v->traffic_of[inst]);
}

static void collect_instructions(osc_totals *t)
{
    const osc_view *v = &t->view;
    for (int slot = 0; slot < (int)OSC_ENGINE_SLOTS; slot++) {
        t->engine[slot].active = osc_view_union(v, is_on_engine, slot);
        t->engine[slot].time = osc_view_sum(v, is_on_engine, slot);
    }
    for (uint32_t i = 0; i < v->count; i++) {
        if (osc_view_is_instruction(&v->rows[i]))
            add_instruction(t, &v->rows[i]);
    }
    t->activate_ns = osc_view_sum(v, is_activate, 0);
    t->active_ns = osc_view_union(v, is_any_work, 0);
}

/* ---- DMA ---- */

/* A packet's queue as AWS counts queues: number and DMA engine. */
static bool count_queue(osc_totals *t, osc_map *seen, uint32_t work)
{
    const osc_work_cols *w = osc_store_work(t->view.store);
    const osc_queue_cols *q = osc_store_queue(t->view.store);
    uint64_t name = w->queue[work] < q->count ? (uint64_t)q->number[w->queue[work]] << 8
                                              : (UINT64_C(1) << 48) + w->engine[work];
    uint64_t key = name << 8 | w->ring[work];
    if (osc_map_get(seen, key, NULL))
        return true;
    t->queues++;
    return osc_map_put(seen, key, 1) == OSC_OK;
}

/* Captures of ours have no rows for transfers: one is all packets of a DMA instruction's
 * execution. */
struct transfer {
    uint64_t key;
    int64_t start_ns, end_ns;
    uint64_t bytes;
};

static int by_key(const void *a, const void *b)
{
    const struct transfer *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool make_transfers(osc_totals *t)
{
    const osc_view *v = &t->view;
    const osc_work_cols *w = osc_store_work(v->store);
    struct transfer *items = osc_realloc_array(NULL, (size_t)v->count + 1, sizeof *items);
    uint32_t n = 0;
    if (!items)
        return false;
    for (uint32_t i = 0; i < v->count; i++) {
        const osc_view_row *row = &v->rows[i];
        if (row->kind == OSC_PART_PACKET && w->inst[row->work] != OSC_NO_ROW)
            items[n++] = (struct transfer){(uint64_t)w->exec[row->work] << 32 | w->inst[row->work],
                                           row->start_ns, row->end_ns, w->bytes[row->work]};
    }
    qsort(items, n, sizeof *items, by_key);
    for (uint32_t i = 0; i < n;) {
        int64_t start = items[i].start_ns, end = items[i].end_ns;
        uint64_t key = items[i].key;
        for (; i < n && items[i].key == key; i++) {
            start = items[i].start_ns < start ? items[i].start_ns : start;
            end = items[i].end_ns > end ? items[i].end_ns : end;
            osc_grow_sat(&t->transfers.bytes, items[i].bytes);
        }
        t->transfers.count++;
        t->transfers.time.value += (double)(end - start);
    }
    t->transfers.time.low = t->transfers.time.high = t->transfers.time.value;
    osc_free(items);
    return true;
}

static bool collect_dma(osc_totals *t)
{
    const osc_view *v = &t->view;
    osc_map seen = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < v->count; i++) {
        const osc_view_row *row = &v->rows[i];
        uint64_t bytes = osc_store_work(v->store)->bytes[row->work];
        if (row->kind == OSC_PART_TRANSFER) {
            t->transfers.count++;
            osc_grow_sat(&t->transfers.bytes, bytes);
        }
        if (row->kind != OSC_PART_PACKET)
            continue;
        osc_dma_total *own = &t->dma[class_of(v, row->work)];
        own->count++;
        osc_grow_sat(&own->bytes, bytes);
        t->packets.count++;
        osc_grow_sat(&t->packets.bytes, bytes);
        ok = count_queue(t, &seen, row->work);
    }
    osc_map_free(&seen);
    t->packets.active = osc_view_union(v, is_kind, OSC_PART_PACKET);
    t->packets.time = osc_view_sum(v, is_kind, OSC_PART_PACKET);
    for (int c = 0; c < (int)OSC_DMA_CLASSES; c++)
        t->dma[c].active = osc_view_union(v, is_packet_of, c);
    t->transfers.time = osc_view_sum(v, is_kind, OSC_PART_TRANSFER);
    return ok && (v->profile || make_transfers(t));
}

/* ---- the rest ---- */

static void add_tensor(osc_totals *t, uint32_t row, uint64_t times)
{
    const osc_tensor_cols *c = osc_store_tensor(t->view.store);
    osc_str kind = osc_store_text(t->view.store, c->kind[row]);
    uint64_t bytes;
    if (!osc_mul_u64(c->bytes[row], times, &bytes))
        bytes = UINT64_MAX;
    if (osc_str_eq_cstr(kind, "IN") || osc_str_eq_cstr(kind, "INOUT"))
        osc_grow_sat(&t->in_bytes, bytes);
    else if (osc_str_eq_cstr(kind, "OUT"))
        osc_grow_sat(&t->out_bytes, bytes);
    else if (osc_str_eq_cstr(kind, "WEIGHT"))
        osc_grow_sat(&t->weight_bytes, bytes);
}

/* Each execution counts its program's tensors once. A profile is one execution, whatever its
 * cores. */
static bool collect_tensors(osc_totals *t)
{
    const osc_store *store = t->view.store;
    const osc_tensor_cols *c = osc_store_tensor(store);
    const osc_exec_cols *e = osc_store_exec(store);
    uint32_t programs = osc_store_program(store)->count;
    uint64_t *runs = osc_calloc((size_t)programs + 1, sizeof *runs);
    if (!runs)
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        if (t->view.group_of[i] != OSC_NO_ROW && e->program[i] < programs)
            runs[e->program[i]] = t->view.profile ? 1 : runs[e->program[i]] + 1;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->program[i] < programs && runs[c->program[i]] > 0)
            add_tensor(t, i, runs[c->program[i]]);
    }
    osc_free(runs);
    t->has_tensors = c->count > 0 || osc_store_get_meta(store, "profile.tensors").len > 0;
    return true;
}

static osc_throttle_total *throttle_of(osc_totals *t, uint32_t core, uint32_t type)
{
    for (uint32_t i = 0; i < t->throttle_count; i++) {
        if (t->throttle[i].core == core && t->throttle[i].type == type)
            return &t->throttle[i];
    }
    if (t->throttle_count == OSC_THROTTLES_MAX) {
        t->throttle_full = true;
        return NULL;
    }
    t->throttle[t->throttle_count] = (osc_throttle_total){.core = core, .type = type};
    return &t->throttle[t->throttle_count++];
}

static void add_throttle(osc_throttle_total *total, const osc_throttle_cols *c, uint32_t row)
{
    if (!total)
        return;
    total->ns = osc_add_sat(total->ns, c->dur_ns[row]);
    if (c->k[row] < c->n[row])
        total->limited_ns = osc_add_sat(total->limited_ns, c->dur_ns[row]);
    if (c->n[row] != 0)
        total->weighted_ns += (double)c->dur_ns[row] * (double)c->k[row] / (double)c->n[row];
}

/* By core, all types together first, then by the type's name: the order of the file does not
 * show. */
static bool throttle_before(const osc_store *store, const osc_throttle_total *a,
                            const osc_throttle_total *b)
{
    if (a->core != b->core)
        return a->core < b->core;
    if (a->type == OSC_NO_ROW || b->type == OSC_NO_ROW)
        return a->type == OSC_NO_ROW && b->type != OSC_NO_ROW;
    return osc_str_cmp(osc_store_text(store, a->type), osc_store_text(store, b->type)) < 0;
}

static void sort_throttle(osc_totals *t)
{
    for (uint32_t i = 1; i < t->throttle_count; i++) {
        osc_throttle_total item = t->throttle[i];
        uint32_t at = i;
        for (; at > 0 && throttle_before(t->view.store, &item, &t->throttle[at - 1]); at--)
            t->throttle[at] = t->throttle[at - 1];
        t->throttle[at] = item;
    }
}

static void collect_throttle(osc_totals *t)
{
    const osc_throttle_cols *c = osc_store_throttle(t->view.store);
    const osc_exec_cols *e = osc_store_exec(t->view.store);
    if (!t->view.profile)
        return;
    t->first_core = e->core[0];
    (void)throttle_of(t, t->first_core, OSC_NO_ROW);
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t core = c->exec[i] < e->count ? e->core[c->exec[i]] : t->first_core;
        add_throttle(throttle_of(t, core, OSC_NO_ROW), c, i);
        add_throttle(throttle_of(t, core, c->type[i]), c, i);
    }
    sort_throttle(t);
}

osc_status osc_totals_collect(osc_totals *t, const osc_store *store,
                              const osc_engine_options *options, osc_err *err)
{
    memset(t, 0, sizeof *t);
    osc_status status = osc_view_open(&t->view, store, options, err);
    if (status != OSC_OK)
        return status;
    osc_device_find(&t->view, &t->device);
    find_total_time(t);
    collect_instructions(t);
    collect_throttle(t);
    t->has_collectives = osc_store_get_meta(store, "profile.collectives").len > 0;
    t->has_semaphores = osc_store_get_meta(store, "profile.semaphores").len > 0;
    t->semaphore_updates = osc_store_semup(store)->count;
    if (!collect_dma(t) || !collect_tensors(t))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the summary");
    return OSC_OK;
}
