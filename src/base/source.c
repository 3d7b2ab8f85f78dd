/*
 * source.c - reading ahead, limits, and errors in order; see source.h.
 *
 *   input -> raw buffer -> osc_members -> blocks[4] -> the reader's buffer      compressed
 *   input ------------------------------------------> the reader's buffer      plain
 *
 * A thread inflates into four blocks that go round; the reader copies out of the one in front. The
 * copy costs a tenth of a nanosecond a byte and buys a reader that chooses its own buffer. What
 * ends the stream (its end, damage, a ceiling) is kept beside the last block, so it is met after
 * all bytes before it. Without a thread (asked for, or refused by the system) the same function
 * fills the reader's buffer directly.
 *
 * Limits. Deflate cannot make more than 1,032 bytes of one, zstd some 30,000, so a small file can
 * name any amount of data. Unless the caller gives a ceiling of its own, a stream may inflate to 4
 * GiB in any case, and beyond that to 200 times the compressed bytes read so far; real traces are
 * at 8 to 30.
 *
 * Rejected: mapping plain files. A file that is cut while it is mapped kills the process, and
 * reading through one warm buffer is as fast (libraries.md 6 and the limits measured for the
 * scanner).
 */
#include "base/source_internal.h"

#include "base/mem.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define RAW_BYTES   ((size_t)256 << 10)
#define BLOCK_BYTES ((size_t)1 << 20)
#define BLOCKS      4u

typedef struct block {
    unsigned char *data;
    size_t len;
} block;

struct osc_source {
    osc_source_input in;
    osc_source_form form;
    uint64_t max;     /* the caller's ceiling, or the default one; UINT64_MAX none */
    bool max_default; /* and the ratio counts too */
    _Atomic uint64_t position;

    /* the side that fills: the thread's while it runs, else the reader's */
    osc_members members;
    unsigned char *raw; /* compressed bytes; for plain input only the head that was looked at */
    size_t raw_at, raw_len;
    bool raw_end;
    uint64_t filled; /* bytes of the stream given out so far */
    osc_status end;  /* OSC_OK and ended: the stream's end */
    osc_err end_err;
    bool ended;

    /* between the two sides, under the lock (rule 26): how many blocks are full, and who has
     * stopped */
    osc_mutex lock;
    osc_cond changed;
    uint32_t full;
    bool done, stop;
    osc_thread thread;
    bool threaded;

    /* the reader's side */
    block blocks[BLOCKS];
    uint32_t front; /* the block being read, when holding one */
    size_t front_at;
    bool holding;
};

const char *osc_source_built_with(void)
{
#if defined(OSC_NO_ZLIB)
#define GZIP_BY "no gzip"
#elif defined(OSC_HAVE_ISAL)
#define GZIP_BY "gzip by ISA-L or zlib"
#else
#define GZIP_BY "gzip by zlib"
#endif
#ifdef OSC_HAVE_ZSTD
    return GZIP_BY ", zstd";
#else
    return GZIP_BY ", no zstd";
#endif
}

/* ---- filling ---- */

static void end_with(osc_source *s, osc_status status)
{
    s->end = status;
    s->ended = true;
}

/* Reads up to n raw bytes; 0 at the end. False after an error, which then ends the stream. */
static bool read_raw(osc_source *s, void *buf, size_t n, size_t *got)
{
    errno = 0;
    ssize_t count = s->in.read(s->in.context, buf, n);
    *got = count > 0 ? (size_t)count : 0;
    assert(*got <= n);
    uint64_t at = atomic_load_explicit(&s->position, memory_order_relaxed);
    if (count < 0)
        end_with(
            s, osc_fail(&s->end_err, OSC_EIO, s->in.name, at, "cannot read: %s", strerror(errno)));
    atomic_store_explicit(&s->position, at + *got, memory_order_relaxed);
    return count >= 0;
}

