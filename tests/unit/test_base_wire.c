/* Protobuf wire format and tar archives. */
#include "tap.h"

#include "base/mem.h"
#include "base/pb.h"
#include "base/tar.h"

#include <stdio.h>
#include <string.h>

static void test_zigzag(void)
{
    TAP_EQ_U64(osc_zigzag(0), 0);
    TAP_EQ_U64(osc_zigzag(-1), 1);
    TAP_EQ_U64(osc_zigzag(1), 2);
    TAP_EQ_U64(osc_zigzag(INT64_MIN), UINT64_MAX);
    TAP_EQ_I64(osc_unzigzag(UINT64_MAX), INT64_MIN);
    TAP_EQ_I64(osc_unzigzag(osc_zigzag(INT64_MAX)), INT64_MAX);
}

/* Bytes as the protobuf documentation gives them. */
static void test_known_bytes(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    osc_pb_u64(&b, 1, 150);
    TAP_EQ_MEM(b.data, "\x08\x96\x01", 3);
    osc_buf_clear(&b);
    osc_pb_cstr(&b, 2, "testing");
    TAP_EQ_MEM(b.data, "\x12\x07testing", 9);
    osc_buf_clear(&b);
    size_t m = osc_pb_begin(&b, 3);
    osc_pb_u64(&b, 1, 150);
    osc_pb_end(&b, m);
    TAP_EQ_MEM(b.data, "\x1a\x03\x08\x96\x01", 5);
    osc_buf_clear(&b);
    osc_pb_i64(&b, 1, -2);
    TAP_EQ_MEM(b.data, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    osc_buf_free(&b);
}

static void write_all_kinds(osc_buf *b)
{
    osc_pb_u64(b, 1, UINT64_MAX);
    osc_pb_i64(b, 2, -7);
    osc_pb_s64(b, 3, -8);
    osc_pb_bool(b, 4, true);
    osc_pb_fixed64(b, 5, 9);
    osc_pb_fixed32(b, 6, 10);
    osc_pb_double(b, 7, 0.5);
    osc_pb_float(b, 8, 0.25f);
    osc_pb_bytes(b, 9, "\0\1", 2);
    osc_pb_str(b, OSC_PB_MAX_FIELD, OSC_STR("bad \xff utf8"));
}

static void test_all_kinds_read_back(void)
{
    osc_buf b;
    osc_pb_field f[10];
    osc_buf_init(&b, SIZE_MAX);
    write_all_kinds(&b);
    osc_cursor c = osc_cursor_make(b.data, b.len);
    for (size_t i = 0; i < 10; i++)
        TAP_REQUIRE(osc_pb_next(&c, &f[i]) && (i == 9 || f[i].number == i + 1));
    TAP_OK(!osc_pb_next(&c, &f[0]) && !c.failed);
    c = osc_cursor_make(b.data, b.len);
    TAP_OK(osc_pb_next(&c, &f[0]));
    TAP_EQ_U64(osc_pb_get_u64(&f[0]), UINT64_MAX);
    TAP_EQ_I64(osc_pb_get_i64(&f[1]), -7);
    TAP_EQ_I64(osc_pb_get_s64(&f[2]), -8);
    TAP_EQ_U64(osc_pb_get_u64(&f[3]), 1);
    TAP_EQ_U64(osc_pb_get_u64(&f[4]), 9);
    TAP_EQ_U64(osc_pb_get_u64(&f[5]), 10);
    TAP_EQ_F64(osc_pb_get_double(&f[6]), 0.5);
    TAP_EQ_F64(osc_pb_get_double(&f[7]), 0.25);
    TAP_EQ_U64(osc_pb_get_str(&f[8]).len, 2);
    TAP_EQ_U64(f[9].number, OSC_PB_MAX_FIELD);
    TAP_EQ_VIEW(osc_pb_get_str(&f[9]), "bad \xef\xbf\xbd utf8");
    /* wrong kinds are zero, not garbage */
    TAP_EQ_U64(osc_pb_get_u64(&f[8]), 0);
    TAP_EQ_F64(osc_pb_get_double(&f[8]), 0.0);
    TAP_EQ_U64(osc_pb_get_str(&f[0]).len, 0);
    TAP_EQ_I64(osc_pb_get_s64(&f[4]), 0);
    osc_buf_free(&b);
}

/* Nested messages of every size around the points where the length takes one more byte. */
static void test_nested_lengths(void)
{
    static const size_t sizes[] = {0, 1, 127, 128, 129, 16383, 16384, 70000};
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        osc_pb_field outer, inner;
        osc_buf_clear(&b);
        size_t m1 = osc_pb_begin(&b, 1), m2 = osc_pb_begin(&b, 2);
        osc_buf_fill(&b, 'x', sizes[i]);
        osc_pb_end(&b, m2);
        osc_pb_u64(&b, 3, 1);
        osc_pb_end(&b, m1);
        osc_cursor c = osc_cursor_make_at(b.data, b.len, 500);
        TAP_REQUIRE(osc_pb_next(&c, &outer) && osc_cursor_done(&c));
        osc_cursor sub = osc_pb_sub(&outer, &c);
        TAP_REQUIRE(osc_pb_next(&sub, &inner) && inner.number == 2);
        TAP_EQ_U64(inner.bytes.len, sizes[i]);
        TAP_EQ_U64(inner.offset, 500 + (uint64_t)((const unsigned char *)outer.bytes.ptr - b.data));
        TAP_OK(osc_pb_next(&sub, &inner) && inner.number == 3 && osc_cursor_done(&sub));
    }
    osc_buf_free(&b);
}

