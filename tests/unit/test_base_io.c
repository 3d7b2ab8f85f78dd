/* Files, folders, paths, gzip. */
#include "tap.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *in_tmp(const char *name)
{
    char *path = osc_path_join(tap_tmpdir(), name);
    if (!path)
        tap_note("no memory for a path");
    return path;
}

static void test_write_and_read(void)
{
    char *path = in_tmp("file"), *data = NULL;
    size_t len = 0;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_write_file_atomic(path, "hello\0you", 9, &err), OSC_OK);
    TAP_EQ_STATUS(osc_read_file(path, SIZE_MAX, &data, &len, &err), OSC_OK);
    TAP_EQ_U64(len, 9);
    TAP_EQ_MEM(data, "hello\0you", 10);
    osc_free(data);
    TAP_EQ_STATUS(osc_write_file_atomic(path, NULL, 0, &err), OSC_OK);
    TAP_EQ_STATUS(osc_read_file(path, 0, &data, &len, &err), OSC_OK);
    TAP_EQ_U64(len, 0);
    TAP_EQ_STR(data, "");
    osc_free(data);
    osc_free(path);
}

static void test_read_ceiling(void)
{
    char *path = in_tmp("ten"), *data = NULL;
    size_t len = 0;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_write_file_atomic(path, "0123456789", 10, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_read_file(path, 9, &data, &len, &err), OSC_EUNSUPPORTED);
    TAP_OK(data == NULL && strcmp(err.input, path) == 0);
    TAP_EQ_STATUS(osc_read_file(path, 10, &data, &len, &err), OSC_OK);
    TAP_EQ_U64(len, 10);
    osc_free(data);
    osc_free(path);
}

static void test_read_errors(void)
{
    char *data = NULL;
    size_t len = 7;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_read_file("/nonexistent/file", 10, &data, &len, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "cannot open: no such file or directory");
    TAP_EQ_STATUS(osc_read_file(tap_tmpdir(), 10, &data, &len, &err), OSC_EIO);
    TAP_OK(data == NULL && len == 0);
}

/* A pipe has no size; what comes through it is still read whole and still bounded. */
static void test_read_pipe(void)
{
    int ends[2];
    char *data = NULL;
    size_t len = 0;
    TAP_REQUIRE(pipe(ends) == 0);
    TAP_OK(write(ends[1], "through a pipe", 14) == 14);
    (void)close(ends[1]);
    TAP_EQ_STATUS(osc_read_fd(ends[0], "-", 14, &data, &len, NULL), OSC_OK);
    TAP_EQ_STR(data, "through a pipe");
    osc_free(data);
    (void)close(ends[0]);
    TAP_REQUIRE(pipe(ends) == 0);
    TAP_OK(write(ends[1], "through a pipe", 14) == 14);
    (void)close(ends[1]);
    TAP_EQ_STATUS(osc_read_fd(ends[0], "-", 13, &data, &len, NULL), OSC_EUNSUPPORTED);
    (void)close(ends[0]);
}

static void test_read_grows(void)
{
    char *path = in_tmp("large"), *data = NULL;
    size_t len = 0, n = 700000;
    char *content = osc_calloc(1, n);
    TAP_REQUIRE(content != NULL);
    content[n - 1] = 'z';
    TAP_EQ_STATUS(osc_write_file_atomic(path, content, n, NULL), OSC_OK);
    char command[512];
    (void)snprintf(command, sizeof command, "cat '%s'", path);
    FILE *cat = popen(command, "r");
    TAP_REQUIRE(cat != NULL);
    TAP_EQ_STATUS(osc_read_fd(fileno(cat), "cat", SIZE_MAX, &data, &len, NULL), OSC_OK);
    TAP_OK(pclose(cat) == 0);
    TAP_EQ_U64(len, n);
    TAP_OK(data && data[n - 1] == 'z');
    osc_free(data);
    osc_free(content);
    osc_free(path);
}