static void end_at_ceiling(osc_source *s)
{
    if (s->form == OSC_SOURCE_PLAIN)
        end_with(s, osc_fail(&s->end_err, OSC_EUNSUPPORTED, s->in.name, OSC_NO_OFFSET,
                             "longer than the ceiling of %llu bytes; a higher one can be given "
                             "(--max-size, max_bytes)",
                             (unsigned long long)s->max));
    else if (!s->max_default)
        end_with(s, osc_fail(&s->end_err, OSC_EUNSUPPORTED, s->in.name, s->members.consumed,
                             "inflates to more than the ceiling of %llu bytes; a higher one can "
                             "be given (--max-size, max_bytes)",
                             (unsigned long long)s->max));
    else
        end_with(s, osc_fail(&s->end_err, OSC_EUNSUPPORTED, s->in.name, s->members.consumed,
                             "inflates to more than %llu bytes and %u times its own size; if that "
                             "is meant, give a ceiling (--max-size, max_bytes)",
                             (unsigned long long)s->in.inflate_always, OSC_INFLATE_RATIO));
}

/* The ceiling as it stands: grows with what was read of a compressed stream. */
static uint64_t ceiling_now(const osc_source *s)
{
    uint64_t by_ratio;
    if (s->form == OSC_SOURCE_PLAIN || !s->max_default)
        return s->max;
    if (!osc_mul_u64(s->members.consumed, OSC_INFLATE_RATIO, &by_ratio))
        by_ratio = UINT64_MAX;
    return by_ratio > s->in.inflate_always ? by_ratio : s->in.inflate_always;
}

/* Counts n new bytes; those above the ceiling are taken back and end the stream. What is left of
 * n. */
static size_t admit(osc_source *s, size_t n)
{
    uint64_t ceiling = ceiling_now(s);
    assert(s->filled <= ceiling);
    uint64_t room = ceiling - s->filled;
    if (n > room) {
        n = (size_t)room;
        if (!s->ended || s->end == OSC_OK)
            end_at_ceiling(s);
    }
    s->filled += n;
    return n;
}

/* One step of inflating into out[0, cap); bytes made. Ends the stream where it ends. */
static size_t inflate_step(osc_source *s, unsigned char *out, size_t cap)
{
    size_t used, made;
    if (s->raw_at == s->raw_len && !s->raw_end) {
        s->raw_at = s->raw_len = 0;
        if (!read_raw(s, s->raw, RAW_BYTES, &s->raw_len))
            return 0;
        s->raw_end = s->raw_len == 0;
    }
    osc_inflate_code code = osc_members_step(&s->members, s->raw + s->raw_at,
                                             s->raw_len - s->raw_at, &used, out, cap, &made);
    s->raw_at += used;
    if (code < 0)
        end_with(s, osc_members_fail(&s->members, code, s->in.name, &s->end_err));
    else if (s->raw_end && made < cap)
        end_with(s, osc_members_end(&s->members)
                        ? OSC_OK
                        : osc_members_fail_cut(&s->members, s->in.name, &s->end_err));
    return made;
}

static size_t plain_step(osc_source *s, unsigned char *out, size_t cap)
{
    size_t got = s->raw_len - s->raw_at;
    if (got > 0) {
        got = got < cap ? got : cap;
        memcpy(out, s->raw + s->raw_at, got);
        s->raw_at += got;
        return got;
    }
    if (read_raw(s, out, cap, &got) && got == 0)
        end_with(s, OSC_OK);
    return got;
}

/* Fills out[0, cap) as far as the stream goes. */
static size_t fill(osc_source *s, unsigned char *out, size_t cap)
{
    size_t len = 0;
    while (len < cap && !s->ended) {
        size_t made = s->form == OSC_SOURCE_PLAIN ? plain_step(s, out + len, cap - len)
                                                  : inflate_step(s, out + len, cap - len);
        len += admit(s, made);
    }
    return len;
}

/* ---- the thread ---- */

