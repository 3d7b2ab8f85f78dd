/*
 * check_input.c - checks of the input itself: complete, readable, nothing dropped.
 *
 * What readers noticed is in the store's findings; here each becomes part of exactly one verdict,
 * those that no other check speaks of under "left_out".
 */
#include "scope/analysis/check_internal.h"

#include <stdio.h>

/* A limit of events as people write them: from this number on, multiples of it look like a cap
 * (S09). */
#define ROUND_EVENTS 100000u

/* Findings that a check of its own tells; all others are told by left_out. */
static const char *const told[] = {
    "truncated",         "gzip_truncated",   "gzip_damaged",   "bare_quote",   "bad_escape",
    "stray_comma",       "bare_word",        "resync",         "damaged_tail", "negative_duration",
    "no_time",           "no_device_events", "relative_times", "no_duration",  "whole_microseconds",
    "unpadded_fractions"};

static bool is_told(osc_str code)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (osc_str_eq_cstr(code, told[i]))
            return true;
    }
    return false;
}

/* ", first at byte 81,920", or "". */
static const char *at_byte(uint64_t offset, char out[OSC_NUM_TEXT + 24])
{
    char number[OSC_NUM_TEXT];
    out[0] = '\0';
    if (offset != OSC_NO_OFFSET && offset <= INT64_MAX)
        snprintf(out, OSC_NUM_TEXT + 24, ", first at byte %s",
                 osc_format_count((int64_t)offset, number));
    return out;
}

static const char cut_advice[] =
    "the capture was interrupted, the disk was full, or the copy is incomplete: capture again";

static void check_files(osc_check_run *run)
{
    const osc_file_cols *f = osc_store_file(run->store);
    for (uint32_t i = 0; i < f->count; i++) {
        osc_str state = osc_store_text(run->store, f->state[i]);
        osc_str name = osc_store_text(run->store, f->name[i]);
        char number[OSC_CHECK_MANY_TEXT];
        if (osc_str_eq(state, OSC_STR("complete")) || osc_str_eq(state, OSC_STR("with findings")) ||
            osc_str_eq(state, OSC_STR("not read")))
            continue;
        osc_check_found(run, OSC_SEV_ERROR, 1, cut_advice, "%.*s is %.*s; %s kept",
                        OSC_STR_FMT(name), OSC_STR_FMT(state),
                        osc_check_many(f->events[i], "event", "events", number));
    }
}

void osc_check_truncated(osc_check_run *run)
{
    static const char *const codes[] = {"truncated", "gzip_truncated", "gzip_damaged"};
    const osc_finding_cols *f = osc_store_finding(run->store);
    char place[OSC_NUM_TEXT + 24], number[OSC_CHECK_MANY_TEXT];
    for (uint32_t i = 0; i < f->count; i++) {
        osc_str code = osc_store_text(run->store, f->code[i]);
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
            if (osc_str_eq_cstr(code, codes[k]))
                osc_check_found(run, OSC_SEV_ERROR, f->times[i], cut_advice, "%.*s%s",
                                OSC_STR_FMT(osc_store_text(run->store, f->sentence[i])),
                                at_byte(f->offset[i], place));
        }
    }
    check_files(run);
    osc_check_fine(run, "%s read to the end",
                   osc_check_many(osc_check_events(run), "event", "events", number));
}

void osc_check_empty(osc_check_run *run)
{
    char number[OSC_CHECK_MANY_TEXT];
    if (run->s->count == 0 && osc_store_memory(run->store)->count == 0)
        osc_check_found(run, OSC_SEV_WARN, 1,
                        "the profiler recorded nothing, or the file was filtered: was it started "
                        "before the work, and stepped?",
                        "no event has a time");
    osc_check_fine(run, "%s", osc_check_many(run->s->count, "interval", "intervals", number));
}

