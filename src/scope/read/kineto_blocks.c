/*
 * kineto_blocks.c - the events of a plain file on several threads.
 *
 *     file    [ head | block 0 | block 1 | block 2 | ...                | tail ]
 *     thread           A         B         A          each guesses where its first event begins
 *     store            0, then   1, then   2, ...     appended in the order of the file
 *
 * A thread takes the next block, looks for a separator of events as the writer makes them, and
 * parses from there into rows of its own until the first event behind its block. Then it waits for
 * its turn. The block before says where its last event ended, which is where this one had to begin.
 * If the guess was right the rows are appended, ids translated; if not (the separator stood inside
 * a text), the block is parsed again from the right place. So the rows are those of a single
 * thread, whatever is guessed, and in the same order: texts and lanes get their numbers when they
 * are appended.
 *
 * Order costs nothing but waiting: blocks take about as long as each other, and appending takes a
 * tenth of parsing. Memory is one window and one block's rows for each thread.
 *
 * Rejected: splitting at line ends, which many writers do not have; a first pass that finds the
 * events, which costs a third of parsing them.
 */
#include "scope/read/kineto_blocks.h"

#include "base/mem.h"
#include "base/thread.h"
#include "scope/read/kineto_fast.h"

#include <assert.h>
#include <string.h>

#define BLOCK_BYTES ((uint64_t)4 << 20)
/* Read first by one thread, which learns the layouts. */
#define LEARN_BYTES ((uint64_t)512 << 10)
/* Less than this is not worth a thread. */
#define LEAST_BYTES  ((uint64_t)6 << 20)
#define MOST_THREADS 64u

/* All threads of one reading; under the lock but for what is said. */
struct crew {
    osc_kineto *k;       /* what the rows go to; of the thread whose turn it is */
    uint64_t start, end; /* offsets of the first event, and of the file's end when it was opened */
    uint64_t block;      /* bytes, constant */
    osc_mutex lock;
    osc_cond turned;
    uint64_t next; /* block that nobody has taken yet */
    uint64_t turn; /* block whose rows are appended next */
    uint64_t at;   /* where the event behind the last one appended begins */
    bool over;     /* the list ended, or reading failed */
    osc_kineto_step step;
    bool opened; /* of the scan at `start` */
};

/* What one thread parses blocks with. */
struct worker {
    struct crew *crew;
    osc_kineto k; /* its own store, lanes, window */
    uint64_t began;
    osc_kineto_step step;
    uint32_t *texts, *lanes, *pairs; /* translations, by the numbers of k */
    size_t text_cap, lane_cap, pair_cap;
    osc_thread thread;
};

/* ---- one block ---- */

/* Empties what the last block left. False when out of memory. */
static bool start_over(struct worker *w)
{
    osc_kineto *k = &w->k;
    osc_store_clear(k->store);
    osc_store_set_input(k->store, osc_str_from_cstr(k->context->input));
    osc_fast_reset(k->fast);
    osc_tracks_free(k->tracks);
    k->tracks = osc_tracks_new(k->store);
    k->half_count = 0;
    k->events = k->dropped = k->instants = k->counters = 0;
    k->seen_flags = k->fractions = 0;
    k->truncated = k->huge = false;
    return k->tracks != NULL;
}

/* The window of a worker at an offset of the file, nothing read yet. */
static void go_to(struct worker *w, uint64_t at)
{
    osc_kineto *k = &w->k;
    osc_feed_seek(&k->feed, w->crew->k->feed.source, at);
    k->scan = (osc_scan){.data = k->feed.data, .base = at, .more = true};
}

/* Moves to the first separator in the window and behind; false when there is none before stop. */
static bool find_start(struct worker *w, uint64_t stop)
{
    osc_kineto *k = &w->k;
    size_t width = osc_fast_separator(k->fast);
    while (osc_kineto_more(k, k->scan.pos)) {
        size_t found =
            osc_fast_find_separator(k->fast, k->scan.data + k->scan.pos, k->scan.len - k->scan.pos);
        if (found != SIZE_MAX) {
            k->scan.pos += found;
            w->began = k->scan.base + k->scan.pos + width - 1;
            return w->began < stop;
        }
        k->scan.pos = k->scan.len > width ? k->scan.len - width : k->scan.pos;
        if (k->scan.base + k->scan.pos >= stop)
            return false;
    }
    return false;
}

/* Parses from the event at `at` (the scan stands there or at the separator before it) to stop. */
static void parse(struct worker *w, uint64_t stop)
{
    w->k.stop = stop;
    w->step = osc_kineto_take_events(&w->k);
}

/* Parses a block from a guessed start; began is UINT64_MAX when there is no good guess. */
static void parse_guess(struct worker *w, uint64_t index, uint64_t stop)
{
    struct crew *c = w->crew;
    w->began = UINT64_MAX;
    if (!start_over(w))
        return;
    go_to(w, c->start + index * c->block);
    w->k.feed.max = c->block * 4 > OSC_FEED_BYTES ? (size_t)c->block * 4 : OSC_FEED_BYTES;
    if (index == 0) {
        w->began = c->start;
        w->k.scan.opened = c->opened;
    } else if (!find_start(w, stop)) {
        w->began = UINT64_MAX;
        return;
    }
    parse(w, stop);
    if (w->k.huge || w->step == OSC_STEP_FAIL)
        w->began = UINT64_MAX;
}