static void test_pb_bad_input(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool malformed;
    } cases[] = {
        {"\x08", 1, false},    /* no value */
        {"\x00\x01", 2, true}, /* field 0 */
        {"\x0b", 1, true},     /* group */
        {"\x0c", 1, true},     /* end of group */
        {"\x0e\x01", 2, true}, /* wire type 6 */
        {"\x12\x05"
         "ab",
         4, false}, /* shorter than its length */
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, false},
        {"\x09\1\2\3", 4, false}, /* half a fixed64 */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, true},
        {"\xf8\xff\xff\xff\xff\x01\x00", 7, true}, /* field number too large */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        osc_pb_field f;
        osc_cursor c = osc_cursor_make(cases[i].bytes, cases[i].len);
        TAP_OKF(!osc_pb_next(&c, &f) && c.failed && c.malformed == cases[i].malformed, "case %zu",
                i);
        TAP_OK(!osc_pb_next(&c, &f));
    }
    osc_pb_field number = {.number = 1, .wire = OSC_PB_VARINT, .value = 3};
    osc_cursor c = osc_cursor_make("", 0), sub = osc_pb_sub(&number, &c);
    TAP_OK(sub.failed);
}

static void test_tar_round_trip(void)
{
    osc_buf b;
    osc_tar_reader r;
    osc_tar_entry e;
    bool found;
    char big[1000];
    memset(big, 'b', sizeof big);
    osc_buf_init(&b, SIZE_MAX);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("neff.json"), "{}", 2, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("sg00/empty"), NULL, 0, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("sg00/big"), big, sizeof big, NULL), OSC_OK);
    osc_tar_finish(&b);
    TAP_EQ_U64(b.len % OSC_TAR_BLOCK, 0);
    osc_tar_reader_init(&r, b.data, b.len, 1024, "x.neff");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_OK(found && e.type == '0' && e.offset == 1024);
    TAP_EQ_VIEW(e.name, "neff.json");
    TAP_EQ_VIEW(e.data, "{}");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_EQ_VIEW(e.name, "sg00/empty");
    TAP_EQ_U64(e.data.len, 0);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_EQ_U64(e.data.len, sizeof big);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_OK(!found && r.clean_end);
    osc_buf_free(&b);
}

static void test_tar_long_names(void)
{
    osc_buf b;
    osc_tar_reader r;
    osc_tar_entry e;
    bool found;
    char name[300];
    memset(name, 'n', sizeof name);
    name[150] = '/';
    osc_buf_init(&b, SIZE_MAX);
    TAP_EQ_STATUS(osc_tar_add(&b, osc_str_make(name, 251), "x", 1, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_tar_add(&b, osc_str_make(name, 252), "x", 1, NULL), OSC_EINVAL);
    TAP_EQ_STATUS(osc_tar_add(&b, osc_str_make(name, 101), "x", 1, NULL), OSC_EINVAL);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR(""), "x", 1, NULL), OSC_EINVAL);
    TAP_EQ_STATUS(osc_tar_add(&b, osc_str_make(name, 100), "x", 1, NULL), OSC_OK);
    osc_tar_reader_init(&r, b.data, b.len, 0, NULL);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_OK(found && osc_str_eq(e.name, osc_str_make(name, 251)));
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_OK(found && osc_str_eq(e.name, osc_str_make(name, 100)));
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_OK(!found && !r.clean_end);
    osc_buf_free(&b);
}

