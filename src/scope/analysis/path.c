/*
 * path.c - the tables of `path`: segments in order, or contributors by their time; see path.h.
 */
#include "scope/analysis/path_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/radix.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/say.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GAINS_DEFAULT = 20, GAINS_MAX = 64 };

enum { OFFSET = 0, LENGTH, KIND, NAME, INSIDE, LANE, START, COLUMNS };

static const osc_table_column segment_columns[COLUMNS] = {
    {"offset_ns", "start", "start, from the first event of the capture", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"dur_ns", "length", "length", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"kind", "kind", "what the step was made of there", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"name", "name", "who was on it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"inside", "inside", "operator, range or frame it belongs to", OSC_CELL_STR, OSC_UNIT_NONE,
     OSC_COLUMN_HELPS},
    {"lane", "lane", "thread or stream", OSC_CELL_STR, OSC_UNIT_NONE, OSC_COLUMN_DETAIL},
    {"start_ns", "start", "start, host time", OSC_CELL_I64, OSC_UNIT_NS, true},
};

enum { WHO_KIND = 0, WHO_NAME, WHO_NS, WHO_SHARE, WHO_GAIN, WHO_SEGMENTS, WHO_COLUMNS };

static const osc_table_column who_columns[WHO_COLUMNS] = {
    {"kind", "kind", "what the step was made of", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"name", "name", "who was on the path", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"path_ns", "on path", "time on the path", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"share", "%", "share of the step", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"gain_ns", "gain at most", "how much shorter the step were if it took no time; -1 unknown",
     OSC_CELL_I64, OSC_UNIT_NS, false},
    {"segments", "segments", "how often it is on the path", OSC_CELL_I64, OSC_UNIT_COUNT,
     OSC_COLUMN_HELPS},
};

struct show {
    const osc_busy *busy;
    const osc_steps *steps;
    const osc_step *step; /* as in steps, or `until_work` */
    osc_step until_work;
    uint32_t last;         /* item that until_work ends with, OSC_NO_ROW none */
    int64_t work_after_ns; /* how long the last work launched in the step runs on after its range */
    const osc_path_options *o;
    int64_t zero_ns; /* what starts count from */
    path_graph graph;
    path_walk walk;
    osc_instant *asked; /* one for each segment of kind other, in order */
    uint32_t *track_of; /* [thread]: its track, OSC_NO_ROW none */
    osc_table *table;
};

static osc_status out_of_memory(osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the critical path");
}

static int64_t length(const path_segment *s)
{
    return s->end_ns - s->start_ns;
}

/* ---- which step ---- */

/* The step of median length: the lower one of two. */
static osc_status pick_median(struct show *w, osc_err *err)
{
    uint32_t n = w->steps->count;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    if (!keys)
        return out_of_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        const osc_step *s = &w->steps->items[i];
        keys[i] = (osc_keyed){(uint64_t)(s->end_ns - s->start_ns), i};
    }
    osc_radix_sort(keys, keys + n, n);
    w->step = &w->steps->items[keys[(n - 1) / 2].value];
    osc_free(keys);
    return OSC_OK;
}

static osc_status pick_step(struct show *w, osc_err *err)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    if (w->o->step < 0)
        return pick_median(w, err);
    for (uint32_t i = 0; i < w->steps->count && !w->steps->whole; i++) {
        const osc_step *s = &w->steps->items[i];
        least = s->number < least ? s->number : least;
        most = s->number > most ? s->number : most;
        if (s->number == w->o->step) {
            w->step = s;
            return OSC_OK;
        }
    }
    if (w->steps->whole)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no step %" PRId64 ": this capture has no steps; leave --step out",
                        w->o->step);
    if (least == most)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no step %" PRId64 "; the only one is %" PRId64, w->o->step, least);
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "no step %" PRId64 "; there are %" PRId64 " to %" PRId64, w->o->step, least,
                    most);
}

/* The work launched in the step that ends last, if it does after the step; with the option the step
 * ends there. */
static void find_last_work(struct show *w)
{
    const osc_slice_cols *s = w->busy->slices;
    uint32_t index = (uint32_t)(w->step - w->steps->items), hint = index;
    int64_t end = w->step->end_ns;
    w->last = OSC_NO_ROW;
    for (uint32_t i = 0; i < w->busy->count && !w->steps->whole; i++) {
        const osc_busy_item *item = &w->busy->items[i];
        if (item->end_ns <= end || item->launch == OSC_NO_ROW)
            continue;
        hint = osc_steps_at(w->steps, osc_busy_thread(w->busy, item->launch),
                            s->start_ns[item->launch], hint);
        if (hint == index) {
            end = item->end_ns;
            w->last = i;
        }
    }
    w->work_after_ns = end - w->step->end_ns;
    w->until_work = *w->step;
    w->until_work.end_ns = end;
    if (w->o->work)
        w->step = &w->until_work;
    else
        w->last = OSC_NO_ROW;
}

