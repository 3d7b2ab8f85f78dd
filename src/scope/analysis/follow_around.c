/*
 * follow_around.c - what is around a call: the python frames, its forward or backward partner, the
 * calls of the same name before and after it.
 *
 * A backward operator carries the "Sequence number" of the forward operator whose node it runs.
 * Several forward operators may carry one number; the node is made by the one that began last
 * (kineto-trace-format.md 1.7, 2.6). "Fwd thread id" counts threads otherwise than tid does, so the
 * partner is looked for by number and order of time alone.
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>

/* ---- frames ---- */

struct frames {
    uint32_t *rows; /* outermost first */
    uint32_t count;
    size_t room;
};

static int compare_frames(const void *left, const void *right, void *context)
{
    const osc_slice_cols *s = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b] ? -1 : 1;
    if (s->dur_ns[a] != s->dur_ns[b])
        return s->dur_ns[a] > s->dur_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool surrounds(const struct follow_call *c, uint32_t frame, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    const osc_track_cols *t = osc_store_track(c->f.store);
    int64_t end = s->start_ns[slice] + s->dur_ns[slice];
    return s->kind[frame] == OSC_KIND_PYTHON && s->start_ns[frame] <= s->start_ns[slice] &&
           s->start_ns[frame] + s->dur_ns[frame] >= end && frame != slice &&
           t->thread[s->track[frame]] == t->thread[s->track[slice]];
}

static bool frames_around(const struct follow_call *c, uint32_t slice, struct frames *out)
{
    osc_slice_cols s = *osc_store_slice(c->f.store);
    for (uint32_t i = 0; i < s.count; i++) {
        if (!surrounds(c, i, slice))
            continue;
        if (out->count == out->room) {
            size_t room = out->room ? 2 * out->room : 64;
            uint32_t *rows = osc_realloc_array(out->rows, room, sizeof *rows);
            if (!rows)
                return false;
            out->rows = rows;
            out->room = room;
        }
        out->rows[out->count++] = i;
    }
    if (out->count > 1)
        qsort_r(out->rows, out->count, sizeof *out->rows, compare_frames, &s);
    return true;
}

/* "path(27): function" as "path:27 function"; false for frames of another form. */
static bool say_frame(osc_str frame, osc_buf *out)
{
    size_t close = osc_str_find(frame, OSC_STR("): "));
    size_t open =
        close == SIZE_MAX ? SIZE_MAX : osc_str_rfind_char(osc_str_sub(frame, 0, close), '(');
    if (open == SIZE_MAX || open + 1 >= close || frame.ptr[0] == '<')
        return false;
    osc_buf_printf(out, "%.*s:%.*s %.*s", OSC_STR_FMT(osc_str_sub(frame, 0, open)),
                   OSC_STR_FMT(osc_str_sub(frame, open + 1, close - open - 1)),
                   OSC_STR_FMT(osc_str_sub(frame, close + 3, SIZE_MAX)));
    return true;
}

bool osc_follow_source(struct follow_call *c, uint32_t slice, osc_buf *out)
{
    struct frames frames = {0};
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    bool ok = frames_around(c, slice, &frames);
    for (uint32_t i = frames.count; ok && i-- > 0;) {
        if (say_frame(osc_store_text(c->f.store, s->name[frames.rows[i]]), out))
            break;
    }
    osc_free(frames.rows);
    return ok;
}

bool osc_follow_frames(struct follow_call *c)
{
    struct frames frames = {0};
    bool ok = !c->options->frames || c->op == OSC_NO_ROW || frames_around(c, c->op, &frames);
    for (uint32_t i = 0; ok && i < frames.count; i++)
        (void)osc_follow_slice_row(c, frames.rows[i], "frame");
    osc_free(frames.rows);
    return ok;
}

/* ---- the partner ---- */

/* The sequence number an operator carries; false when it has none. */
static bool sequence_of(const struct follow_call *c, uint32_t slice, int64_t *sequence,
                        bool *forward)
{
    const osc_sequence_cols *q = osc_store_sequence(c->f.store);
    for (uint32_t i = 0; i < q->count; i++) {
        if (q->slice[i] != slice)
            continue;
        *sequence = q->sequence[i];
        *forward = q->fwd_thread[i] == 0;
        return true;
    }
    return false;
}

/* Of the operators with a number on one side, before or after a time, the nearest; of a backward
 * operator the outermost. thread OSC_NO_ROW: any. */
