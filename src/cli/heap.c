/*
 * heap.c - see heap.h.
 *
 * A fresh page of 4 KB costs 1.4 us here (fault, clearing, giving it back), one of 2 MB 31 us in place of 700.
 * Reading a trace of 15 MB touches 1,400 small pages, a fifth of all its time: 10.5 ms with them, 8.2
 * with large ones (100 MB: 44.9 and 38.3 ms; 1 GB: 369 and 326 ms), for 2 to 4 MB more memory (100 MB: 8, 1 GB: 23).
 *
 * malloc's own heap is where large pages are easy: it is one piece, blocks freed by the reader serve the
 * analysis, and nothing is unmapped on the way. So it is made long at once, and only blocks beyond
 * MAPPED_BYTES get mappings of their own, which grow without being copied.
 *
 * Only the program does this: a library must not decide about the heap of its host.
 *
 * Rejected: asking for large pages block by block, in mem.c. Blocks below 2 MB would get none, and malloc's
 * mappings are not aligned to them. Rejected: populating blocks ahead (MADV_POPULATE_WRITE), which saves
 * the faults but not the pages: 1.1 us for each.
 */
#include "cli/heap.h"

#include <limits.h> /* defines __GLIBC__ */

#if defined(__GLIBC__) && defined(__linux__) && defined(__LP64__)

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SMALL_PAGE   ((uintptr_t)4 << 10)
#define LARGE_PAGE   ((uintptr_t)2 << 20)
#define HEAP_BYTES   (256 << 20) /* of addresses; a trace of 1 GB needs half of it */
#define LATER_BYTES  (1 << 20)   /* what the heap grows by beyond that */
#define MAPPED_BYTES (32 << 20)  /* the most that malloc allows */

/* False where addresses are rationed: what is reserved would be missing elsewhere. */
static bool addresses_are_free(void)
{
    struct rlimit all, data;
    return getrlimit(RLIMIT_AS, &all) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
           all.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY;
}

/* Moves the end of the heap, still empty, to just before a large page: malloc writes into its first page at once,
 * and pages in use cannot become large ones. Address of that large page; 0 when the system refuses. */
static uintptr_t align_heap(void)
{
    uintptr_t end = (uintptr_t)sbrk(0);
    uintptr_t from = (end + SMALL_PAGE + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (end == UINTPTR_MAX || sbrk((intptr_t)(from - SMALL_PAGE - end)) == (void *)-1)
        return 0;
    return from;
}

void osc_heap_prepare(void)
{
    if (!addresses_are_free())
        return;
    uintptr_t from = align_heap();
    if (from == 0)
        return;
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX); /* keep what is freed: it is used again */
    (void)mallopt(M_ARENA_MAX, 1);            /* threads too: they ask seldom */
    (void)mallopt(M_TOP_PAD, HEAP_BYTES);
    void *volatile first = malloc(1); /* creates the heap; volatile: else compilers drop the pair */
    free(first);
    (void)mallopt(M_TOP_PAD, LATER_BYTES);
    uintptr_t end = (uintptr_t)sbrk(0) & ~(LARGE_PAGE - 1);
    if (end > from) /* else another malloc than the C library's, or no room */
        (void)madvise((void *)from, end - from, MADV_HUGEPAGE); /* a hint; may be refused */
}

#else

void osc_heap_prepare(void)
{
}

#endif
