/*
 * check_times.c - checks of time stamps and durations (kineto-trace-format.md 1.4,
 * known-bad-inputs.md section 4).
 */
#include "scope/analysis/check_internal.h"

#include "scope/analysis/say.h"

#include <string.h>

/* Fewer fractions than this say nothing about how they are written (T02). */
#define FRACTIONS_MIN 1000u
/* Device work that covers so many later starts of its stream is no overlap of neighbours (N02,
 * T12). */
#define COVERED_MIN 4u
/* Shortest device work that can be called an outlier. */
#define OUTLIER_NS INT64_C(1000000)

void osc_check_stamps(osc_check_run *run)
{
    uint64_t without = 0, endless = osc_check_noted(run, "no_duration", NULL);
    char number[OSC_CHECK_MANY_TEXT];
    for (uint32_t i = 0; i < run->s->count; i++)
        without += (run->s->flags[i] & OSC_SLICE_NO_TIME) != 0;
    if (run->extent.stampless > 0)
        osc_check_found(run, OSC_SEV_ERROR, run->extent.stampless,
                        "the driver gave no time stamps for them: their device time is missing; "
                        "update the driver, or profile fewer kernels at once",
                        "%s at time zero, in no span",
                        osc_check_many(run->extent.stampless, "device event lies",
                                       "device events lie", number));
    if (without > 0)
        osc_check_found(run, OSC_SEV_ERROR, without,
                        "the file was filtered or written by hand; times of these events are "
                        "missing in the table",
                        "%s no start", osc_check_many(without, "event has", "events have", number));
    if (endless > 0)
        osc_check_found(run, OSC_SEV_ERROR, endless,
                        "the file was filtered or written by hand; they count with length zero",
                        "%s no duration",
                        osc_check_many(endless, "event has", "events have", number));
    osc_check_fine(run, "every event has them");
}

void osc_check_durations(osc_check_run *run)
{
    uint64_t offset = OSC_NO_OFFSET;
    uint64_t negative = osc_check_noted(run, "negative_duration", &offset);
    char number[OSC_CHECK_MANY_TEXT];
    if (negative > 0)
        osc_check_found(run, OSC_SEV_ERROR, negative,
                        "two clocks were mixed when these were written; they count as zero, so "
                        "sums are too small",
                        "%s below zero", osc_check_many(negative, "duration", "durations", number));
    osc_check_fine(run, "none below zero");
}

/* From the first to the last start of anything: what a length can be compared with. */
static int64_t span_of_starts(const osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < s->count; i++) {
        if ((s->flags[i] & OSC_SLICE_NO_TIME) || osc_extent_stampless(&run->extent, s, i))
            continue;
        first = s->start_ns[i] < first ? s->start_ns[i] : first;
        last = s->start_ns[i] > last ? s->start_ns[i] : last;
    }
    return last > first ? last - first : 0;
}

/* Work that starts on the same stream before work[at] ends. */
static uint32_t covered(const osc_check_run *run, uint32_t at)
{
    const osc_slice_cols *s = run->s;
    int64_t end = osc_check_end(run, run->work[at]);
    uint32_t n = 0;
    while (n < COVERED_MIN && at + 1 + n < run->work_count &&
           s->track[run->work[at + 1 + n]] == s->track[run->work[at]] &&
           osc_check_end(run, run->work[at + 1 + n]) < end)
        n++;
    return n;
}