static void ahead(void *arg)
{
    osc_source *s = arg;
    uint32_t next = 0;
    bool ended = false;
    osc_mutex_lock(&s->lock);
    while (!s->stop && !ended) {
        if (s->full == BLOCKS) {
            /* two blocks at a time: half as many wake-ups, each of which may cost the reader its
             * core */
            while (s->full > BLOCKS / 2 && !s->stop)
                osc_cond_wait(&s->changed, &s->lock);
            continue;
        }
        osc_mutex_unlock(&s->lock);
        block *b = &s->blocks[next];
        b->len = fill(s, b->data, BLOCK_BYTES);
        next = (next + 1) % BLOCKS;
        ended = s->ended;
        osc_mutex_lock(&s->lock);
        s->full++;
        osc_cond_signal(&s->changed);
    }
    s->done = true;
    osc_cond_signal(&s->changed);
    osc_mutex_unlock(&s->lock);
}

/* Makes blocks[front] one with bytes to read. False at the end of the stream. */
static bool next_block(osc_source *s)
{
    if (s->holding && s->front_at < s->blocks[s->front].len)
        return true;
    osc_mutex_lock(&s->lock);
    for (;;) {
        if (s->holding) {
            s->holding = false;
            s->full--;
            s->front = (s->front + 1) % BLOCKS;
            if (s->full == BLOCKS / 2)
                osc_cond_signal(&s->changed);
        }
        while (s->full == 0 && !s->done)
            osc_cond_wait(&s->changed, &s->lock);
        if (s->full == 0)
            break;
        s->holding = true;
        s->front_at = 0;
        if (s->blocks[s->front].len > 0)
            break; /* an empty one when the stream ended just behind the block before */
    }
    osc_mutex_unlock(&s->lock);
    return s->holding;
}

static size_t copy_blocks(osc_source *s, unsigned char *out, size_t cap)
{
    size_t len = 0;
    while (len < cap && next_block(s)) {
        const block *b = &s->blocks[s->front];
        size_t n = b->len - s->front_at < cap - len ? b->len - s->front_at : cap - len;
        memcpy(out + len, b->data + s->front_at, n);
        s->front_at += n;
        len += n;
    }
    return len;
}

/* Starts the thread. Where that cannot be, the reader inflates itself. */
static void start_ahead(osc_source *s)
{
    for (uint32_t i = 0; i < BLOCKS; i++) {
        s->blocks[i].data = osc_alloc(BLOCK_BYTES);
        if (!s->blocks[i].data)
            return;
    }
    s->threaded = osc_thread_start(&s->thread, "osc-inflate", ahead, s, NULL) == OSC_OK;
}

/* ---- open, read, close ---- */

static osc_status prepare(osc_source *s, const osc_source_options *options, osc_gzip_engine engine,
                          osc_err *err)
{
    osc_inflater *inflater = NULL;
    osc_status status = OSC_OK;
    s->raw = osc_alloc(RAW_BYTES);
    if (!s->raw)
        return osc_fail(err, OSC_ENOMEM, s->in.name, OSC_NO_OFFSET, "no memory to read it");
    while (s->raw_len < OSC_MEMBER_MAGIC && !s->raw_end) {
        size_t got;
        if (!read_raw(s, s->raw + s->raw_len, RAW_BYTES - s->raw_len, &got))
            return osc_fail(err, s->end, s->end_err.input, s->end_err.offset, "%s",
                            s->end_err.message);
        s->raw_len += got;
        s->raw_end = got == 0;
    }
    s->form = osc_source_form_of_bytes(s->raw, s->raw_len);
    if (s->form == OSC_SOURCE_GZIP)
        status = osc_gzip_inflater_new(engine, s->in.name, &inflater, err);
    else if (s->form == OSC_SOURCE_ZSTD)
        status = osc_zstd_inflater_new(s->in.name, &inflater, err);
    s->members = (osc_members){.form = s->form, .inflater = inflater};
    s->max_default = options->max_bytes == 0;
    s->max = s->max_default ? s->in.limit : options->max_bytes;
    if (status == OSC_OK && s->form == OSC_SOURCE_PLAIN && s->in.size > s->max) {
        end_at_ceiling(s);
        return osc_fail(err, s->end, s->end_err.input, s->end_err.offset, "%s", s->end_err.message);
    }
    if (status == OSC_OK && s->form != OSC_SOURCE_PLAIN && !options->no_thread)
        start_ahead(s);
    return status;
}