void osc_check_damaged(osc_check_run *run)
{
    static const struct {
        const char *code, *one, *many;
        osc_severity severity;
    } kinds[] = {
        {"resync", "gap between events skipped", "gaps between events skipped", OSC_SEV_ERROR},
        {"bare_quote", "quote inside a text", "quotes inside texts", OSC_SEV_WARN},
        {"bad_escape", "backslash that begins no escape", "backslashes that begin no escape",
         OSC_SEV_WARN},
        {"stray_comma", "comma too many or too few", "commas too many or too few", OSC_SEV_WARN},
        {"bare_word", "bare word such as inf or N/A", "bare words such as inf or N/A",
         OSC_SEV_WARN},
        {"damaged_tail", "damage behind the events", "damages behind the events", OSC_SEV_WARN},
    };
    char number[OSC_CHECK_MANY_TEXT], place[OSC_NUM_TEXT + 24];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t offset = OSC_NO_OFFSET, times = osc_check_noted(run, kinds[i].code, &offset);
        if (times > 0)
            osc_check_found(run, kinds[i].severity, times,
                            kinds[i].severity == OSC_SEV_ERROR
                                ? "events may be lost there; capture again with a newer PyTorch"
                                : "it was read as far as it is clear; `opscope cut` writes valid "
                                  "JSON for other tools",
                            "%s%s", osc_check_many(times, kinds[i].one, kinds[i].many, number),
                            at_byte(offset, place));
    }
    osc_check_fine(run, "valid JSON");
}

void osc_check_left_out(osc_check_run *run)
{
    const osc_finding_cols *f = osc_store_finding(run->store);
    uint64_t notes = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        char number[OSC_NUM_TEXT];
        if (is_told(osc_store_text(run->store, f->code[i])))
            continue;
        if (f->severity[i] == OSC_SEV_NOTE) {
            notes++;
            continue;
        }
        osc_check_found(run, (osc_severity)f->severity[i], f->times[i],
                        "`opscope info` shows each finding with its first place", "%.*s (%s)",
                        OSC_STR_FMT(osc_store_text(run->store, f->sentence[i])),
                        osc_format_count((int64_t)f->times[i], number));
    }
    osc_check_fine(run, notes > 0 ? "the reader has notes only" : "the reader has nothing to add");
}

void osc_check_dropped(osc_check_run *run)
{
    int64_t dropped = osc_check_meta(run, "dropped_events");
    char number[OSC_NUM_TEXT];
    if (dropped > 0)
        osc_check_found(run, OSC_SEV_ERROR, (uint64_t)dropped,
                        "raise max_events_per_nc or profile fewer steps",
                        "the capture dropped %s events", osc_format_count(dropped, number));
    osc_check_fine(run, "the capture reports none");
}

void osc_check_cap(osc_check_run *run)
{
    uint64_t events = osc_check_events(run);
    char number[OSC_NUM_TEXT];
    bool round = events >= ROUND_EVENTS && events % ROUND_EVENTS == 0;
    bool power = events >= ROUND_EVENTS && (events & (events - 1)) == 0;
    (void)osc_format_count((int64_t)events, number);
    if (round || power)
        osc_check_found(run, OSC_SEV_WARN, 1,
                        "writers stop at such limits without a word; look whether the last step is "
                        "there on all threads, or profile fewer steps",
                        "exactly %s events", number);
    osc_check_fine(run, "%s events, no round number", number);
}

/* Kinds whose names pass through Kineto's clean-up of text (1.11). */
static bool has_writer_name(uint8_t kind)
{
    return kind == OSC_KIND_CPU_OP || kind == OSC_KIND_USER_ANNOTATION || kind == OSC_KIND_PYTHON ||
           kind == OSC_KIND_KERNEL || kind == OSC_KIND_GPU_ANNOTATION;
}

void osc_check_names_lost(osc_check_run *run)
{
    uint32_t unknown = osc_store_lookup(run->store, OSC_STR("unknown"));
    uint64_t lost = 0;
    char number[OSC_NUM_TEXT];
    for (uint32_t i = 0; unknown != OSC_NO_ROW && i < run->s->count; i++)
        lost += run->s->name[i] == unknown && has_writer_name(run->s->kind[i]);
    if (lost > 0)
        osc_check_found(run, OSC_SEV_WARN, lost,
                        "rows \"unknown\" mix different functions; write the trace with PyTorch's "
                        "Python exporter (use_python_export=True), which keeps names",
                        "%s %s their name in the writer", osc_format_count((int64_t)lost, number),
                        lost == 1 ? "event lost" : "events lost");
    osc_check_fine(run, "no event is called \"unknown\"");
}