/* ---- segments ---- */

/* What the host was in where no operator was: frames are not in the graph, so they are asked
 * for. */
static osc_status ask_host(struct show *w, osc_err *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->walk.count; i++)
        n += w->walk.segments[i].kind == OSC_PATH_OTHER;
    w->asked = osc_realloc_array(NULL, (size_t)n + 1, sizeof *w->asked);
    if (!w->asked)
        return out_of_memory(err);
    n = 0;
    for (uint32_t i = 0; i < w->walk.count; i++) {
        const path_segment *s = &w->walk.segments[i];
        if (s->kind == OSC_PATH_OTHER)
            w->asked[n++] =
                (osc_instant){.at_ns = s->start_ns + length(s) / 2, .thread = s->thread};
    }
    return osc_host_at(w->busy, w->asked, n, err);
}

static osc_str text(const struct show *w, uint32_t slice)
{
    return slice == OSC_NO_ROW ? (osc_str){0} : osc_busy_text(w->busy, slice);
}

static osc_str lane_of(const struct show *w, const path_segment *s)
{
    const osc_store *store = w->busy->store;
    const osc_track_cols *t = osc_store_track(store);
    if (s->lane != OSC_NO_ROW)
        return osc_store_text(store, t->lane[w->busy->lanes[s->lane].track]);
    if (s->slice != OSC_NO_ROW && s->kind != OSC_PATH_LAUNCH)
        return osc_store_text(store, t->lane[osc_store_slice(store)->track[s->slice]]);
    uint32_t track = s->thread < w->steps->threads ? w->track_of[s->thread] : OSC_NO_ROW;
    return track == OSC_NO_ROW ? (osc_str){0} : osc_store_text(store, t->lane[track]);
}

static bool find_tracks(struct show *w)
{
    const osc_track_cols *t = osc_store_track(w->busy->store);
    size_t room = (size_t)w->steps->threads + 1;
    w->track_of = osc_realloc_array(NULL, room, sizeof *w->track_of);
    if (!w->track_of)
        return false;
    memset(w->track_of, 0xff, room * sizeof *w->track_of); /* OSC_NO_ROW */
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->lane_kind[i] == OSC_LANE_THREAD)
            w->track_of[t->thread[i]] = i;
    }
    return true;
}

/* The operator around a segment's slice. */
static uint32_t around(const struct show *w, const path_segment *s)
{
    if (s->slice == OSC_NO_ROW)
        return OSC_NO_ROW;
    if (s->lane != OSC_NO_ROW)
        return osc_calls_op(w->busy->calls, s->slice);
    return osc_calls_parent(w->busy->calls, s->slice);
}

static osc_status put_segments(struct show *w, osc_err *err)
{
    osc_status status = find_tracks(w) ? ask_host(w, err) : out_of_memory(err);
    uint32_t other = 0, rows = w->walk.count;
    if (w->o->limit >= 0 && w->o->limit < rows)
        rows = (uint32_t)w->o->limit;
    for (uint32_t i = 0; status == OSC_OK && i < rows; i++) {
        const path_segment *s = &w->walk.segments[i];
        uint32_t row = osc_table_add_row(w->table), name = s->slice, inside = around(w, s);
        if (s->kind == OSC_PATH_OTHER) {
            name = w->asked[other].inner;
            inside = w->asked[other].range == name ? OSC_NO_ROW : w->asked[other].range;
            other++;
        }
        osc_table_set_i64(w->table, row, OFFSET, s->start_ns - w->zero_ns);
        osc_table_set_i64(w->table, row, START, s->start_ns);
        osc_table_set_i64(w->table, row, LENGTH, length(s));
        osc_table_set_str(w->table, row, KIND,
                          osc_str_from_cstr(osc_path_kind_name((osc_path_kind)s->kind)));
        osc_table_set_str(w->table, row, NAME, text(w, name));
        osc_table_set_str(w->table, row, INSIDE, text(w, inside));
        osc_table_set_str(w->table, row, LANE, lane_of(w, s));
    }
    return status;
}

/* ---- contributors ---- */

struct contributor {
    path_who who;
    uint32_t slice; /* a slice of it, for its name */
    uint32_t segments;
    int64_t ns;
};

