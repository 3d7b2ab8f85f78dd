/*
 * mem.h - the one door to the heap, and arithmetic on sizes that cannot wrap.
 *
 * Every allocation of the project goes through these functions, so that a test can make the n-th one
 * fail and watch the caller clean up. The hook and the failure counter are the only globals that
 * change besides the log sink; set them before threads start.
 *
 * Rejected: an allocator argument on every function. It doubles every signature for a use (tests)
 * that one process-wide hook serves as well.
 */
#ifndef OSC_BASE_MEM_H
#define OSC_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A replacement allocator. reallocate(user, NULL, n) allocates, reallocate(user, p, n) resizes and
 * n is never 0; release(user, NULL) is never called.
 */
typedef struct osc_mem_hook {
    void *(*reallocate)(void *user, void *ptr, size_t size);
    void (*release)(void *user, void *ptr);
    void *user; /* handed back to both functions; owned by the caller */
} osc_mem_hook;

/*
 * Replaces the allocator; NULL restores the C library's. The struct is copied. Not thread safe: call
 * while no other thread allocates and nothing allocated by the previous hook is still alive.
 */
void osc_mem_set_hook(const osc_mem_hook *hook);

/*
 * Failure injection for tests: the n-th allocation from now (0 = the very next) and all after it
 * return NULL, until osc_mem_fail_after(-1) ends it. Returns nothing. Counts across threads.
 */
void osc_mem_fail_after(int64_t n);

/* Number of allocations refused by osc_mem_fail_after since it was last called. Any thread. */
uint64_t osc_mem_refused(void);

/*
 * size bytes, uninitialised, aligned for any object; NULL when out of memory. size 0 gives a unique
 * pointer that may be freed. The caller owns the result and frees it with osc_free. Any thread.
 */
void *osc_alloc(size_t size);

/* Like osc_alloc for count * size zeroed bytes; NULL also when the product overflows. Any thread. */
void *osc_calloc(size_t count, size_t size);

/*
 * Resizes ptr (NULL allows) to size bytes and returns the new block; on failure NULL, and ptr stays
 * valid and owned by the caller. Any thread.
 */
void *osc_realloc(void *ptr, size_t size);

/* Like osc_realloc for count elements of size bytes; NULL also when the product overflows. */
void *osc_realloc_array(void *ptr, size_t count, size_t size);

/* Frees what the functions above returned; NULL is allowed. Any thread. */
void osc_free(void *ptr);

/* A copy of len bytes at src with a NUL after them; NULL when out of memory. Caller frees. */
char *osc_memdup0(const char *src, size_t len);

/* *out = a * b and true; false (and *out = 0) when the product does not fit size_t. */
bool osc_mul_size(size_t a, size_t b, size_t *out);

/* *out = a + b and true; false (and *out = 0) when the sum does not fit size_t. */
bool osc_add_size(size_t a, size_t b, size_t *out);

/* The same for uint64_t. */
bool osc_mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool osc_add_u64(uint64_t a, uint64_t b, uint64_t *out);

/* The same for int64_t, both directions of overflow. */
bool osc_mul_i64(int64_t a, int64_t b, int64_t *out);
bool osc_add_i64(int64_t a, int64_t b, int64_t *out);
bool osc_sub_i64(int64_t a, int64_t b, int64_t *out);

#endif