/* Parses a block from where its first event is known to begin. */
static void parse_again(struct worker *w, uint64_t at, uint64_t stop)
{
    w->began = at;
    if (!start_over(w)) {
        w->k.failed = true;
        w->step = OSC_STEP_FAIL;
        return;
    }
    go_to(w, at);
    w->k.scan.opened = true; /* no comma is due before it */
    w->k.feed.max = OSC_FEED_MAX_BYTES;
    parse(w, stop);
}

/* ---- appending ---- */

static bool room_for(uint32_t **map, size_t *cap, size_t n)
{
    if (n <= *cap)
        return true;
    uint32_t *grown = osc_realloc_array(*map, n + n / 2, sizeof *grown);
    if (!grown)
        return false;
    *map = grown;
    *cap = n + n / 2;
    return true;
}

static void append_halves(osc_kineto *to, const osc_kineto *from, const struct worker *w)
{
    for (uint32_t i = 0; i < from->half_count; i++) {
        osc_kineto_half half = from->halves[i];
        half.name = w->texts[half.name];
        half.track = half.track == OSC_NO_ROW ? OSC_NO_ROW : w->lanes[half.track];
        if (!osc_kineto_add_half(to, &half))
            to->failed = true;
    }
}

/* Findings go through osc_store_note, which joins those of the same kind. */
static void append_findings(osc_kineto *to, const osc_kineto *from)
{
    const osc_finding_cols *f = osc_store_finding(from->store);
    char code[64], sentence[512];
    for (uint32_t i = 0; i < f->count; i++)
        osc_store_note(to->store, (osc_severity)f->severity[i],
                       osc_str_to_array(osc_store_text(from->store, f->code[i]), code, sizeof code),
                       f->times[i], f->offset[i],
                       osc_str_to_array(osc_store_text(from->store, f->sentence[i]), sentence,
                                        sizeof sentence));
}

/* Rows of the worker's block behind those of the crew. The worker's turn. */
static void append(struct worker *w)
{
    osc_kineto *to = w->crew->k, *from = &w->k;
    uint32_t texts = osc_store_text_count(from->store);
    if (!room_for(&w->texts, &w->text_cap, texts) ||
        !room_for(&w->lanes, &w->lane_cap, osc_tracks_count(from->tracks)) ||
        !room_for(&w->pairs, &w->pair_cap, osc_tracks_pair_count(from->tracks))) {
        to->failed = true;
        return;
    }
    for (uint32_t i = 0; i < texts; i++)
        w->texts[i] = osc_store_intern(to->store, osc_store_text(from->store, i));
    osc_tracks_merge(to->tracks, from->tracks, w->lanes, w->pairs);
    osc_store_maps maps = {
        .texts = w->texts, .tracks = w->lanes, .slices = osc_store_slice(to->store)->count};
    osc_store_append(to->store, from->store, OSC_TABLE_slice, &maps);
    osc_store_append(to->store, from->store, OSC_TABLE_memory, &maps);
    osc_store_append(to->store, from->store, OSC_TABLE_launch, &maps);
    osc_store_append(to->store, from->store, OSC_TABLE_sequence, &maps);
    maps.tracks = w->pairs; /* flows hold pairs until all lanes are known */
    osc_store_append(to->store, from->store, OSC_TABLE_flow, &maps);
    append_halves(to, from, w);
    append_findings(to, from);
    osc_scan_add_repairs(&to->scan, &from->scan, OSC_REPAIR_COUNT);
    to->events += from->events;
    to->dropped += from->dropped;
    to->instants += from->instants;
    to->counters += from->counters;
    to->seen_flags |= from->seen_flags;
    to->fractions |= from->fractions;
    to->truncated = to->truncated || from->truncated;
    to->failed = to->failed || from->failed || from->text.failed || osc_store_failed(from->store);
}

/* ---- the crew ---- */

/* The worker's turn: its block's rows, or those of a second try, into the crew's store. True when
 * that was the last block. */
static bool take_turn(struct worker *w, uint64_t stop)
{
    struct crew *c = w->crew;
    if (c->over || c->at >= stop)
        return c->over; /* nothing is left, or one event covers the whole block */
    if (w->began != c->at)
        parse_again(w, c->at, stop);
    if (!w->k.tracks) {
        c->k->failed = true; /* no memory even to begin */
        return true;
    }
    append(w);
    c->at = w->k.scan.base + w->k.scan.pos;
    c->step = w->step;
    if (w->step == OSC_STEP_FAIL && w->k.feed.status != OSC_OK) {
        c->k->feed.status = w->k.feed.status;
        c->k->feed.err = w->k.feed.err;
    }
    const osc_open_options *options = c->k->context->options;
    if (options && options->progress)
        options->progress(options->progress_context, c->at, c->end, c->k->events);
    return w->step != OSC_STEP_STOP || c->k->failed;
}