void osc_check_outliers(osc_check_run *run)
{
    int64_t span = span_of_starts(run), longest = 0;
    uint64_t outliers = 0;
    uint32_t worst = OSC_NO_ROW;
    char number[OSC_CHECK_MANY_TEXT], length[OSC_SAY_TEXT], of[OSC_SAY_TEXT],
        name[OSC_CHECK_NAME_TEXT];
    for (uint32_t i = 0; i < run->work_count; i++) {
        int64_t dur = run->s->dur_ns[run->work[i]];
        bool beyond = run->work_count > 10 && dur > span;
        if (dur < OUTLIER_NS || !(beyond || covered(run, i) >= COVERED_MIN))
            continue;
        outliers++;
        worst = dur > longest ? run->work[i] : worst;
        longest = dur > longest ? dur : longest;
    }
    if (outliers > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, outliers,
            "such lengths come from overflowed counters of the driver; do not trust the "
            "device time of these kernels",
            "%s, the longest %s (%s) in a trace of %s",
            osc_check_many(outliers, "device event", "device events", number),
            osc_say_ns(longest, length), osc_check_name(run, worst, name), osc_say_ns(span, of));
    osc_check_fine(run, "no device work is longer than the trace or covers its neighbours");
}

/* Nanoseconds below the microsecond, on the clock of the file. */
static uint32_t fraction(const osc_check_run *run, int64_t ns)
{
    int64_t rest = (ns - run->extent.zero_ns) % 1000;
    return (uint32_t)(rest < 0 ? rest + 1000 : rest);
}

void osc_check_precision(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t timed = 0, whole = 0, zero = 0;
    char number[OSC_CHECK_MANY_TEXT];
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->flags[i] & OSC_SLICE_NO_TIME)
            continue;
        timed++;
        whole += fraction(run, s->start_ns[i]) == 0 && s->dur_ns[i] % 1000 == 0;
        zero += s->dur_ns[i] == 0;
    }
    if (timed > 0 && whole == timed)
        osc_check_found(run, OSC_SEV_WARN, zero,
                        "PyTorch 2.3 and older, and tools that round, write whole microseconds: "
                        "each length is off by up to 1 us",
                        zero == 0 ? "all times are whole microseconds"
                                  : "all times are whole microseconds; %s length 0",
                        osc_check_many(zero, "event has", "events have", number));
    osc_check_fine(run, "times have fractions of a microsecond");
}

/* Fractions of starts are counted by value: written without leading zeros, 5 ns becomes 500. */
void osc_check_fractions(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t fractions = 0, below = 0, last_digit = 0;
    char number[OSC_NUM_TEXT];
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t f = s->flags[i] & OSC_SLICE_NO_TIME ? 0 : fraction(run, s->start_ns[i]);
        fractions += f > 0;
        below += f > 0 && f < 100;
        last_digit += f % 10 != 0;
    }
    (void)osc_format_count((int64_t)fractions, number);
    /* A clock of 100 ns steps has no fraction below .1 either, but then no third digit. */
    if (fractions > FRACTIONS_MIN && below == 0 && last_digit > fractions / 2)
        osc_check_found(
            run, OSC_SEV_WARN, fractions,
            "builds of 2024-03-18 to 2024-04-03 wrote 12.005 as 12.5: times are off by up "
            "to 0.9 us; nothing was corrected",
            "of %s fractions none begins with a zero", number);
    osc_check_fine(run,
                   fractions > FRACTIONS_MIN ? "%s fractions, some begin with a zero"
                                             : "%s fractions, too few to tell",
                   number);
}

void osc_check_unfinished(osc_check_run *run)
{
    uint64_t open = 0;
    uint32_t first = OSC_NO_ROW;
    char number[OSC_NUM_TEXT], name[OSC_CHECK_NAME_TEXT];
    for (uint32_t i = 0; i < run->s->count; i++) {
        if (!(run->s->flags[i] & OSC_SLICE_UNFINISHED))
            continue;
        first = open++ == 0 ? i : first;
    }
    if (open > 0)
        osc_check_found(
            run, OSC_SEV_WARN, open,
            "the table leaves them out, as their length is not known; stop the profiler "
            "outside of operators and ranges",
            "%s open when the profiler stopped, first %s", osc_format_count((int64_t)open, number),
            osc_check_name(run, first, name));
    osc_check_fine(run, "none was open when the profiler stopped");
}
