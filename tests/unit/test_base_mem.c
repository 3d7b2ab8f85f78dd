/* Allocation hook, failure injection, checked arithmetic, arena, status. */
#include "tap.h"

#include "base/arena.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void test_alloc_and_free(void)
{
    char *p = osc_alloc(100);
    TAP_REQUIRE(p != NULL);
    memset(p, 7, 100);
    p = osc_realloc(p, 1000);
    TAP_REQUIRE(p != NULL);
    TAP_EQ_I64(p[99], 7);
    osc_free(p);
    osc_free(NULL);
    void *nothing = osc_alloc(0);
    TAP_OK(nothing != NULL);
    osc_free(nothing);
}

static void test_calloc_is_zero_and_checked(void)
{
    static const char zeros[64];
    char *p = osc_calloc(8, 8);
    TAP_REQUIRE(p != NULL);
    TAP_EQ_MEM(p, zeros, 64);
    osc_free(p);
    TAP_OK(osc_calloc(SIZE_MAX / 2, 3) == NULL);
    TAP_OK(osc_realloc_array(NULL, SIZE_MAX / 2, 3) == NULL);
}

static void test_memdup0(void)
{
    char *p = osc_memdup0("abc", 2);
    TAP_REQUIRE(p != NULL);
    TAP_EQ_STR(p, "ab");
    osc_free(p);
    p = osc_memdup0(NULL, 0);
    TAP_REQUIRE(p != NULL);
    TAP_EQ_STR(p, "");
    osc_free(p);
    TAP_OK(osc_memdup0("", SIZE_MAX) == NULL);
}

static void test_failure_injection(void)
{
    osc_mem_fail_after(1);
    void *first = osc_alloc(1), *second = osc_alloc(1), *third = osc_calloc(1, 1);
    TAP_OK(first != NULL);
    TAP_OK(second == NULL);
    TAP_OK(third == NULL);
    TAP_OK(osc_realloc(first, 10) == NULL);
    TAP_EQ_U64(osc_mem_refused(), 3);
    osc_mem_fail_after(-1);
    TAP_EQ_U64(osc_mem_refused(), 0);
    second = osc_alloc(1);
    TAP_OK(second != NULL);
    osc_free(first);
    osc_free(second);
}

struct counts {
    int allocated, released;
};

static void *counting_realloc(void *user, void *ptr, size_t size)
{
    struct counts *c = user;
    c->allocated += ptr == NULL;
    return realloc(ptr, size);
}

static void counting_release(void *user, void *ptr)
{
    struct counts *c = user;
    c->released++;
    free(ptr);
}

static void test_hook(void)
{
    struct counts c = {0, 0};
    osc_mem_hook hook = {counting_realloc, counting_release, &c};
    osc_mem_set_hook(&hook);
    char *p = osc_alloc(10), *q = osc_calloc(4, 4);
    p = osc_realloc(p, 20);
    TAP_OK(q && q[15] == 0);
    osc_free(p);
    osc_free(q);
    osc_free(NULL);
    osc_mem_set_hook(NULL);
    TAP_EQ_I64(c.allocated, 2);
    TAP_EQ_I64(c.released, 2);
}