osc_status osc_source_open_input(osc_source_input *input, const osc_source_options *options,
                                 osc_gzip_engine engine, osc_source **out, osc_err *err)
{
    osc_source *s = osc_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) {
        osc_status status = osc_fail(err, OSC_ENOMEM, input->name, OSC_NO_OFFSET, "out of memory");
        if (input->close)
            input->close(input->context);
        osc_free(input->name);
        return status;
    }
    s->in = *input;
    osc_mutex_init(&s->lock);
    osc_cond_init(&s->changed);
    osc_status status = prepare(s, options, engine, err);
    if (status != OSC_OK) {
        osc_source_close(s);
        return status;
    }
    *out = s;
    return OSC_OK;
}

osc_status osc_source_open(const char *path, const osc_source_options *options, osc_source **out,
                           osc_err *err)
{
    osc_source_input input;
    *out = NULL;
    osc_status status = osc_source_input_open(path, &input, err);
    if (status != OSC_OK)
        return status;
    return osc_source_open_input(&input, options, OSC_GZIP_BEST, out, err);
}

void osc_source_close(osc_source *s)
{
    if (!s)
        return;
    if (s->threaded) {
        osc_mutex_lock(&s->lock);
        s->stop = true;
        osc_cond_signal(&s->changed);
        osc_mutex_unlock(&s->lock);
        if (s->in.wake)
            s->in.wake(s->in.context);
        osc_thread_join(&s->thread);
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        osc_free(s->blocks[i].data);
    if (s->members.inflater)
        s->members.inflater->free(s->members.inflater);
    if (s->in.close)
        s->in.close(s->in.context);
    osc_cond_destroy(&s->changed);
    osc_mutex_destroy(&s->lock);
    osc_free(s->raw);
    osc_free(s->in.name);
    osc_free(s);
}

osc_status osc_source_read(osc_source *s, void *buf, size_t n, size_t *got, osc_err *err)
{
    assert(n > 0);
    *got = s->threaded ? copy_blocks(s, buf, n) : fill(s, buf, n);
    /* with a thread `end` is settled once no block is left; the lock of next_block ordered it */
    if (*got == n || s->end == OSC_OK)
        return OSC_OK;
    return osc_fail(err, s->end, s->end_err.input, s->end_err.offset, "%s", s->end_err.message);
}

osc_status osc_source_read_at(osc_source *s, uint64_t at, void *buf, size_t n, size_t *got,
                              osc_err *err)
{
    unsigned char *out = buf;
    assert(osc_source_seekable(s));
    *got = 0;
    while (*got < n) {
        ssize_t count = s->in.read_at(s->in.context, at + *got, out + *got, n - *got);
        if (count < 0)
            return osc_fail(err, OSC_EIO, s->in.name, at + *got, "cannot read: %s",
                            strerror(errno));
        if (count == 0)
            break;
        assert((size_t)count <= n - *got);
        *got += (size_t)count;
    }
    return OSC_OK;
}

bool osc_source_seekable(const osc_source *s)
{
    return s->form == OSC_SOURCE_PLAIN && s->in.read_at != NULL;
}

osc_source_form osc_source_form_of(const osc_source *s)
{
    return s->form;
}

uint64_t osc_source_file_size(const osc_source *s)
{
    return s->in.size;
}

uint64_t osc_source_file_position(const osc_source *s)
{
    return atomic_load_explicit(&s->position, memory_order_relaxed);
}

uint64_t osc_source_trailing_garbage(const osc_source *s)
{
    return s->members.garbage;
}