/* All contributors, in order of first appearance; NULL: out of memory. */
static struct contributor *sum_up(const struct show *w, uint32_t *count)
{
    osc_map rows = {0};
    struct contributor *all = osc_realloc_array(NULL, (size_t)w->walk.count + 1, sizeof *all);
    bool ok = all;
    *count = 0;
    for (uint32_t i = 0; ok && i < w->walk.count; i++) {
        const path_segment *s = &w->walk.segments[i];
        path_who who = path_who_of(w->busy, s);
        uint64_t key = (uint64_t)who.kind << 32 | who.name, row;
        if (!osc_map_get(&rows, key, &row)) {
            row = (*count)++;
            all[row] = (struct contributor){.who = who, .slice = s->slice};
            ok = osc_map_put(&rows, key, row) == OSC_OK;
        }
        all[row].ns = osc_add_sat(all[row].ns, length(s));
        all[row].segments++;
    }
    osc_map_free(&rows);
    if (ok)
        return all;
    osc_free(all);
    return NULL;
}

static void put_contributor(const struct show *w, const struct contributor *c, int64_t gain)
{
    static const char *const unnamed[OSC_PATH_KINDS] = {"",
                                                        "host outside operators and calls",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "",
                                                        "work queued behind other work",
                                                        "nothing recorded explains it"};
    int64_t whole = w->step->end_ns - w->step->start_ns;
    uint32_t row = osc_table_add_row(w->table);
    osc_str name =
        c->who.name == OSC_NO_ROW ? osc_str_from_cstr(unnamed[c->who.kind]) : text(w, c->slice);
    osc_table_set_str(w->table, row, WHO_KIND,
                      osc_str_from_cstr(osc_path_kind_name((osc_path_kind)c->who.kind)));
    osc_table_set_str(w->table, row, WHO_NAME, name);
    osc_table_set_i64(w->table, row, WHO_NS, c->ns);
    osc_table_set_f64(w->table, row, WHO_SHARE,
                      whole > 0 ? 100.0 * (double)c->ns / (double)whole : 0);
    osc_table_set_i64(w->table, row, WHO_GAIN, gain);
    osc_table_set_i64(w->table, row, WHO_SEGMENTS, c->segments);
}

static osc_status put_ranked(struct show *w, const struct contributor *all, osc_keyed *keys,
                             uint32_t count, osc_err *err)
{
    path_who who[GAINS_MAX];
    int64_t gains[GAINS_MAX];
    uint32_t n = w->o->what_if ? w->o->what_if : GAINS_DEFAULT;
    uint32_t rows = w->o->limit >= 0 && w->o->limit < count ? (uint32_t)w->o->limit : count;
    n = n < rows ? n : rows;
    n = n < GAINS_MAX ? n : GAINS_MAX;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (osc_keyed){UINT64_MAX - (uint64_t)all[i].ns, i};
    osc_radix_sort(keys, keys + count, count);
    for (uint32_t i = 0; i < n; i++)
        who[i] = all[keys[i].value].who;
    osc_status status = path_gains(&w->graph, who, n, gains, err);
    for (uint32_t i = 0; status == OSC_OK && i < rows; i++)
        put_contributor(w, &all[keys[i].value], i < n ? gains[i] : -1);
    return status;
}

static osc_status put_contributors(struct show *w, osc_err *err)
{
    uint32_t count = 0;
    struct contributor *all = sum_up(w, &count);
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)count + 1, 2 * sizeof *keys);
    osc_status status = all && keys ? put_ranked(w, all, keys, count, err) : out_of_memory(err);
    osc_free(all);
    osc_free(keys);
    return status;
}

/* ---- facts and the lines below ---- */

static void sum_kinds(const struct show *w, int64_t ns[OSC_PATH_KINDS])
{
    for (uint32_t i = 0; i < w->walk.count; i++) {
        const path_segment *s = &w->walk.segments[i];
        ns[s->kind] = osc_add_sat(ns[s->kind], length(s));
    }
}

static osc_str step_name(const struct show *w)
{
    return w->step->slice == OSC_NO_ROW ? OSC_STR("whole capture") : text(w, w->step->slice);
}