/* Repairs the checksum of a header that a test has changed. */
static void fix_checksum(unsigned char *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < OSC_TAR_BLOCK; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 8, "%06o", sum & 0777777u);
}

/* A member with another type byte, as other writers make for long names. */
static void add_typed(osc_buf *b, char type, const char *content)
{
    size_t at = b->len;
    TAP_EQ_STATUS(osc_tar_add(b, OSC_STR("ext"), content, strlen(content), NULL), OSC_OK);
    b->data[at + 156] = (unsigned char)type;
    fix_checksum(b->data + at);
}

static void test_tar_extensions(void)
{
    osc_buf b;
    osc_tar_reader r;
    osc_tar_entry e;
    bool found;
    osc_buf_init(&b, SIZE_MAX);
    add_typed(&b, 'L', "a/very/long/name");
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("short"), "1", 1, NULL), OSC_OK);
    add_typed(&b, 'x', "12 path=p/q\n10 foo=bar\n");
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("other"), "2", 1, NULL), OSC_OK);
    osc_tar_reader_init(&r, b.data, b.len, 0, NULL);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_EQ_VIEW(e.name, "a/very/long/name");
    TAP_EQ_VIEW(e.data, "1");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL),
                  OSC_EFORMAT); /* 10 is not the record's length */
    osc_buf_clear(&b);
    add_typed(&b, 'x', "12 path=p/q\n10 size=1\n");
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("other"), "2", 1, NULL), OSC_OK);
    osc_tar_reader_init(&r, b.data, b.len, 0, NULL);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, NULL), OSC_OK);
    TAP_EQ_VIEW(e.name, "p/q");
    TAP_EQ_VIEW(e.data, "2");
    osc_buf_free(&b);
}

static void test_tar_bad_input(void)
{
    osc_buf b;
    osc_tar_reader r;
    osc_tar_entry e;
    osc_err err = {0};
    bool found;
    osc_buf_init(&b, SIZE_MAX);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("a"), "content", 7, NULL), OSC_OK);
    osc_tar_reader_init(&r, b.data, 100, 0, "in");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_ETRUNCATED);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_OK);
    TAP_OK(!found);
    osc_tar_reader_init(&r, b.data, OSC_TAR_BLOCK + 6, 0, "in");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_ETRUNCATED);
    osc_tar_reader_init(&r, b.data, OSC_TAR_BLOCK + 7, 0, "in"); /* content complete, padding not */
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_OK);
    TAP_OK(found);
    b.data[0] = 'b';
    osc_tar_reader_init(&r, b.data, b.len, 0, "in");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_EFORMAT);
    TAP_EQ_U64(err.offset, 0);
    b.data[124] = '9';
    fix_checksum(b.data);
    osc_tar_reader_init(&r, b.data, b.len, 0, "in");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_EFORMAT);
    TAP_EQ_U64(err.offset, 124);
    memset(b.data + 124, 0xff, 12);
    fix_checksum(b.data);
    osc_tar_reader_init(&r, b.data, b.len, 0, "in");
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_EFORMAT);
    osc_buf_free(&b);
    osc_tar_reader_init(&r, NULL, 0, 0, NULL);
    TAP_EQ_STATUS(osc_tar_next(&r, &e, &found, &err), OSC_OK);
    TAP_OK(!found);
}

static void test_tar_ceiling(void)
{
    osc_buf b;
    osc_buf_init(&b, 600);
    TAP_EQ_STATUS(osc_tar_add(&b, OSC_STR("a"), "content", 7, NULL), OSC_ENOMEM);
    osc_buf_free(&b);
}

int main(void)
{
    TAP_RUN(test_zigzag);
    TAP_RUN(test_known_bytes);
    TAP_RUN(test_all_kinds_read_back);
    TAP_RUN(test_nested_lengths);
    TAP_RUN(test_pb_bad_input);
    TAP_RUN(test_tar_round_trip);
    TAP_RUN(test_tar_long_names);
    TAP_RUN(test_tar_extensions);
    TAP_RUN(test_tar_bad_input);
    TAP_RUN(test_tar_ceiling);
    return tap_done();
}