static uint32_t nearest_with(const struct follow_call *c, int64_t sequence, bool forward,
                             int64_t time, uint32_t thread)
{
    const osc_sequence_cols *q = osc_store_sequence(c->f.store);
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    const osc_track_cols *t = osc_store_track(c->f.store);
    uint32_t found = OSC_NO_ROW;
    for (uint32_t i = 0; i < q->count; i++) {
        uint32_t slice = q->slice[i];
        if (q->sequence[i] != sequence || (q->fwd_thread[i] == 0) != forward ||
            (thread != OSC_NO_ROW && t->thread[s->track[slice]] != thread))
            continue;
        int64_t start = s->start_ns[slice];
        bool fits = forward ? start <= time : start >= time;
        bool nearer = found == OSC_NO_ROW ||
                      (forward ? start > s->start_ns[found] : start < s->start_ns[found]);
        bool wider = found != OSC_NO_ROW && !forward && start == s->start_ns[found] &&
                     s->dur_ns[slice] > s->dur_ns[found];
        if (fits && (nearer || wider))
            found = slice;
    }
    return found;
}

/* The partner of the call and whether it is its forward operator; OSC_NO_ROW none. */
static uint32_t partner_of(const struct follow_call *c, bool *is_forward, int64_t *sequence)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    bool forward;
    if (c->op == OSC_NO_ROW || !sequence_of(c, c->op, sequence, &forward))
        return OSC_NO_ROW;
    *is_forward = !forward;
    if (!forward)
        return nearest_with(c, *sequence, true, s->start_ns[c->op], OSC_NO_ROW);
    uint32_t thread = osc_store_track(c->f.store)->thread[s->track[c->op]];
    uint32_t partner = nearest_with(c, *sequence, false, s->start_ns[c->op], OSC_NO_ROW);
    if (partner == OSC_NO_ROW)
        return OSC_NO_ROW;
    uint32_t maker = nearest_with(c, *sequence, true, s->start_ns[partner], thread);
    return maker != OSC_NO_ROW && osc_follow_inside(c, c->op, maker) ? partner : OSC_NO_ROW;
}

/* Device time linked to an operator and those inside it. */
static int64_t device_ns(const struct follow_call *c, uint32_t op, uint32_t *pieces)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t sum = 0;
    *pieces = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint8_t kind = s->kind[i], rule;
        if (!osc_slice_kind_is_device_work((osc_slice_kind)kind) && kind != OSC_KIND_MTIA)
            continue;
        if (!osc_calls_counts(c->calls, i))
            continue;
        uint32_t of = osc_follow_op_of(c, i, &rule);
        if (of == OSC_NO_ROW || !osc_follow_inside(c, op, of))
            continue;
        sum = osc_add_sat(sum, s->dur_ns[i]);
        (*pieces)++;
    }
    return sum;
}

static bool add_partner(struct follow_call *c)
{
    bool is_forward = false;
    int64_t sequence = 0;
    uint32_t pieces = 0, partner = partner_of(c, &is_forward, &sequence);
    char time[OSC_NUM_TEXT];
    osc_str source = osc_table_fact_str(c->f.table, "source");
    if (partner == OSC_NO_ROW)
        return true;
    int64_t device = device_ns(c, partner, &pieces);
    uint32_t row = osc_follow_slice_row(c, partner, is_forward ? "forward" : "backward");
    osc_buf_clear(&c->f.text);
    osc_buf_printf(&c->f.text, "sequence %lld; device %s in %u piece%s", (long long)sequence,
                   osc_format_ns(device, time), pieces, pieces == 1 ? "" : "s");
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_DETAIL, osc_buf_view(&c->f.text));
    if (!is_forward || source.len > 0)
        return true;
    osc_buf_clear(&c->f.text); /* the autograd thread has no frames: those of the
                                forward operator */
    bool ok = osc_follow_source(c, partner, &c->f.text);
    osc_table_set_fact_str(c->f.table, "source", osc_buf_view(&c->f.text));
    return ok;
}

/* ---- neighbours ---- */

static void add_neighbour(struct follow_call *c, uint32_t slice, const char *kind)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t early = s->start_ns[slice] < s->start_ns[c->slice] ? slice : c->slice;
    uint32_t late = early == slice ? c->slice : slice;
    int64_t apart = s->start_ns[late] - s->start_ns[early] - s->dur_ns[early];
    char time[OSC_NUM_TEXT];
    uint32_t row = osc_follow_slice_row(c, slice, kind);
    osc_buf_clear(&c->f.text);
    osc_buf_printf(&c->f.text, "%s between them", osc_format_ns(apart, time));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_DETAIL, osc_buf_view(&c->f.text));
}

bool osc_follow_partners(struct follow_call *c)
{
    if (!add_partner(c))
        return false;
    if (c->previous != OSC_NO_ROW)
        add_neighbour(c, c->previous, "previous");
    if (c->next != OSC_NO_ROW)
        add_neighbour(c, c->next, "next");
    return true;
}