static void put_facts(struct show *w)
{
    static const char *const keys[OSC_PATH_KINDS] = {"host_ns",   "other_ns", "launch_ns",
                                                     "kernel_ns", "copy_ns",  "comm_ns",
                                                     "sync_ns",   "queue_ns", "unknown_ns"};
    int64_t ns[OSC_PATH_KINDS] = {0};
    sum_kinds(w, ns);
    osc_table_set_fact_str(w->table, "step", step_name(w));
    osc_table_set_fact_i64(w->table, "start_ns", w->step->start_ns);
    osc_table_set_fact_i64(w->table, "length_ns", w->step->end_ns - w->step->start_ns);
    osc_table_set_fact_i64(w->table, "work_after_ns", w->work_after_ns);
    osc_table_set_fact_i64(w->table, "path_segments", w->walk.count);
    for (unsigned k = 0; k < OSC_PATH_KINDS; k++)
        osc_table_set_fact_i64(w->table, keys[k], ns[k]);
    osc_table_set_fact_i64(w->table, "inferred", w->graph.inferred);
    osc_table_set_fact_i64(w->table, "sync_rows", w->graph.rule_count);
    osc_table_set_fact_str(w->table, "no_device_work",
                           osc_str_from_cstr(osc_busy_why_none(w->busy)));
}

static void line(const struct show *w, const char *words)
{
    osc_table_add_footer(w->table, osc_str_from_cstr(words));
}

static void put_lines(const struct show *w)
{
    char a[OSC_SAY_TEXT], count[OSC_NUM_TEXT], words[300];
    int64_t ns[OSC_PATH_KINDS] = {0}, whole = w->step->end_ns - w->step->start_ns;
    sum_kinds(w, ns);
    snprintf(words, sizeof words, "critical path of %s%.*s%s, %s in %s segment%s",
             w->steps->whole ? "the " : "", (int)(step_name(w).len < 80 ? step_name(w).len : 80),
             step_name(w).ptr, w->o->step < 0 && w->steps->count > 1 ? " (of median length)" : "",
             osc_say_ns(whole, a), osc_format_count(w->walk.count, count),
             w->walk.count == 1 ? "" : "s");
    line(w, words);
    for (unsigned k = 0; k < OSC_PATH_KINDS; k++) {
        if (ns[k] == 0)
            continue;
        snprintf(words, sizeof words, "  %-8s %12s %6.1f %%", osc_path_kind_name((osc_path_kind)k),
                 osc_say_ns(ns[k], a), whole > 0 ? 100.0 * (double)ns[k] / (double)whole : 0);
        line(w, words);
    }
    if (w->graph.inferred > 0) {
        snprintf(words, sizeof words, "%s wait%s inferred from times",
                 osc_format_count(w->graph.inferred, count),
                 w->graph.inferred == 1 ? " between streams is" : "s between streams are");
        line(w, words);
    }
    if (w->work_after_ns > 0 && !w->o->work) {
        snprintf(words, sizeof words,
                 "its device work runs on for %s; --work follows it to the end",
                 osc_say_ns(w->work_after_ns, a));
        line(w, words);
    }
    if (w->busy->device_count == 0)
        line(w, osc_busy_why_none(w->busy));
}

static osc_status show(struct show *w, osc_err *err)
{
    osc_status status = pick_step(w, err);
    if (status == OSC_OK) {
        find_last_work(w);
        status = path_graph_build(w->busy, w->steps, w->step, w->last, &w->graph, err);
    }
    if (status == OSC_OK)
        status = path_walk_back(&w->graph, &w->walk, err);
    if (status != OSC_OK)
        return status;
    w->table = w->o->segments ? osc_table_new("path", segment_columns, COLUMNS)
                              : osc_table_new("path", who_columns, WHO_COLUMNS);
    if (!w->table)
        return out_of_memory(err);
    put_facts(w);
    status = w->o->segments ? put_segments(w, err) : put_contributors(w, err);
    put_lines(w);
    return status == OSC_OK ? osc_table_status(w->table, err) : status;
}

osc_status osc_path_table(const osc_store *store, const osc_path_options *options, osc_table **out,
                          osc_err *err)
{
    osc_calls *calls = NULL;
    osc_busy busy = {0};
    osc_steps steps = {0};
    struct show w = {
        .busy = &busy, .steps = &steps, .o = options, .zero_ns = osc_extent_zero(store)};
    osc_status status = osc_busy_open(store, &calls, &busy, err);
    if (status == OSC_OK)
        status = osc_steps_find(&busy, &steps, err);
    if (status == OSC_OK)
        status = show(&w, err);
    if (status != OSC_OK) {
        osc_table_free(w.table);
        w.table = NULL;
    }
    *out = w.table;
    osc_free(w.asked);
    osc_free(w.track_of);
    osc_free(w.walk.segments);
    path_graph_free(&w.graph);
    osc_steps_free(&steps);
    osc_busy_free(&busy);
    osc_calls_free(calls);
    return status;
}
