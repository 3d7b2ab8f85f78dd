/*
 * check_steps.c - checks of ProfilerStep ranges: once each, whole, and their device work done
 * (kineto-trace-format.md section 3).
 *
 * A step is the range on the host; the copy that drivers draw on a device lane is not a second one
 * (R09).
 */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/say.h"

#include <stdlib.h>

/* Fewer steps do not tell how long one is. */
#define STEPS_MIN 5u

struct step {
    int64_t number, start_ns, end_ns;
    uint32_t slice;
};

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* The host's steps by number; owned by the caller. NULL and *count 0 when there is none or memory
 * is out. */
static struct step *collect_steps(osc_check_run *run, uint32_t *count)
{
    static const osc_str prefix = {"ProfilerStep#", 13};
    struct step *steps = NULL;
    uint32_t cap = 0;
    *count = 0;
    for (uint32_t i = 0; i < run->s->count; i++) {
        osc_str name = osc_store_text(run->store, run->s->name[i]);
        if (!osc_slice_is_step(run->store, i))
            continue;
        if (*count == cap) {
            struct step *grown = osc_realloc_array(steps, cap ? cap * 2 : 16, sizeof *grown);
            if (!grown) {
                run->failed = true;
                break;
            }
            steps = grown;
            cap = cap ? cap * 2 : 16;
        }
        struct step step = {0, run->s->start_ns[i], osc_check_end(run, i), i};
        (void)osc_parse_i64(osc_str_make(name.ptr + prefix.len, name.len - prefix.len),
                            &step.number);
        steps[(*count)++] = step;
    }
    if (steps)
        qsort(steps, *count, sizeof *steps, compare_steps);
    return steps;
}

void osc_check_steps(osc_check_run *run)
{
    uint32_t count, twice = 0, missing = 0;
    struct step *steps = collect_steps(run, &count);
    char number[OSC_CHECK_MANY_TEXT];
    for (uint32_t i = 1; i < count; i++) {
        twice += steps[i].number == steps[i - 1].number;
        missing += steps[i].number > steps[i - 1].number + 1;
    }
    osc_free(steps);
    if (twice > 0)
        osc_check_found(run, OSC_SEV_WARN, twice,
                        "the file holds several processes or threads that step; look at one at a "
                        "time, or divide counts by their number",
                        "%s again",
                        osc_check_many(twice, "step number occurs", "step numbers occur", number));
    if (missing > 0)
        osc_check_found(
            run, OSC_SEV_WARN, missing, "several schedules wrote one file, or steps were lost",
            "%s in the numbers of steps", osc_check_many(missing, "gap", "gaps", number));
    if (count == 0)
        osc_check_fine(run, "no steps: the profiler had no schedule");
    else
        osc_check_fine(run, count == 1 ? "1 step" : "%s steps, each once",
                       osc_format_count(count, number));
}

static int compare_lengths(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Middle length of the steps but the first and the last; 0 when memory is out. */
static int64_t middle_length(osc_check_run *run, const struct step *steps, uint32_t count)
{
    int64_t *lengths = osc_realloc_array(NULL, count, sizeof *lengths);
    if (!lengths) {
        run->failed = true;
        return 0;
    }
    for (uint32_t i = 1; i + 1 < count; i++)
        lengths[i - 1] = steps[i].end_ns - steps[i].start_ns;
    qsort(lengths, count - 2, sizeof *lengths, compare_lengths);
    int64_t middle = lengths[(count - 2) / 2];
    osc_free(lengths);
    return middle;
}

static void check_length(osc_check_run *run, const struct step *step, int64_t middle)
{
    char length[OSC_SAY_TEXT], others[OSC_SAY_TEXT];
    int64_t dur = step->end_ns - step->start_ns;
    if (dur < middle / 2)
        osc_check_found(run, OSC_SEV_WARN, 1,
                        "the window begins or ends inside it: leave it out of averages",
                        "step %lld has %s, the others %s", (long long)step->number,
                        osc_say_ns(dur, length), osc_say_ns(middle, others));
}

void osc_check_window(osc_check_run *run)
{
    uint32_t count;
    struct step *steps = collect_steps(run, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (run->s->flags[steps[i].slice] & OSC_SLICE_UNFINISHED)
            osc_check_found(run, OSC_SEV_WARN, 1,
                            "the profiler stopped inside it: leave it out of averages",
                            "step %lld was open at the end", (long long)steps[i].number);
    }
    if (count >= STEPS_MIN) {
        int64_t middle = middle_length(run, steps, count);
        check_length(run, &steps[0], middle);
        check_length(run, &steps[count - 1], middle);
    }
    osc_free(steps);
    osc_check_fine(run, count >= STEPS_MIN ? "first and last are as long as the others"
                                           : "fewer than five steps, nothing to compare");
}

/* Latest end of the device work launched in a step; INT64_MIN when there is none. */
static int64_t drained(const osc_check_run *run, const struct step *step)
{
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < run->work_count; i++) {
        uint32_t launch = osc_calls_launch(run->calls, run->work[i]);
        if (launch == OSC_NO_ROW || run->s->start_ns[launch] < step->start_ns ||
            run->s->start_ns[launch] >= step->end_ns)
            continue;
        int64_t end = osc_check_end(run, run->work[i]);
        last = end > last ? end : last;
    }
    return last;
}

/* In a session: latest end of an execution on a core. */
static int64_t executed(const osc_check_run *run)
{
    const osc_exec_cols *e = osc_store_exec(run->store);
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < e->count; i++) {
        int64_t end = e->start_ns[i] + e->dur_ns[i];
        last = end > last ? end : last;
    }
    return last;
}

void osc_check_drain(osc_check_run *run)
{
    uint32_t count;
    struct step *steps = collect_steps(run, &count);
    char late[OSC_SAY_TEXT];
    if (count == 0) {
        osc_check_fine(run, "no steps to compare with");
    } else {
        const struct step *last = &steps[count - 1];
        int64_t end = drained(run, last), core = executed(run);
        end = core > end ? core : end;
        if (end > last->end_ns)
            osc_check_found(
                run, OSC_SEV_WARN, 1,
                "the step's wall time does not contain its device work; call the device's "
                "synchronize() before step() to see both together",
                "the last device work of step %lld ends %s after it", (long long)last->number,
                osc_say_ns(end - last->end_ns, late));
        osc_check_fine(run, end == INT64_MIN ? "the last step has no device work"
                                             : "device work of the last step ends inside it");
    }
    osc_free(steps);
}
