/*
 * check_ranks.c - are the ranks of a job on one clock?
 *
 * Two things tell: steps of one number begin about together, and the n-th collective of a name ends
 * at nearly the same instant on all ranks, as none ends before the last has come. The first finds
 * wrong bases (known-bad-inputs.md T03), the second measures the skew. A rank whose file has no
 * base stands on no clock at all.
 */
#include "scope/analysis/check_internal.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/say.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Later times are dates, earlier ones count from an unknown start (1.4). */
#define DATES_SINCE_NS INT64_C(100000000000000000)
/* Collectives end together within this; more is the clocks' (measured in real jobs: tens of us). */
#define SKEW_NS INT64_C(1000000)
/* Most collectives of a rank that are compared. */
#define COLLECTIVES_MAX 65536u

struct mark {
    int64_t key, at_ns, dur_ns;
};

struct rank {
    int64_t number;
    bool dated;         /* its times are dates */
    struct mark *steps; /* by number; owned */
    struct mark *ends;  /* collectives by end, keyed by a hash of the name; owned */
    uint32_t step_count, end_count;
};

struct osc_check_ranks {
    struct rank *items;
    uint32_t count;
};

osc_check_ranks *osc_check_ranks_new(void)
{
    return osc_calloc(1, sizeof(osc_check_ranks));
}

void osc_check_ranks_free(osc_check_ranks *ranks)
{
    if (!ranks)
        return;
    for (uint32_t i = 0; i < ranks->count; i++) {
        osc_free(ranks->items[i].steps);
        osc_free(ranks->items[i].ends);
    }
    osc_free(ranks->items);
    osc_free(ranks);
}

static int compare_marks(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static bool is_collective(osc_str name)
{
    return osc_str_starts(name, OSC_STR("nccl")) || osc_str_starts(name, OSC_STR("rccl")) ||
           osc_str_starts(name, OSC_STR("ncclDevKernel"));
}

/* Step ranges (steps) or collective kernels of a store, counted first. False: memory is out. */
static bool collect(const osc_store *store, bool steps, struct mark **out, uint32_t *count)
{
    const osc_slice_cols *s = osc_store_slice(store);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->count && n < COLLECTIVES_MAX; i++) {
            osc_str name = osc_store_text(store, s->name[i]);
            struct mark mark = {s->name[i], s->start_ns[i], s->dur_ns[i]};
            if (steps) {
                if (!osc_slice_is_step(store, i) ||
                    !osc_parse_i64(osc_str_make(name.ptr + 13, name.len - 13), &mark.key))
                    continue;
            } else if (s->kind[i] != OSC_KIND_KERNEL || !is_collective(name)) {
                continue;
            } else {
                mark.key = (int64_t)osc_hash64_str(name, 0);
                mark.at_ns += mark.dur_ns;
            }
            if (pass == 1)
                (*out)[n] = mark;
            n++;
        }
        if (pass == 0 && !(*out = osc_realloc_array(NULL, (size_t)n + 1, sizeof **out)))
            return false;
        *count = n;
    }
    qsort(*out, *count, sizeof **out, compare_marks);
    return true;
}

bool osc_check_ranks_add(osc_check_ranks *ranks, const osc_store *store, int64_t rank)
{
    struct rank *grown = osc_realloc_array(ranks->items, (size_t)ranks->count + 1, sizeof *grown);
    if (!grown)
        return false;
    ranks->items = grown;
    struct rank *r = &grown[ranks->count];
    *r = (struct rank){.number = rank};
    ranks->count++;
    osc_extent extent = osc_extent_of(store);
    r->dated = extent.last_ns >= extent.first_ns && extent.first_ns > DATES_SINCE_NS;
    return collect(store, true, &r->steps, &r->step_count) &&
           collect(store, false, &r->ends, &r->end_count);
}

/* ---- comparing ---- */

/* Steps of the first rank that begin apart from the same step of `other` by more than their
 * length. */
static uint32_t steps_apart(const struct rank *first, const struct rank *other, int64_t *most)
{
    uint32_t apart = 0;
    for (uint32_t i = 0, k = 0; i < first->step_count; i++) {
        while (k < other->step_count && other->steps[k].key < first->steps[i].key)
            k++;
        if (k == other->step_count || other->steps[k].key != first->steps[i].key)
            continue;
        int64_t by = other->steps[k].at_ns - first->steps[i].at_ns;
        k++; /* a number that occurs again meets the next one of the other rank */
        by = by < 0 ? -by : by;
        if (by <= first->steps[i].dur_ns)
            continue;
        apart++;
        *most = by > *most ? by : *most;
    }
    return apart;
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Middle difference of the ends of collectives; false when the ranks cannot be paired. */
static bool skew_of(const struct rank *first, const struct rank *other, int64_t *skew)
{
    uint32_t n = first->end_count;
    if (n == 0 || n != other->end_count)
        return false;
    int64_t *by = osc_realloc_array(NULL, n, sizeof *by);
    if (!by)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (first->ends[i].key != other->ends[i].key) {
            osc_free(by);
            return false;
        }
        by[i] = other->ends[i].at_ns - first->ends[i].at_ns;
    }
    qsort(by, n, sizeof *by, compare_times);
    *skew = by[n / 2];
    osc_free(by);
    return true;
}

