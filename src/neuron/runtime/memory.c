/*
 * memory.c - device memory: one sparse file in RAM, mapped twice, and the allocator above it.
 *
 *     device addresses   [ PROT_NONE .................... ]   what callers hold; host access faults
 *     memfd              [ page . . page page . . . . . . ]   pages exist once written
 *     alias              [ read + write ................. ]   the queue thread's view
 *
 * The first mapping is of the same file, so that a debugger, which may read past PROT_NONE, shows
 * device memory at device addresses. Host access to a device pointer must fault: it turned every
 * silent mistake of an adapter into a crash at the right line (pytorch-adapter.md 10).
 *
 * Allocator. A block is in use, cached, or free. Freed blocks go to the cache, a stack per exact
 * size: a training loop asks for the same sizes again and gets them in O(1), pages warm. On a miss
 * the best fit of the free blocks is taken, from bins of eight sizes per power of two. Free
 * neighbours join; when 4 MiB of a free range have been written since its pages last went back,
 * they go back.
 *
 * Refuses: per-stream pools. One queue per device runs work in submission order, so a block is safe
 * to reuse on any stream the moment it is freed.
 */
#include "neuron/runtime/memory.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define GRAIN        UINT64_C(256)
#define GRAIN_SHIFT  8
#define BINS         320u /* 8 per power of two of grains, up to 2^40 grains */
#define BIN_SCAN     32   /* blocks looked at within one bin */
#define CACHE_SLOTS  512u
#define CACHE_BLOCKS 4096u /* more cached blocks than this go to the free pool at once */
#define TRIM_BYTES   (UINT64_C(4) << 20)
#define CHUNK_BLOCKS 256u

typedef enum block_state { BLOCK_SPARE = 0, BLOCK_USED, BLOCK_CACHED, BLOCK_FREE } block_state;

/* A piece of the address range. All blocks together tile it, linked in address order. */
typedef struct block {
    uint64_t offset, size; /* bytes, multiples of GRAIN */
    uint64_t dirty;        /* FREE: upper bound of bytes written since its pages were given back */
    struct block *before, *after; /* address order */
    struct block *prev, *next;    /* FREE: its bin; CACHED, SPARE: next only */
    block_state state;
    bool own; /* USED: the runtime's, not the program's */
} block;

typedef struct chunk {
    struct chunk *next;
    block blocks[CHUNK_BLOCKS];
} chunk;

struct osc_devmem {
    osc_mutex lock; /* everything below but the mappings; a leaf: no other lock is taken under it */
    int32_t device;
    int fd;
    uint64_t capacity;
    uint8_t *base;  /* PROT_NONE */
    uint8_t *alias; /* read and write */
    chunk *chunks;
    block *spare;
    osc_map used; /* offset -> block in use */
    block *bins[BINS];
    uint64_t occupied[BINS / 64]; /* bit: the bin has a block */
    block *cache[CACHE_SLOTS];
    uint32_t cached_blocks;
    uint64_t cached_bytes, cache_limit, own_bytes;
    osc_devmem_trim_hook trim;
    void *trim_context;
    osc_nrt_memory stats; /* all but reserved and capacity */
};

/* ---- block records ---- */

static block *block_new(osc_devmem *mem)
{
    if (mem->spare == NULL) {
        chunk *more = osc_calloc(1, sizeof *more);
        if (more == NULL)
            return NULL;
        more->next = mem->chunks;
        mem->chunks = more;
        for (size_t i = 0; i < CHUNK_BLOCKS; i++) {
            more->blocks[i].next = mem->spare;
            mem->spare = &more->blocks[i];
        }
    }
    block *b = mem->spare;
    mem->spare = b->next;
    memset(b, 0, sizeof *b);
    return b;
}

static void block_recycle(osc_devmem *mem, block *b)
{
    b->state = BLOCK_SPARE;
    b->next = mem->spare;
    mem->spare = b;
}

/* ---- bins of free blocks ---- */

static uint32_t bin_of(uint64_t size)
{
    uint64_t grains = size >> GRAIN_SHIFT;
    assert(grains > 0);
    if (grains < 8)
        return (uint32_t)grains;
    uint32_t log = 63u - (uint32_t)__builtin_clzll(grains);
    return (log - 2) * 8 + (uint32_t)((grains >> (log - 3)) & 7);
}

static void bin_insert(osc_devmem *mem, block *b)
{
    uint32_t bin = bin_of(b->size);
    assert(bin < BINS);
    b->state = BLOCK_FREE;
    b->prev = NULL;
    b->next = mem->bins[bin];
    if (b->next != NULL)
        b->next->prev = b;
    mem->bins[bin] = b;
    mem->occupied[bin / 64] |= UINT64_C(1) << (bin % 64);
}