/* A refused write leaves the old file and no temporary behind. */
static void test_atomic_write_fails_cleanly(void)
{
    osc_err err = {0};
    osc_dir_list list;
    char *dir = in_tmp("full"), *path = in_tmp("full/file"), *data = NULL;
    char big[5000] = {0};
    size_t len;
    struct rlimit old, small = {1000, RLIM_INFINITY};
    TAP_EQ_STATUS(osc_mkdir_p(dir, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(path, "old", 3, NULL), OSC_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    TAP_REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small.rlim_max = old.rlim_max;
    TAP_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    TAP_EQ_STATUS(osc_write_file_atomic(path, big, sizeof big, &err), OSC_EIO);
    TAP_REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
    TAP_OK(strstr(err.message, "cannot write") != NULL);
    TAP_EQ_STATUS(osc_read_file(path, 100, &data, &len, NULL), OSC_OK);
    TAP_EQ_STR(data, "old");
    TAP_EQ_STATUS(osc_list_dir(dir, &list, NULL), OSC_OK);
    TAP_EQ_U64(list.count, 1);
    osc_dir_list_free(&list);
    osc_free(data);
    TAP_EQ_STATUS(osc_write_file_atomic("/nonexistent/x", "a", 1, &err), OSC_ENOTFOUND);
    osc_free(dir);
    osc_free(path);
}

static void test_appender(void)
{
    osc_file_appender *a = NULL;
    osc_err err = {0};
    char *path = in_tmp("log"), *data = NULL;
    size_t len;
    TAP_EQ_STATUS(osc_file_appender_open(path, false, &a, &err), OSC_OK);
    TAP_REQUIRE(a != NULL);
    TAP_EQ_STATUS(osc_file_appender_write(a, "one", 3, &err), OSC_OK);
    TAP_EQ_U64(osc_file_appender_size(a), 3);
    TAP_EQ_STATUS(osc_file_appender_close(a, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_open(path, false, &a, &err), OSC_OK);
    TAP_EQ_U64(osc_file_appender_size(a), 3);
    TAP_EQ_STATUS(osc_file_appender_write(a, "two", 3, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_write(a, NULL, 0, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_close(a, &err), OSC_OK);
    TAP_EQ_STATUS(osc_read_file(path, 100, &data, &len, NULL), OSC_OK);
    TAP_EQ_STR(data, "onetwo");
    osc_free(data);
    TAP_EQ_STATUS(osc_file_appender_open(path, true, &a, &err), OSC_OK);
    TAP_EQ_U64(osc_file_appender_size(a), 0);
    TAP_EQ_STATUS(osc_file_appender_close(a, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_close(NULL, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_open("/nonexistent/x", false, &a, &err), OSC_ENOTFOUND);
    TAP_OK(a == NULL);
    osc_free(path);
}

/* When the disk is full in the middle of a record, the file ends at the record before it. */
static void test_appender_cuts_half_records(void)
{
    osc_file_appender *a = NULL;
    osc_err err = {0};
    char *path = in_tmp("cut");
    char record[700] = {0};
    uint64_t size = 0;
    struct rlimit old, small = {1000, RLIM_INFINITY};
    (void)signal(SIGXFSZ, SIG_IGN);
    TAP_EQ_STATUS(osc_file_appender_open(path, true, &a, &err), OSC_OK);
    TAP_REQUIRE(a != NULL && getrlimit(RLIMIT_FSIZE, &old) == 0);
    small.rlim_max = old.rlim_max;
    TAP_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    TAP_EQ_STATUS(osc_file_appender_write(a, record, sizeof record, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_write(a, record, sizeof record, &err), OSC_EIO);
    TAP_REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
    TAP_EQ_STATUS(osc_file_size(path, &size, NULL), OSC_OK);
    TAP_EQ_U64(size, 700);
    TAP_EQ_STATUS(osc_file_appender_write(a, record, sizeof record, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_appender_close(a, &err), OSC_OK);
    TAP_EQ_STATUS(osc_file_size(path, &size, NULL), OSC_OK);
    TAP_EQ_U64(size, 1400);
    osc_free(path);
}

static void test_folders(void)
{
    osc_err err = {0};
    osc_dir_list list;
    char *deep = in_tmp("d/e//f/"), *top = in_tmp("d"), *file = in_tmp("d/b");
    char *link = in_tmp("d/link");
    TAP_EQ_STATUS(osc_mkdir_p(deep, &err), OSC_OK);
    TAP_EQ_STATUS(osc_mkdir_p(deep, &err), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(file, "abc", 3, &err), OSC_OK);
    TAP_OK(symlink("b", link) == 0);
    TAP_EQ_STATUS(osc_list_dir(top, &list, &err), OSC_OK);
    TAP_REQUIRE(list.count == 3);
    TAP_EQ_STR(list.entries[0].name, "b");
    TAP_OK(list.entries[0].is_file && list.entries[0].size == 3);
    TAP_EQ_STR(list.entries[1].name, "e");
    TAP_OK(list.entries[1].is_dir && !list.entries[1].is_file);
    TAP_OK(list.entries[2].is_file);
    osc_dir_list_free(&list);
    osc_dir_list_free(NULL);
    TAP_EQ_STATUS(osc_mkdir_p(file, &err), OSC_EIO);
    TAP_EQ_STATUS(osc_mkdir_p("", &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_list_dir("/nonexistent", &list, &err), OSC_ENOTFOUND);
    TAP_OK(osc_path_exists(top) && osc_path_is_dir(top) && !osc_path_is_file(top));
    TAP_OK(osc_path_is_file(link) && !osc_path_is_dir(file) && !osc_path_exists("/nonexistent"));
    TAP_EQ_STATUS(osc_remove_tree(top, &err), OSC_OK);
    TAP_OK(!osc_path_exists(top));
    TAP_EQ_STATUS(osc_remove_tree(top, &err), OSC_OK);
    osc_free(deep);
    osc_free(top);
    osc_free(file);
    osc_free(link);
}

/* Links are removed, what they point at stays. */
static void test_remove_tree_keeps_link_targets(void)
{
    char *kept = in_tmp("kept"), *keep = in_tmp("kept/file"), *tree = in_tmp("tree");
    char *link = in_tmp("tree/link");
    TAP_EQ_STATUS(osc_mkdir_p(kept, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_mkdir_p(tree, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(keep, "x", 1, NULL), OSC_OK);
    TAP_OK(symlink(kept, link) == 0);
    TAP_EQ_STATUS(osc_remove_tree(tree, NULL), OSC_OK);
    TAP_OK(osc_path_is_file(keep) && !osc_path_exists(tree));
    TAP_OK(symlink(kept, tree) == 0);
    TAP_EQ_STATUS(osc_remove_tree(tree, NULL), OSC_OK);
    TAP_OK(osc_path_is_file(keep) && !osc_path_exists(tree));
    TAP_EQ_STATUS(osc_remove_tree(keep, NULL), OSC_OK);
    TAP_OK(!osc_path_exists(keep));
    TAP_EQ_STATUS(osc_remove_file(keep, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_remove_file(kept, NULL), OSC_EIO);
    osc_free(kept);
    osc_free(keep);
    osc_free(tree);
    osc_free(link);
}

static void check_join(const char *dir, const char *name, const char *want)
{
    char *path = osc_path_join(dir, name);
    TAP_EQ_STR(path, want);
    osc_free(path);
}

static void test_paths(void)
{
    check_join("a", "b", "a/b");
    check_join("a/", "b", "a/b");
    check_join("", "b", "b");
    check_join("a", "/b", "/b");
    TAP_EQ_VIEW(osc_path_base(OSC_STR("a/b.c")), "b.c");
    TAP_EQ_VIEW(osc_path_base(OSC_STR("b")), "b");
    TAP_EQ_VIEW(osc_path_base(OSC_STR("a/")), "");
    TAP_EQ_VIEW(osc_path_dir(OSC_STR("a/b/c")), "a/b");
    TAP_EQ_VIEW(osc_path_dir(OSC_STR("c")), ".");
    TAP_EQ_VIEW(osc_path_dir(OSC_STR("/c")), "/");
}

#ifdef OSC_NO_ZLIB
static void test_gzip_says_it_cannot(void)
{
    char *data = NULL;
    size_t len = 0;
    TAP_EQ_STATUS(osc_gzip("a", 1, &data, &len, NULL), OSC_EUNSUPPORTED);
    TAP_EQ_STATUS(osc_gunzip("\x1f\x8b", 2, "x", 10, &data, &len, NULL), OSC_EUNSUPPORTED);
}
#else
/* n bytes of a repeating, not too compressible pattern; NULL when out of memory. */
static char *pattern(size_t n)
{
    osc_rng rng = {3};
    char *data = osc_alloc(n);
    for (size_t i = 0; data && i < n; i++)
        data[i] = (char)('a' + osc_rng_below(&rng, 4));
    return data;
}

static void test_gzip_round_trip(void)
{
    static const size_t sizes[] = {0, 1, 1000, 300000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *data = pattern(sizes[i]), *packed = NULL, *back = NULL;
        size_t packed_len = 0, len = 0;
        TAP_REQUIRE(data != NULL);
        TAP_EQ_STATUS(osc_gzip(data, sizes[i], &packed, &packed_len, NULL), OSC_OK);
        TAP_EQ_STATUS(osc_gunzip(packed, packed_len, "x", sizes[i], &back, &len, NULL), OSC_OK);
        TAP_EQ_U64(len, sizes[i]);
        TAP_OK(back && memcmp(back, data, sizes[i]) == 0);
        osc_free(back);
        if (sizes[i] > 0)
            TAP_EQ_STATUS(osc_gunzip(packed, packed_len, "x", sizes[i] - 1, &back, &len, NULL),
                          OSC_ENOMEM);
        osc_free(data);
        osc_free(packed);
    }
}

static void test_gunzip_members_and_padding(void)
{
    char *one = NULL, *back = NULL;
    size_t n = 0, len = 0;
    TAP_EQ_STATUS(osc_gzip("ab", 2, &one, &n, NULL), OSC_OK);
    TAP_REQUIRE(one != NULL && n < 100);
    char two[300] = {0};
    memcpy(two, one, n);
    memcpy(two + n, one, n);
    TAP_EQ_STATUS(osc_gunzip(two, 2 * n, "x", 10, &back, &len, NULL), OSC_OK);
    TAP_EQ_STR(back, "abab");
    osc_free(back);
    TAP_EQ_STATUS(osc_gunzip(two, 2 * n + 20, "x", 10, &back, &len, NULL), OSC_OK);
    TAP_EQ_U64(len, 4);
    osc_free(back);
    two[2 * n] = 'x';
    TAP_EQ_STATUS(osc_gunzip(two, 2 * n + 20, "x", 10, &back, &len, NULL), OSC_EFORMAT);
    osc_free(one);
}

/* Cut at any byte, what could be inflated is there and the status says so. */
static void test_gunzip_cut(void)
{
    char *data = pattern(5000), *packed = NULL, *back = NULL;
    size_t n = 0, len = 0, longest = 0;
    TAP_REQUIRE(data != NULL);
    TAP_EQ_STATUS(osc_gzip(data, 5000, &packed, &n, NULL), OSC_OK);
    bool good = true;
    for (size_t cut = 0; cut < n; cut++) {
        osc_err err = {0};
        good = good &&
               osc_gunzip(packed, cut, "x", SIZE_MAX, &back, &len, &err) == OSC_ETRUNCATED &&
               back && len >= longest && memcmp(back, data, len) == 0 && err.offset <= cut;
        longest = len;
        osc_free(back);
    }
    TAP_OK(good);
    TAP_EQ_U64(longest, 5000);
    osc_free(data);
    osc_free(packed);
}

static void test_gunzip_damaged(void)
{
    char *data = pattern(5000), *packed = NULL, *back = NULL;
    size_t n = 0, len = 0;
    osc_err err = {0};
    TAP_REQUIRE(data != NULL);
    TAP_EQ_STATUS(osc_gzip(data, 5000, &packed, &n, NULL), OSC_OK);
    packed[n - 5] ^= 1; /* the checksum */
    TAP_EQ_STATUS(osc_gunzip(packed, n, "x", SIZE_MAX, &back, &len, &err), OSC_EFORMAT);
    TAP_OK(back == NULL);
    TAP_EQ_STATUS(osc_gunzip("not gzip", 8, "x", SIZE_MAX, &back, &len, &err), OSC_EFORMAT);
    osc_free(data);
    osc_free(packed);
}

static void test_read_file_auto(void)
{
    char *path = in_tmp("auto.gz"), *packed = NULL, *data = NULL;
    size_t n = 0, len = 0;
    bool gz = false;
    TAP_EQ_STATUS(osc_gzip("{}", 2, &packed, &n, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(path, packed, n, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_read_file_auto(path, 1000, &data, &len, &gz, NULL), OSC_OK);
    TAP_OK(gz);
    TAP_EQ_STR(data, "{}");
    osc_free(data);
    TAP_EQ_STATUS(osc_write_file_atomic(path, "{1}", 3, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_read_file_auto(path, 1000, &data, &len, &gz, NULL), OSC_OK);
    TAP_OK(!gz);
    TAP_EQ_STR(data, "{1}");
    osc_free(data);
    TAP_EQ_STATUS(osc_read_file_auto("/nonexistent", 1000, &data, &len, NULL, NULL), OSC_ENOTFOUND);
    osc_free(packed);
    osc_free(path);
}

static bool gunzip_under_pressure(void *ctx)
{
    (void)ctx;
    char *packed = NULL, *back = NULL;
    size_t n = 0, len = 0;
    osc_status status = osc_gzip("abcabcabc", 9, &packed, &n, NULL);
    if (status == OSC_OK)
        status = osc_gunzip(packed, n, "x", 100, &back, &len, NULL);
    bool good = status == OSC_OK ? back && len == 9 : status == OSC_ENOMEM && !back;
    osc_free(packed);
    osc_free(back);
    return good;
}

static void test_gzip_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(gunzip_under_pressure, NULL, 60));
}
#endif

static bool files_under_pressure(void *ctx)
{
    const char *path = ctx;
    char *data = NULL;
    size_t len = 0;
    osc_dir_list list;
    osc_file_appender *a = NULL;
    osc_status statuses[5];
    statuses[0] = osc_write_file_atomic(path, "data", 4, NULL);
    statuses[1] = osc_read_file(path, 100, &data, &len, NULL);
    statuses[2] = osc_list_dir(tap_tmpdir(), &list, NULL);
    statuses[3] = osc_file_appender_open(path, false, &a, NULL);
    statuses[4] = osc_mkdir_p(tap_tmpdir(), NULL);
    osc_free(data);
    osc_dir_list_free(&list);
    bool good = osc_file_appender_close(a, NULL) == OSC_OK;
    for (int i = 0; i < 5; i++)
        good =
            good && (statuses[i] == OSC_OK || statuses[i] == OSC_ENOMEM || statuses[i] == OSC_EIO);
    return good;
}

static void test_out_of_memory(void)
{
    char *path = in_tmp("oom");
    TAP_EQ_STATUS(osc_write_file_atomic(path, "data", 4, NULL), OSC_OK);
    TAP_OK(tap_oom_sweep(files_under_pressure, path, 100));
    osc_free(path);
}

int main(void)
{
    TAP_RUN(test_write_and_read);
    TAP_RUN(test_read_ceiling);
    TAP_RUN(test_read_errors);
    TAP_RUN(test_read_pipe);
    TAP_RUN(test_read_grows);
    TAP_RUN(test_atomic_write_fails_cleanly);
    TAP_RUN(test_appender);
    TAP_RUN(test_appender_cuts_half_records);
    TAP_RUN(test_folders);
    TAP_RUN(test_remove_tree_keeps_link_targets);
    TAP_RUN(test_paths);
#ifdef OSC_NO_ZLIB
    TAP_RUN(test_gzip_says_it_cannot);
#else
    TAP_RUN(test_gzip_round_trip);
    TAP_RUN(test_gunzip_members_and_padding);
    TAP_RUN(test_gunzip_cut);
    TAP_RUN(test_gunzip_damaged);
    TAP_RUN(test_read_file_auto);
    TAP_RUN(test_gzip_out_of_memory);
#endif
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