static void compare_ranks(osc_check_run *run, const struct rank *first, const struct rank *other)
{
    int64_t most = 0, skew = 0;
    char text[OSC_SAY_TEXT];
    uint32_t apart = steps_apart(first, other, &most);
    if (apart > 0)
        osc_check_found(run, OSC_SEV_ERROR, apart,
                        "the files are of different runs, or a base time is wrong: do not compare "
                        "times across them",
                        "steps of rank %lld begin up to %s apart from rank %lld's",
                        (long long)other->number, osc_say_ns(most, text), (long long)first->number);
    else if (skew_of(first, other, &skew) && (skew > SKEW_NS || skew < -SKEW_NS))
        osc_check_found(run, OSC_SEV_WARN, 1,
                        "the hosts' clocks differ; move one rank by it before comparing times",
                        "collectives end %s %s on rank %lld than on rank %lld",
                        osc_say_ns(skew < 0 ? -skew : skew, text), skew < 0 ? "earlier" : "later",
                        (long long)other->number, (long long)first->number);
}

static void judge(osc_check_run *run, const osc_check_ranks *ranks)
{
    uint32_t undated = 0;
    for (uint32_t i = 0; i < ranks->count; i++)
        undated += !ranks->items[i].dated;
    if (undated > 0)
        osc_check_found(
            run, undated < ranks->count ? OSC_SEV_ERROR : OSC_SEV_WARN, undated,
            "their files lack baseTimeNanoseconds: times can be compared within a rank only",
            "%u of %u ranks count from an unknown start", undated, ranks->count);
    for (uint32_t i = 1; i < ranks->count && undated == 0; i++)
        compare_ranks(run, &ranks->items[0], &ranks->items[i]);
    osc_check_fine(run, "%u ranks; steps begin together", ranks->count);
}

static void set_text(osc_table *t, uint32_t row, const char *column, const char *text)
{
    uint32_t at = osc_table_find(t, column);
    assert(at != UINT32_MAX);
    osc_table_set_str(t, row, at, osc_str_from_cstr(text));
}

/* Rows with a verdict. */
static int64_t rows_with(const osc_table *t, const char *verdict)
{
    uint32_t column = osc_table_find(t, "verdict");
    int64_t n = 0;
    for (uint32_t r = 0; r < osc_table_rows(t); r++)
        n += osc_str_eq_cstr(osc_table_cell(t, r, column).str, verdict);
    return n;
}

void osc_check_ranks_verdict(const osc_check_ranks *ranks, const osc_check_options *options,
                             osc_table *t)
{
    static const char *const verdicts[] = {"ok", "warn", "FAIL"};
    osc_check_run run = {0};
    bool wanted = !options->only || osc_str_eq_cstr(OSC_STR("rank_clocks"), options->only);
    if (ranks->count >= 2 && wanted) {
        osc_buf_init(&run.evidence, SIZE_MAX);
        judge(&run, ranks);
        for (uint32_t i = 0; i < options->allow_count && run.verdict == OSC_SEV_ERROR; i++) {
            if (osc_str_eq_cstr(OSC_STR("rank_clocks"), options->allow[i]))
                run.verdict = OSC_SEV_WARN;
        }
        uint32_t row = osc_table_add_row(t);
        uint32_t rank = osc_table_find(t, "rank"), count = osc_table_find(t, "count");
        if (rank != UINT32_MAX)
            osc_table_set_i64(t, row, rank, -1);
        set_text(t, row, "check", "rank_clocks");
        set_text(t, row, "verdict", verdicts[run.verdict]);
        set_text(t, row, "title", "ranks on one clock");
        set_text(t, row, "evidence", osc_buf_c_str(&run.evidence));
        if (run.advice)
            set_text(t, row, "advice", run.advice);
        osc_table_set_i64(t, row, count, (int64_t)run.count);
        osc_buf_free(&run.evidence);
    }
    osc_table_set_fact_i64(t, "failures", rows_with(t, "FAIL"));
    osc_table_set_fact_i64(t, "warnings", rows_with(t, "warn"));
}