static void bin_remove(osc_devmem *mem, block *b)
{
    uint32_t bin = bin_of(b->size);
    assert(b->state == BLOCK_FREE);
    if (b->prev != NULL)
        b->prev->next = b->next;
    else
        mem->bins[bin] = b->next;
    if (b->next != NULL)
        b->next->prev = b->prev;
    if (mem->bins[bin] == NULL)
        mem->occupied[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
}

/* First non-empty bin at or above `bin`, BINS if none. */
static uint32_t bin_next(const osc_devmem *mem, uint32_t bin)
{
    for (uint32_t word = bin / 64; word < BINS / 64; word++) {
        uint64_t bits = mem->occupied[word];
        if (word == bin / 64)
            bits &= ~UINT64_C(0) << (bin % 64);
        if (bits != 0)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return BINS;
}

static block *best_fit(const osc_devmem *mem, uint64_t size)
{
    for (uint32_t bin = bin_next(mem, bin_of(size)); bin < BINS; bin = bin_next(mem, bin + 1)) {
        block *best = NULL;
        int left =
            bin == bin_of(size) ? INT32_MAX : BIN_SCAN; /* above the first bin every block fits */
        for (block *b = mem->bins[bin]; b != NULL && left > 0; b = b->next, left--)
            if (b->size >= size && (best == NULL || b->size < best->size))
                best = b;
        if (best != NULL)
            return best;
        if (bin + 1 >= BINS)
            break;
    }
    return NULL;
}

/* ---- joining and splitting ---- */

/* Takes `after` out of the address order and adds it to b. */
static void absorb(osc_devmem *mem, block *b, block *after)
{
    assert(b->offset + b->size == after->offset);
    b->size += after->size;
    b->dirty += after->dirty;
    b->after = after->after;
    if (b->after != NULL)
        b->after->before = b;
    block_recycle(mem, after);
}

/* Puts a block nobody uses into the pool, joined with its free neighbours. */
static void release_block(osc_devmem *mem, block *b)
{
    b->dirty = b->size;
    if (b->after != NULL && b->after->state == BLOCK_FREE) {
        bin_remove(mem, b->after);
        absorb(mem, b, b->after);
    }
    if (b->before != NULL && b->before->state == BLOCK_FREE) {
        block *before = b->before;
        bin_remove(mem, before);
        absorb(mem, before, b);
        b = before;
    }
    if (b->dirty >= TRIM_BYTES && mem->trim != NULL &&
        mem->trim(mem->trim_context, b->offset, b->size))
        b->dirty = 0;
    bin_insert(mem, b);
}

/* Cuts b, which is in no list, down to size; the rest becomes free. Keeps b whole without a
 * record. */
static void split(osc_devmem *mem, block *b, uint64_t size)
{
    assert(b->size >= size);
    block *rest = b->size > size ? block_new(mem) : NULL;
    if (rest == NULL)
        return;
    rest->offset = b->offset + size;
    rest->size = b->size - size;
    rest->dirty = b->dirty < rest->size ? b->dirty : rest->size;
    rest->before = b;
    rest->after = b->after;
    if (rest->after != NULL)
        rest->after->before = rest;
    b->after = rest;
    b->size = size;
    bin_insert(mem, rest);
}

/* ---- the cache of exact sizes ---- */

static block **cache_slot(osc_devmem *mem, uint64_t size)
{
    return &mem->cache[osc_hash_u64(size) % CACHE_SLOTS];
}

static block *cache_take(osc_devmem *mem, uint64_t size)
{
    for (block **link = cache_slot(mem, size); *link != NULL; link = &(*link)->next) {
        block *b = *link;
        if (b->size != size)
            continue;
        *link = b->next;
        mem->cached_blocks--;
        mem->cached_bytes -= size;
        return b;
    }
    return NULL;
}

static bool cache_put(osc_devmem *mem, block *b)
{
    if (mem->cached_blocks >= CACHE_BLOCKS || mem->cached_bytes + b->size > mem->cache_limit)
        return false;
    block **slot = cache_slot(mem, b->size);
    b->state = BLOCK_CACHED;
    b->next = *slot;
    *slot = b;
    mem->cached_blocks++;
    mem->cached_bytes += b->size;
    return true;
}

static void cache_flush(osc_devmem *mem)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        while (mem->cache[i] != NULL) {
            block *b = mem->cache[i];
            mem->cache[i] = b->next;
            release_block(mem, b);
        }
    mem->cached_blocks = 0;
    mem->cached_bytes = 0;
}

/* ---- public ---- */

static block *take_block(osc_devmem *mem, uint64_t size)
{
    block *b = cache_take(mem, size);
    if (b != NULL)
        return b;
    b = best_fit(mem, size);
    if (b == NULL && mem->cached_blocks > 0) {
        cache_flush(mem);
        b = best_fit(mem, size);
    }
    if (b == NULL)
        return NULL;
    bin_remove(mem, b);
    split(mem, b, size);
    return b;
}

static osc_status out_of_memory(osc_devmem *mem, uint64_t bytes, osc_err *err)
{
    char wanted[OSC_NUM_TEXT], used[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    mem->stats.oom_count++;
    uint64_t allocated = mem->stats.allocated + mem->own_bytes;
    bool fragments = mem->capacity - allocated >= bytes;
    return osc_fail(err, OSC_EDEVMEM, NULL, OSC_NO_OFFSET,
                    "device %d is out of memory: wanted %s (%" PRIu64
                    " bytes), in use %s of %s%s; free "
                    "tensors, use smaller batches, or set OPSCOPE_HBM_BYTES higher",
                    mem->device, osc_format_bytes(bytes, wanted), bytes,
                    osc_format_bytes(allocated, used), osc_format_bytes(mem->capacity, all),
                    fragments ? " (enough in all, but no free range is that long)" : "");
}

static uint64_t reserved(const osc_devmem *mem)
{
    return mem->stats.allocated + mem->own_bytes + mem->cached_bytes;
}

static void count_alloc(osc_devmem *mem, const block *b)
{
    osc_nrt_memory *s = &mem->stats;
    if (b->own) {
        mem->own_bytes += b->size;
    } else {
        s->alloc_count++;
        s->allocated += b->size;
        s->total_allocated_bytes += b->size;
    }
    if (s->allocated > s->peak_allocated)
        s->peak_allocated = s->allocated;
    if (reserved(mem) > s->peak_reserved)
        s->peak_reserved = reserved(mem);
}

static void count_free(osc_devmem *mem, const block *b)
{
    if (b->own) {
        mem->own_bytes -= b->size;
        return;
    }
    mem->stats.free_count++;
    mem->stats.allocated -= b->size;
    mem->stats.total_freed_bytes += b->size;
}

static osc_status allocate(osc_devmem *mem, uint64_t bytes, bool own, void **out, osc_err *err)
{
    assert(bytes > 0);
    *out = NULL;
    uint64_t size = bytes <= mem->capacity ? (bytes + GRAIN - 1) / GRAIN * GRAIN : 0;
    osc_mutex_lock(&mem->lock);
    block *b = size > 0 ? take_block(mem, size) : NULL;
    osc_status status = OSC_OK;
    if (b == NULL) {
        status = out_of_memory(mem, bytes, err);
    } else if (osc_map_put(&mem->used, b->offset, (uintptr_t)b) != OSC_OK) {
        release_block(mem, b);
        status =
            osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a block record");
    } else {
        b->state = BLOCK_USED;
        b->own = own;
        count_alloc(mem, b);
        *out = mem->base + b->offset;
    }
    osc_mutex_unlock(&mem->lock);
    return status;
}

osc_status osc_devmem_alloc(osc_devmem *mem, uint64_t bytes, void **out, osc_err *err)
{
    return allocate(mem, bytes, false, out, err);
}

osc_status osc_devmem_alloc_own(osc_devmem *mem, uint64_t bytes, void **out, osc_err *err)
{
    return allocate(mem, bytes, true, out, err);
}

bool osc_devmem_free(osc_devmem *mem, void *address)
{
    assert(osc_devmem_owns(mem, address, 0));
    uint64_t offset = (uint64_t)((uint8_t *)address - mem->base), record;
    osc_mutex_lock(&mem->lock);
    bool known = osc_map_get(&mem->used, offset, &record);
    if (known) {
        block *b = (block *)(uintptr_t)record;
        assert(b->state == BLOCK_USED && b->offset == offset);
        (void)osc_map_remove(&mem->used, offset);
        count_free(mem, b);
        if (!cache_put(mem, b))
            release_block(mem, b);
    }
    osc_mutex_unlock(&mem->lock);
    return known;
}

bool osc_devmem_owns(const osc_devmem *mem, const void *address, uint64_t bytes)
{
    uintptr_t at = (uintptr_t)address, base = (uintptr_t)mem->base;
    return at >= base && at - base < mem->capacity && bytes <= mem->capacity - (at - base);
}

uint8_t *osc_devmem_alias(const osc_devmem *mem, const void *address, uint64_t *bytes)
{
    assert(osc_devmem_owns(mem, address, 0));
    uint64_t offset = (uintptr_t)address - (uintptr_t)mem->base;
    *bytes = mem->capacity - offset;
    return mem->alias + offset;
}

void osc_devmem_punch(osc_devmem *mem, uint64_t offset, uint64_t bytes)
{
    assert(offset + bytes <= mem->capacity);
    /* Failure only means that the pages stay: the range is free either way. */
    (void)fallocate(mem->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                    (off_t)bytes);
}

void osc_devmem_stats(osc_devmem *mem, osc_nrt_memory *out)
{
    size_t size = out->size;
    osc_mutex_lock(&mem->lock);
    *out = mem->stats;
    out->reserved = reserved(mem);
    osc_mutex_unlock(&mem->lock);
    out->size = size;
    out->capacity = mem->capacity;
}

void osc_devmem_reset_peak(osc_devmem *mem)
{
    osc_mutex_lock(&mem->lock);
    mem->stats.peak_allocated = mem->stats.allocated;
    mem->stats.peak_reserved = reserved(mem);
    osc_mutex_unlock(&mem->lock);
}

void osc_devmem_reset_totals(osc_devmem *mem)
{
    osc_mutex_lock(&mem->lock);
    osc_nrt_memory *s = &mem->stats;
    s->alloc_count = s->free_count = s->oom_count = 0;
    s->total_allocated_bytes = s->total_freed_bytes = 0;
    osc_mutex_unlock(&mem->lock);
}

void osc_devmem_empty_cache(osc_devmem *mem)
{
    osc_mutex_lock(&mem->lock);
    cache_flush(mem);
    osc_mutex_unlock(&mem->lock);
}

void osc_devmem_set_cache_limit(osc_devmem *mem, uint64_t bytes)
{
    mem->cache_limit = bytes;
}

void osc_devmem_set_trim(osc_devmem *mem, osc_devmem_trim_hook hook, void *context)
{
    mem->trim = hook;
    mem->trim_context = context;
}

/* ---- opening ---- */

static osc_status map_failed(int32_t device, uint64_t capacity, const char *what, osc_err *err)
{
    char text[OSC_NUM_TEXT];
    return osc_fail(
        err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
        "cannot reserve %s of address space for device %d (%s: %s); set OPSCOPE_HBM_BYTES lower",
        osc_format_bytes(capacity, text), device, what, strerror(errno));
}

/* Growing a file past the process's limit raises SIGXFSZ: asked first, it is an ordinary error. */
static bool file_size_allowed(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= bytes;
}

static osc_status map_twice(osc_devmem *mem, osc_err *err)
{
    if (!file_size_allowed(mem->capacity)) {
        errno = EFBIG;
        return map_failed(mem->device, mem->capacity, "the limit on file sizes, ulimit -f", err);
    }
    mem->fd = memfd_create("opscope-hbm", MFD_CLOEXEC);
    if (mem->fd < 0)
        return map_failed(mem->device, mem->capacity, "memfd_create", err);
    if (ftruncate(mem->fd, (off_t)mem->capacity) != 0)
        return map_failed(mem->device, mem->capacity, "ftruncate", err);
    size_t size = (size_t)mem->capacity;
    void *base = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, mem->fd, 0);
    if (base == MAP_FAILED)
        return map_failed(mem->device, mem->capacity, "mmap", err);
    mem->base = base;
    void *alias = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mem->fd, 0);
    if (alias == MAP_FAILED)
        return map_failed(mem->device, mem->capacity, "mmap", err);
    mem->alias = alias;
    return OSC_OK;
}

