/*
 * check_args.c - checks that need the arguments of events, read again from the input: waits for
 * events, and what collectives say about themselves. The rules are those of PyTorch's trace
 * validator (kineto-trace-format.md 2.11).
 */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"
#include "scope/read/args.h"

/* Slices with one of two names and a kind; owned by the caller, NULL when memory is out. */
static uint32_t *slices_named(osc_check_run *run, osc_slice_kind kind, const char *a, const char *b,
                              uint32_t *count)
{
    uint32_t first = osc_store_lookup(run->store, osc_str_from_cstr(a));
    uint32_t second = osc_store_lookup(run->store, osc_str_from_cstr(b));
    uint32_t n = 0;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t *slices = NULL;
        if (pass == 1 && !(slices = osc_realloc_array(NULL, (size_t)n + 1, sizeof *slices))) {
            run->failed = true;
            return NULL;
        }
        n = 0;
        for (uint32_t i = 0; i < run->s->count; i++) {
            uint32_t name = run->s->name[i];
            if (run->s->kind[i] != kind || (name != first && name != second))
                continue;
            if (slices)
                slices[n] = i;
            n++;
        }
        if (slices) {
            *count = n;
            return slices;
        }
    }
    return NULL;
}

/* Reads the arguments of slices; false, and said, when they cannot be read. */
static bool read_args(osc_check_run *run, const uint32_t *slices, uint32_t count, osc_args_fn fn,
                      void *context)
{
    osc_err err = {0};
    osc_status status = osc_args_each(run->store, slices, count, fn, context, &err);
    if (status == OSC_OK)
        return true;
    if (status == OSC_ENOMEM)
        run->failed = true;
    else if (status == OSC_EUNSUPPORTED)
        osc_check_fine(run, "not checked: the input can be read only once");
    else
        osc_check_found(run, OSC_SEV_WARN, 1, "run the check on a file that does not change",
                        "not checked: %s", err.message);
    return false;
}

/* ---- waits ---- */

struct waits {
    const osc_check_run *run;
    osc_map records; /* External id or correlation of an event record -> its start */
    uint64_t none, unknown, later;
    bool failed;
};

static void put_earliest(struct waits *w, int64_t id, int64_t start)
{
    uint64_t known;
    if (id == 0 || (osc_map_get(&w->records, (uint64_t)id, &known) && (int64_t)known <= start))
        return;
    w->failed = w->failed || osc_map_put(&w->records, (uint64_t)id, (uint64_t)start) != OSC_OK;
}

static void index_records(struct waits *w)
{
    const osc_slice_cols *s = w->run->s;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->kind[i] != OSC_KIND_RUNTIME ||
            !osc_str_starts(osc_store_text(w->run->store, s->name[i]), OSC_STR("cudaEventRecord")))
            continue;
        put_earliest(w, s->external_id[i], s->start_ns[i]);
        put_earliest(w, s->correlation[i], s->start_ns[i]);
    }
}

static void take_wait(void *context, uint32_t slice, osc_str args)
{
    struct waits *w = context;
    int64_t id = -1;
    uint64_t start;
    osc_str name = osc_store_text(w->run->store, w->run->s->name[slice]);
    if (!osc_args_i64(args, "wait_on_cuda_event_record_corr_id", &id) || id < 0)
        w->none++;
    else if (osc_str_eq(name, OSC_STR("Event Sync")))
        return;
    else if (!osc_map_get(&w->records, (uint64_t)id, &start))
        w->unknown++;
    else if ((int64_t)start > w->run->s->start_ns[slice])
        w->later++;
}

static void say_waits(osc_check_run *run, const struct waits *w, uint32_t count)
{
    static const char advice[] = "order between streams cannot be followed through these waits";
    char n[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    (void)osc_format_count(count, all);
    if (w->none > 0)
        osc_check_found(run, OSC_SEV_WARN, w->none, advice, "%s of %s name no record",
                        osc_format_count((int64_t)w->none, n), all);
    if (w->unknown > 0)
        osc_check_found(run, OSC_SEV_WARN, w->unknown, advice,
                        "%s of %s name a record that is not in the file",
                        osc_format_count((int64_t)w->unknown, n), all);
    if (w->later > 0)
        osc_check_found(run, OSC_SEV_WARN, w->later, advice, "%s of %s name a later record",
                        osc_format_count((int64_t)w->later, n), all);
    osc_check_fine(run, count == 0 ? "none recorded" : "each of %s names an earlier record", all);
}

void osc_check_waits(osc_check_run *run)
{
    struct waits w = {.run = run};
    uint32_t count;
    uint32_t *slices = slices_named(run, OSC_KIND_SYNC, "Stream Wait Event", "Event Sync", &count);
    osc_map_init(&w.records);
    if (slices && count > 0)
        index_records(&w);
    if (slices && (count == 0 || read_args(run, slices, count, take_wait, &w)))
        say_waits(run, &w, count);
    run->failed = run->failed || w.failed;
    osc_map_free(&w.records);
    osc_free(slices);
}

/* ---- collectives ---- */

struct comms {
    uint64_t lacking;
    const char *first; /* a key that the first of them lacks */
};

static void take_comms(void *context, uint32_t slice, osc_str args)
{
    static const char *const keys[] = {"Collective name", "dtype", "In msg nelems",
                                       "Out msg nelems", "Group size"};
    struct comms *c = context;
    osc_scan_value value;
    (void)slice;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (osc_args_find(args, keys[i], &value))
            continue;
        c->first = c->first ? c->first : keys[i];
        c->lacking++;
        return;
    }
}

void osc_check_comms(osc_check_run *run)
{
    struct comms c = {0};
    uint32_t count;
    uint32_t *slices =
        slices_named(run, OSC_KIND_CPU_OP, "record_param_comms", "record_param_comms", &count);
    char n[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    (void)osc_format_count(count, all);
    if (slices && (count == 0 || read_args(run, slices, count, take_comms, &c))) {
        if (c.lacking > 0)
            osc_check_found(run, OSC_SEV_WARN, c.lacking,
                            "bytes and group of these collectives are not known; record with "
                            "record_shapes=True",
                            "%s of %s record_param_comms lack keys, the first \"%s\"",
                            osc_format_count((int64_t)c.lacking, n), all, c.first);
        osc_check_fine(run, count == 0 ? "no collectives" : "all five keys in each of %s", all);
    }
    osc_free(slices);
}
