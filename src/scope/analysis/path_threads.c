/*
 * path_threads.c - hand-overs between the step's thread and the threads of autograd; see
 * path_graph.c.
 *
 * Autograd runs a backward pass on threads of its own while the caller waits inside backward(),
 * which no operator shows. What is recorded is when each thread was active. A backward thread took
 * work from the step's thread where that one was active since its own last operator; the step's
 * thread waited for a backward thread that ended in a gap of its own. Other threads (data loaders,
 * pinning) run beside and are taken as they are.
 */
#include "scope/analysis/path_build.h"

#include "base/mem.h"

static bool find_active(struct path_build *b, struct path_active *a, osc_pieces *walk)
{
    uint32_t first, end;
    osc_piece piece;
    osc_thread_range(b->busy, a->thread, &first, &end);
    osc_pieces_start(walk, b->busy, first, end, b->step->start_ns, b->step->end_ns);
    while (osc_pieces_next(walk, &piece)) {
        if (piece.slice == OSC_NO_ROW ||
            (!osc_busy_is_op(b->busy, piece.slice) && b->s->kind[piece.slice] != OSC_KIND_RUNTIME))
            continue;
        if (a->count > 0 && a->spans[a->count - 1].end_ns == piece.start_ns) {
            a->spans[a->count - 1].end_ns = piece.end_ns;
            continue;
        }
        if (a->count == a->room) {
            uint32_t room = a->room ? a->room * 2 : 64;
            osc_span *grown = osc_realloc_array(a->spans, room, sizeof *grown);
            if (!grown)
                return false;
            a->spans = grown;
            a->room = room;
        }
        a->spans[a->count++] = (osc_span){piece.start_ns, piece.end_ns};
    }
    return !walk->failed;
}

/* Marks the threads of the step's process that run backward nodes; their number. */
static uint32_t mark_backward(const struct path_build *b, uint8_t *marks)
{
    const osc_sequence_cols *q = osc_store_sequence(b->busy->store);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->s->count; i++) {
        if (b->s->kind[i] == OSC_KIND_CPU_OP && path_in_step(b, b->s->start_ns[i]) &&
            (osc_busy_name(b->busy, i) & OSC_NAME_BACKWARD)) {
            uint32_t thread = osc_busy_thread(b->busy, i);
            if (thread < b->threads)
                marks[thread] = 1;
        }
    }
    for (uint32_t i = 0; i < q->count; i++) {
        if (q->slice[i] < b->s->count && q->fwd_thread[i] != 0 &&
            path_in_step(b, b->s->start_ns[q->slice[i]])) {
            uint32_t thread = osc_busy_thread(b->busy, q->slice[i]);
            if (thread < b->threads)
                marks[thread] = 1;
        }
    }
    for (uint32_t t = 0; t < b->threads; t++) {
        bool ours = t < b->steps->threads && b->steps->process_of[t] == b->step->process;
        marks[t] = marks[t] && ours && t != b->step->thread;
        n += marks[t];
    }
    return n;
}

bool path_find_threads(struct path_build *b)
{
    uint8_t *marks = osc_calloc((size_t)b->threads + 1, 1);
    osc_pieces walk = {0};
    uint32_t n = marks ? mark_backward(b, marks) : 0;
    b->backward = osc_calloc((size_t)n + 1, sizeof *b->backward);
    bool ok = marks && b->backward;
    for (uint32_t t = 0; ok && t < b->threads; t++) {
        if (marks[t]) {
            struct path_active *a = &b->backward[b->backward_count++];
            a->thread = t;
            b->relevant[t] = 1;
            ok = find_active(b, a, &walk);
        }
    }
    b->main.thread = b->step->thread;
    if (b->main.thread < b->threads)
        b->relevant[b->main.thread] = 1;
    ok = ok && find_active(b, &b->main, &walk);
    osc_pieces_free(&walk);
    osc_free(marks);
    return ok;
}

/* First span that ends after a time. */
static uint32_t span_after(const struct path_active *a, int64_t time)
{
    uint32_t low = 0, high = a->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->spans[middle].end_ns <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Thread `to` took over at `in` what thread `from` gave at `out`, after being idle since `idle`. */
static void hand_over(struct path_build *b, uint32_t from, int64_t out, uint32_t to, int64_t in,
                      int64_t idle)
{
    uint32_t giver = path_add_point(b, out, from, PATH_OUT, OSC_NO_ROW);
    uint32_t taker = path_add_point(b, in, to, PATH_IN, OSC_NO_ROW);
    if (b->failed)
        return;
    b->g->points[taker].other = giver;
    b->g->points[taker].other_lag = in - out;
    b->g->points[taker].host_lag = idle; /* made relative once the point before is known */
}

/* Where a backward thread took work from the step's thread. */
static void add_takes(struct path_build *b, const struct path_active *a)
{
    for (uint32_t i = 0; i < a->count && !b->failed; i++) {
        int64_t idle = i == 0 ? b->step->start_ns : a->spans[i - 1].end_ns;
        int64_t start = a->spans[i].start_ns;
        uint32_t given = span_after(&b->main, idle);
        if (start > b->step->start_ns && given < b->main.count &&
            b->main.spans[given].start_ns < start)
            hand_over(b, b->main.thread, start, a->thread, start, idle);
    }
}

/* Where the step's thread waited for a backward thread: the last to end in a gap of its own. */
static void add_join(struct path_build *b, int64_t idle, int64_t until)
{
    int64_t end = idle;
    uint32_t thread = OSC_NO_ROW;
    for (uint32_t k = 0; k < b->backward_count; k++) {
        const struct path_active *a = &b->backward[k];
        uint32_t i = span_after(a, until);
        bool runs_on = i < a->count && a->spans[i].start_ns < until;
        if (i > 0 && !runs_on && a->spans[i - 1].end_ns > end) {
            end = a->spans[i - 1].end_ns;
            thread = a->thread;
        }
    }
    if (thread != OSC_NO_ROW)
        hand_over(b, thread, end, b->main.thread, until, idle);
}

void path_add_hand_overs(struct path_build *b)
{
    int64_t idle = b->step->start_ns;
    for (uint32_t k = 0; k < b->backward_count; k++)
        add_takes(b, &b->backward[k]);
    for (uint32_t i = 0; b->backward_count > 0 && i < b->main.count && !b->failed; i++) {
        if (b->main.spans[i].start_ns > idle)
            add_join(b, idle, b->main.spans[i].start_ns);
        idle = b->main.spans[i].end_ns;
    }
    /* The end of a range waits for a backward too; what ends with device work, or with all, does
     * not. */
    if (b->backward_count > 0 && !b->steps->whole && b->last_item == OSC_NO_ROW && !b->failed &&
        b->step->end_ns > idle)
        add_join(b, idle, b->step->end_ns);
}