osc_status osc_devmem_open(int32_t device, uint64_t capacity, osc_devmem **out, osc_err *err)
{
    *out = NULL;
    osc_devmem *mem = osc_calloc(1, sizeof *mem);
    if (mem == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for device %d",
                        device);
    osc_mutex_init(&mem->lock);
    osc_map_init(&mem->used);
    mem->device = device;
    mem->capacity = capacity;
    mem->cache_limit = OSC_DEVMEM_CACHE_BYTES;
    mem->fd = -1;
    osc_status status = map_twice(mem, err);
    block *all = status == OSC_OK ? block_new(mem) : NULL;
    if (status == OSC_OK && all == NULL)
        status =
            osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for device %d", device);
    if (status != OSC_OK) {
        osc_devmem_close(mem);
        return status;
    }
    all->size = capacity;
    bin_insert(mem, all);
    *out = mem;
    return OSC_OK;
}

void osc_devmem_close(osc_devmem *mem)
{
    if (mem == NULL)
        return;
    if (mem->alias != NULL)
        (void)munmap(mem->alias, (size_t)mem->capacity);
    if (mem->base != NULL)
        (void)munmap(mem->base, (size_t)mem->capacity);
    if (mem->fd >= 0)
        (void)close(mem->fd);
    while (mem->chunks != NULL) {
        chunk *next = mem->chunks->next;
        osc_free(mem->chunks);
        mem->chunks = next;
    }
    osc_map_free(&mem->used);
    osc_mutex_destroy(&mem->lock);
    osc_free(mem);
}