static void work(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    for (;;) {
        osc_mutex_lock(&c->lock);
        uint64_t index = c->next;
        bool done = c->over || c->start + index * c->block >= c->end;
        c->next += !done;
        osc_mutex_unlock(&c->lock);
        if (done)
            return;
        /* the last block ends where the input does, which may have grown */
        uint64_t stop = c->start + (index + 1) * c->block;
        stop = stop >= c->end ? UINT64_MAX : stop;
        parse_guess(w, index, stop);
        osc_mutex_lock(&c->lock);
        while (c->turn != index)
            osc_cond_wait(&c->turned, &c->lock);
        osc_mutex_unlock(&c->lock);
        bool over = take_turn(w, stop);
        osc_mutex_lock(&c->lock);
        c->over = over;
        c->turn++;
        osc_cond_broadcast(&c->turned);
        osc_mutex_unlock(&c->lock);
    }
}

static void worker_free(struct worker *w)
{
    osc_store *store = w->k.store;
    osc_kineto_free(&w->k);
    osc_store_free(store);
    osc_free(w->texts);
    osc_free(w->lanes);
    osc_free(w->pairs);
}

/* False when out of memory; the worker is then to be freed all the same. */
static bool worker_init(struct worker *w, struct crew *crew)
{
    const osc_kineto *k = crew->k;
    memset(w, 0, sizeof *w);
    w->crew = crew;
    w->k.store = osc_store_new();
    if (!w->k.store || !osc_kineto_init(&w->k, w->k.store, k->context))
        return false;
    osc_store_omit_like(w->k.store, k->store);
    osc_fast_free(w->k.fast);
    w->k.fast = osc_fast_copy(k->fast);
    osc_feed_init_bytes(&w->k.feed, NULL, 0, k->context->window);
    w->k.drop_frames = k->drop_frames;
    return w->k.fast != NULL;
}

/* Runs the crew of up to n threads, the calling one among them; as many as memory and system
 * allow. */
static bool run_crew(struct crew *c, uint32_t n)
{
    struct worker *workers = osc_calloc(n, sizeof *workers);
    uint32_t ready = 0;
    while (workers && ready < n && worker_init(&workers[ready], c))
        ready++;
    if (workers && ready < n)
        worker_free(&workers[ready]);
    for (uint32_t i = 1; i < ready; i++) {
        osc_err err;
        if (osc_thread_start(&workers[i].thread, "osc-read", work, &workers[i], &err) != OSC_OK)
            break; /* fewer will do */
    }
    if (ready > 0)
        work(&workers[0]);
    for (uint32_t i = 1; i < ready; i++)
        osc_thread_join(&workers[i].thread);
    for (uint32_t i = 0; i < ready; i++)
        worker_free(&workers[i]);
    osc_free(workers);
    return ready > 0;
}

/* Threads worth starting for what is left of the input. */
static uint32_t thread_count(const osc_kineto *k)
{
    const osc_open_options *options = k->context->options;
    if (!k->feed.source || k->feed.positioned || !k->fast || !osc_source_seekable(k->feed.source))
        return 1;
    uint64_t size = osc_source_file_size(k->feed.source), at = k->scan.base + k->scan.pos;
    if (k->context->block == 0 && (size < at || size - at < LEAST_BYTES))
        return 1;
    size_t n = options && options->threads > 0 ? options->threads : osc_cpu_count();
    return n < MOST_THREADS ? (uint32_t)n : MOST_THREADS;
}

osc_kineto_step osc_kineto_take_blocks(osc_kineto *k)
{
    uint32_t threads = thread_count(k);
    if (threads < 2)
        return osc_kineto_take_events(k);
    uint64_t block = k->context->block ? k->context->block : BLOCK_BYTES;
    k->stop = k->scan.base + k->scan.pos + (k->context->block ? block : LEARN_BYTES);
    osc_kineto_step step = osc_kineto_take_events(k);
    k->stop = UINT64_MAX;
    if (step != OSC_STEP_STOP)
        return step;
    if (osc_fast_separator(k->fast) == 0) {
        k->scan.opened = true; /* the comma before the next event was taken */
        return osc_kineto_take_events(k);
    }
    uint64_t start = k->scan.base + k->scan.pos;
    struct crew crew = {.k = k,
                        .start = start,
                        .at = start,
                        .end = osc_source_file_size(k->feed.source),
                        .block = block,
                        .step = OSC_STEP_STOP,
                        .opened = true};
    osc_mutex_init(&crew.lock);
    osc_cond_init(&crew.turned);
    bool ran = run_crew(&crew, threads);
    osc_mutex_destroy(&crew.lock);
    osc_cond_destroy(&crew.turned);
    k->scan.opened = true;
    if (!ran)
        return osc_kineto_take_events(k);
    osc_feed_seek(&k->feed, k->feed.source, crew.at);
    k->scan.base = crew.at;
    k->scan.len = k->scan.pos = 0;
    k->scan.more = true;
    k->scan.opened = crew.step == OSC_STEP_STOP;
    return crew.step == OSC_STEP_STOP ? osc_kineto_take_events(k) : crew.step;
}