static void test_checked_sizes(void)
{
    size_t s = 1;
    TAP_OK(osc_mul_size(0, SIZE_MAX, &s) && s == 0);
    TAP_OK(osc_mul_size(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    TAP_OK(!osc_mul_size(SIZE_MAX, 2, &s) && s == 0);
    TAP_OK(osc_add_size(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
    TAP_OK(!osc_add_size(SIZE_MAX, 1, &s) && s == 0);
}

static void test_checked_64(void)
{
    uint64_t u = 1;
    int64_t i = 1;
    TAP_OK(osc_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 31, &u) && u == UINT64_C(1) << 63);
    TAP_OK(!osc_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u) && u == 0);
    TAP_OK(!osc_add_u64(UINT64_MAX, 1, &u) && u == 0);
    TAP_OK(osc_mul_i64(INT64_MIN, 1, &i) && i == INT64_MIN);
    TAP_OK(!osc_mul_i64(INT64_MIN, -1, &i) && i == 0);
    TAP_OK(!osc_add_i64(INT64_MAX, 1, &i));
    TAP_OK(!osc_add_i64(INT64_MIN, -1, &i));
    TAP_OK(osc_sub_i64(-1, INT64_MAX, &i) && i == INT64_MIN);
    TAP_OK(!osc_sub_i64(-2, INT64_MAX, &i));
    TAP_OK(!osc_sub_i64(0, INT64_MIN, &i));
}

static void test_arena_aligns(void)
{
    osc_arena *a = osc_arena_new(SIZE_MAX);
    TAP_REQUIRE(a != NULL);
    for (size_t align = 1; align <= 64; align *= 2) {
        (void)osc_arena_alloc(a, 1, 1);
        char *p = osc_arena_alloc(a, 3, align);
        TAP_REQUIRE(p != NULL);
        memset(p, 1, 3);
        TAP_EQ_U64((uintptr_t)p % align, 0);
    }
    TAP_EQ_U64((uintptr_t)osc_arena_alloc(a, 8, 0) % _Alignof(max_align_t), 0);
    TAP_OK(osc_arena_alloc(a, 0, 1) != NULL);
    osc_arena_free(a);
    osc_arena_free(NULL);
}

static void test_arena_limit(void)
{
    osc_arena *a = osc_arena_new(1000);
    TAP_REQUIRE(a != NULL);
    TAP_OK(osc_arena_alloc(a, 1001, 1) == NULL);
    TAP_OK(osc_arena_alloc(a, SIZE_MAX, 1) == NULL);
    TAP_OK(osc_arena_alloc(a, SIZE_MAX - 10, 16) == NULL);
    TAP_OK(osc_arena_alloc(a, 600, 1) != NULL);
    TAP_OK(osc_arena_alloc(a, 600, 1) == NULL);
    TAP_OK(osc_arena_alloc(a, 400, 1) != NULL);
    TAP_EQ_U64(osc_arena_used(a), 1000);
    TAP_OK(osc_arena_alloc(a, 1, 1) == NULL);
    osc_arena_reset(a);
    TAP_EQ_U64(osc_arena_used(a), 0);
    TAP_OK(osc_arena_alloc(a, 900, 1) != NULL);
    osc_arena_free(a);
}

/* Every object keeps its content while others are made, small and larger than a block. */
static void test_arena_many(void)
{
    enum { COUNT = 3000 };
    static unsigned char *objects[COUNT];
    osc_arena *a = osc_arena_new(SIZE_MAX);
    TAP_REQUIRE(a != NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            size_t n = i % 500 == 499 ? 3000000 : i % 97 + 1;
            objects[i] = osc_arena_alloc(a, n, 0);
            TAP_REQUIRE(objects[i] != NULL);
            objects[i][0] = objects[i][n - 1] = (unsigned char)i;
        }
        bool kept = true;
        for (size_t i = 0; i < COUNT; i++)
            kept = kept && objects[i][0] == (unsigned char)i;
        TAP_OK(kept);
        osc_arena_reset(a);
    }
    osc_arena_free(a);
}

static void test_arena_strings(void)
{
    osc_arena *a = osc_arena_new(SIZE_MAX);
    TAP_REQUIRE(a != NULL);
    TAP_EQ_STR(osc_arena_strdup(a, OSC_STR("hello")), "hello");
    TAP_EQ_STR(osc_arena_strdup(a, osc_str_make(NULL, 0)), "");
    TAP_EQ_VIEW(osc_arena_copy(a, OSC_STR("view")), "view");
    TAP_EQ_STR(osc_arena_printf(a, "%d-%s", 42, "x"), "42-x");
    int *numbers = OSC_ARENA_ARRAY(a, int, 10);
    TAP_OK(numbers && numbers[0] == 0 && numbers[9] == 0);
    struct counts *one = OSC_ARENA_NEW(a, struct counts);
    TAP_OK(one && one->released == 0);
    TAP_OK(osc_arena_calloc(a, SIZE_MAX / 2, 4) == NULL);
    osc_arena_free(a);
}

static bool arena_under_pressure(void *ctx)
{
    (void)ctx;
    osc_arena *a = osc_arena_new(SIZE_MAX);
    if (!a)
        return true;
    char *p = osc_arena_printf(a, "%5000d", 1);
    bool good = !p || strlen(p) == 5000;
    osc_arena_free(a);
    return good;
}

static void test_arena_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(arena_under_pressure, NULL, 10));
}

static void test_status(void)
{
    osc_err err = {0};
    TAP_EQ_STATUS(osc_fail(&err, OSC_EFORMAT, "a.json", 17, "bad %s", "thing"), OSC_EFORMAT);
    TAP_EQ_STATUS(err.code, OSC_EFORMAT);
    TAP_EQ_U64(err.offset, 17);
    TAP_EQ_STR(err.input, "a.json");
    TAP_EQ_STR(err.message, "bad thing");
    TAP_EQ_STATUS(osc_fail(NULL, OSC_EIO, NULL, OSC_NO_OFFSET, "dropped"), OSC_EIO);
    TAP_EQ_STATUS(osc_fail(&err, OSC_EIO, NULL, OSC_NO_OFFSET, "%0600d", 1), OSC_EIO);
    TAP_EQ_U64(strlen(err.message), sizeof err.message - 1);
    TAP_EQ_STR(err.input, "");
    for (int code = 0; code >= OSC_EFOREIGN; code--)
        TAP_OKF(strcmp(osc_status_name((osc_status)code), "unknown") != 0, "code %d has a name",
                code);
    TAP_EQ_STR(osc_status_name(OSC_ETRUNCATED), "truncated");
}

int main(void)
{
    TAP_RUN(test_alloc_and_free);
    TAP_RUN(test_calloc_is_zero_and_checked);
    TAP_RUN(test_memdup0);
    TAP_RUN(test_failure_injection);
    TAP_RUN(test_hook);
    TAP_RUN(test_checked_sizes);
    TAP_RUN(test_checked_64);
    TAP_RUN(test_arena_aligns);
    TAP_RUN(test_arena_limit);
    TAP_RUN(test_arena_many);
    TAP_RUN(test_arena_strings);
    TAP_RUN(test_arena_out_of_memory);
    TAP_RUN(test_status);
    return tap_done();
}
