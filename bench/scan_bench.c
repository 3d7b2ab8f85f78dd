/*
 * scan_bench.c - the limit of this machine: reading a file from the page cache and finding its structure.
 *
 *     scan_bench [FILE [THREADS]]        prints one JSON object; without FILE 64 MB of its own
 *
 * read(2) into one megabyte that is used again, and for each 64 bytes the masks of quotes, backslashes and structural
 * characters, with strings told from the rest: what every reader of JSON must at least do. With several threads
 * each takes a part of the file. AVX2 where there is; no index list is written.
 */
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CHUNK   (1u << 20)
#define ROUNDS  5
#define THREADS 16

struct part {
    int fd;
    off_t from, to;
    uint64_t structurals; /* keeps the work from being left out */
};

/* What is found in 64 bytes, one bit each. */
struct masks {
    uint64_t quotes, escapes, marks;
};

/* Every bit becomes the parity of those up to it: inside or outside of strings. */
static inline uint64_t prefix_parity(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Counts structural characters outside of strings; open is all ones inside one. */
static inline uint64_t count_marks(const struct masks *m, uint64_t *open)
{
    uint64_t inside = prefix_parity(m->quotes & ~(m->escapes << 1)) ^ *open;
    *open = (uint64_t)((int64_t)inside >> 63);
    return (uint64_t)__builtin_popcountll(m->marks & ~inside);
}

static uint64_t scan_plain(const unsigned char *data, size_t len, uint64_t *open)
{
    uint64_t count = 0;
    for (size_t at = 0; at + 64 <= len; at += 64) {
        struct masks m = {0, 0, 0};
        for (int i = 0; i < 64; i++) {
            unsigned char c = data[at + (size_t)i];
            unsigned char brace = c | 0x20;
            m.quotes |= (uint64_t)(c == '"') << i;
            m.escapes |= (uint64_t)(c == '\\') << i;
            m.marks |= (uint64_t)(brace == '{' || brace == '}' || c == ':' || c == ',') << i;
        }
        count += count_marks(&m, open);
    }
    return count;
}

#ifdef __x86_64__
__attribute__((target("avx2,popcnt"))) static inline uint64_t equal_mask(__m256i low, __m256i high,
                                                                         char c)
{
    __m256i wanted = _mm256_set1_epi8(c);
    uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return a | (uint64_t)b << 32;
}

/* '[' | 0x20 is '{', ']' | 0x20 is '}': two comparisons for four characters. */
__attribute__((target("avx2,popcnt"))) static uint64_t scan_avx2(const unsigned char *data,
                                                                 size_t len, uint64_t *open)
{
    const __m256i fold = _mm256_set1_epi8(0x20);
    uint64_t count = 0;
    for (size_t at = 0; at + 64 <= len; at += 64) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(data + at));
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(data + at + 32));
        __m256i fold_low = _mm256_or_si256(low, fold), fold_high = _mm256_or_si256(high, fold);
        struct masks m = {equal_mask(low, high, '"'), equal_mask(low, high, '\\'),
                          equal_mask(fold_low, fold_high, '{') |
                              equal_mask(fold_low, fold_high, '}') | equal_mask(low, high, ':') |
                              equal_mask(low, high, ',')};
        count += count_marks(&m, open);
    }
    return count;
}
#endif

static uint64_t scan(const unsigned char *data, size_t len, uint64_t *open)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return scan_avx2(data, len, open);
#endif
    return scan_plain(data, len, open);
}

static void *scan_part(void *argument)
{
    struct part *part = argument;
    unsigned char *buffer = malloc(CHUNK);
    uint64_t open = 0;
    off_t at = part->from;
    ssize_t n;
    part->structurals = 0;
    while (buffer && at < part->to && (n = pread(part->fd, buffer, CHUNK, at)) > 0) {
        part->structurals += scan(buffer, (size_t)n, &open);
        at += n;
    }
    free(buffer);
    return NULL;
}

static double wall_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_now(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* One round with a number of threads, the first being this one. */
static uint64_t scan_file(int fd, off_t size, unsigned threads)
{
    struct part parts[THREADS];
    pthread_t workers[THREADS];
    uint64_t sum = 0;
    for (unsigned i = 0; i < threads; i++) {
        parts[i] = (struct part){fd, size / threads * i,
                                 i + 1 == threads ? size : size / threads * (i + 1), 0};
        if (i > 0 && pthread_create(&workers[i], NULL, scan_part, &parts[i]) != 0)
            exit(1);
    }
    (void)scan_part(&parts[0]);
    for (unsigned i = 0; i < threads; i++) {
        if (i > 0)
            (void)pthread_join(workers[i], NULL);
        sum += parts[i].structurals;
    }
    return sum;
}

/* A file in memory with lines like a trace's. */
static int own_file(void)
{
    static const char line[] =
        "    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 41210,\n";
    int fd = memfd_create("scan", 0);
    for (size_t sum = 0; fd >= 0 && sum < (64u << 20); sum += sizeof line - 1) {
        if (write(fd, line, sizeof line - 1) < 0)
            return -1;
    }
    return fd;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : own_file();
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    double wall = 1e9, cpu = 1e9;
    uint64_t structurals = 0;
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (size <= 0 || threads == 0 || threads > THREADS) {
        fprintf(stderr, "usage: scan_bench [FILE [THREADS]]\n");
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double wall_start = wall_now(), cpu_start = cpu_now();
        structurals = scan_file(fd, size, threads);
        double took = wall_now() - wall_start, used = cpu_now() - cpu_start;
        wall = took < wall ? took : wall;
        cpu = used < cpu ? used : cpu;
    }
    printf("{\"bytes\": %lld, \"threads\": %u, \"wall_s\": %.6f, \"cpu_s\": %.6f, \"structurals\": "
           "%llu, "
           "\"mb_per_cpu_s\": %.0f}\n",
           (long long)size, threads, wall, cpu, (unsigned long long)structurals,
           (double)size / 1e6 / cpu);
    return 0;
}
