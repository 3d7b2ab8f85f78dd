/*
 * ranks.c - which files of a directory are the ranks of one job, and which is which.
 *
 * Each file is looked at a little: 64 KiB of its beginning, and of its end when it is a plain file,
 * since on-demand traces append distributedInfo behind the events and write the number as a text
 * (kineto-trace-format.md 1.2). A compressed file is not inflated for its end: that would read
 * every rank twice, and the name says the same in practice.
 */
#include "scope/read/ranks.h"

#include "artifact/session.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/source.h"
#include "scope/read/scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BYTES ((size_t)64 << 10)
#define DIGITS_MAX 6u /* longer numbers in names are times and process ids */
#define RANK_NONE  (-1)

/* ---- what a file says ---- */

/* The number of an object such as {"rank": 3, ...}; RANK_NONE when it has none that makes sense. */
static int64_t rank_of_info(osc_str object)
{
    osc_scan s;
    osc_scan_value key, value;
    bool ended;
    int64_t rank = RANK_NONE;
    osc_scan_init(&s, object.ptr, object.len);
    if (!osc_scan_take(&s, '{'))
        return RANK_NONE;
    while (osc_scan_member(&s, &key, &ended) && osc_scan_value_next(&s, &value)) {
        int64_t number;
        if (osc_str_eq(key.text, OSC_STR("rank")) && osc_scan_i64(&value, &number) && number >= 0)
            rank = number;
    }
    return rank;
}

/* Looks through the top-level members up to the events. */
static int64_t rank_in_head(osc_str head)
{
    osc_scan s;
    osc_scan_value key, value;
    bool ended;
    osc_scan_init(&s, head.ptr, head.len);
    if (!osc_scan_take(&s, '{'))
        return RANK_NONE;
    while (osc_scan_member(&s, &key, &ended)) {
        if (osc_str_eq(key.text, OSC_STR("traceEvents")) || !osc_scan_value_next(&s, &value))
            return RANK_NONE;
        if (osc_str_eq(key.text, OSC_STR("distributedInfo")) && value.type == OSC_SCAN_OBJECT)
            return rank_of_info(value.text);
    }
    return RANK_NONE;
}

/* The last distributedInfo of a piece of text that begins anywhere. */
static int64_t rank_in_tail(osc_str tail)
{
    osc_str key = OSC_STR("\"distributedInfo\"");
    for (size_t at = tail.len >= key.len ? tail.len - key.len + 1 : 0; at > 0; at--) {
        if (memcmp(tail.ptr + at - 1, key.ptr, key.len) != 0)
            continue;
        osc_scan s;
        osc_scan_value value;
        size_t behind = at - 1 + key.len;
        osc_scan_init(&s, tail.ptr + behind, tail.len - behind);
        if (osc_scan_take(&s, ':') && osc_scan_value_next(&s, &value) &&
            value.type == OSC_SCAN_OBJECT)
            return rank_of_info(value.text);
    }
    return RANK_NONE;
}

/* A decimal number of a few digits at text[at...]; RANK_NONE when there is none. */
static int64_t number_at(osc_str text, size_t at)
{
    int64_t number;
    size_t end = at;
    while (end < text.len && text.ptr[end] >= '0' && text.ptr[end] <= '9')
        end++;
    if (end == at || end - at > DIGITS_MAX)
        return RANK_NONE;
    return osc_parse_i64(osc_str_sub(text, at, end - at), &number) ? number : RANK_NONE;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool word_at(osc_str text, size_t at, osc_str word)
{
    if (word.len > text.len - at)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (lower(text.ptr[at + i]) != word.ptr[i])
            return false;
    }
    return true;
}

static int64_t rank_of_name(osc_str name)
{
    static const osc_str words[] = {OSC_STR("rank"), OSC_STR("worker"), OSC_STR("-tp-")};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        for (size_t at = 0; at + words[w].len <= name.len; at++) {
            if (!word_at(name, at, words[w]))
                continue;
            size_t digits = at + words[w].len;
            while (digits < name.len && strchr("-_=[. ", name.ptr[digits]))
                digits++;
            int64_t number = number_at(name, digits);
            if (number != RANK_NONE)
                return number;
        }
    }
    /* "run_3.json", "3.json": digits before the first point, behind something that is no letter */
    size_t point = 0;
    while (point < name.len && name.ptr[point] != '.')
        point++;
    size_t start = point;
    while (start > 0 && name.ptr[start - 1] >= '0' && name.ptr[start - 1] <= '9')
        start--;
    bool apart = start == 0 || name.ptr[start - 1] == '_' || name.ptr[start - 1] == '-';
    return apart ? number_at(name, start) : RANK_NONE;
}

/* ---- looking at files ---- */

typedef enum look {
    LOOK_OTHER = 0,
    LOOK_TRACE,
    LOOK_SESSION /* a file that only session directories have */
} look;

static int64_t look_at_tail(osc_source *s, char *buf)
{
    uint64_t size = osc_source_file_size(s);
    size_t got = 0;
    if (!osc_source_seekable(s) || size <= LOOK_BYTES ||
        osc_source_read_at(s, size - LOOK_BYTES, buf, LOOK_BYTES, &got, NULL) != OSC_OK)
        return RANK_NONE;
    return rank_in_tail(osc_str_make(buf, got));
}

/* False for a list of objects that are no events: the first has no phase. Anyone writes such lists,
 * and beside others nothing says that this one is a trace. */
static bool is_event_list(osc_str head)
{
    osc_scan s;
    osc_scan_value key, value;
    bool ended;
    osc_scan_init(&s, head.ptr, head.len);
    if (!osc_scan_take(&s, '['))
        return true; /* an object with members that only traces have */
    if (!osc_scan_take(&s, '{'))
        return false;
    while (osc_scan_member(&s, &key, &ended) && osc_scan_value_next(&s, &value)) {
        if (osc_str_eq(key.text, OSC_STR("ph")))
            return true;
    }
    return false;
}

/* What a file is, and which rank it says it is. An unreadable file is no trace here; OSC_ENOMEM. */
static osc_status look_at(const char *path, char *buf, look *what, int64_t *said)
{
    osc_source *s = NULL;
    osc_sniff sniff;
    size_t len = 0;
    osc_source_options options = {.no_thread = true};
    *what = LOOK_OTHER;
    *said = RANK_NONE;
    osc_status status = osc_source_open(path, &options, &s, NULL);
    if (status == OSC_OK)
        status = osc_source_read(s, buf, LOOK_BYTES, &len, NULL);
    osc_sniff_bytes(path, buf, len, len, &sniff);
    if (sniff.kind == OSC_ART_TRACE_JSON) {
        *said = rank_in_head(osc_str_make(buf, len));
        if (*said == RANK_NONE)
            *said = len < LOOK_BYTES ? rank_in_tail(osc_str_make(buf, len)) : look_at_tail(s, buf);
    }
    osc_source_close(s);
    if (sniff.kind == OSC_ART_TRACE_JSON)
        *what = is_event_list(osc_str_make(buf, len)) ? LOOK_TRACE : LOOK_OTHER;
    else if (sniff.kind != OSC_ART_UNKNOWN && sniff.kind != OSC_ART_PROFILE_JSON)
        *what = LOOK_SESSION;
    return status == OSC_ENOMEM ? status : OSC_OK;
}

static bool is_candidate(const osc_dir_entry *entry)
{
    return entry->is_file && entry->name[0] != '.' && strstr(entry->name, ".json") != NULL;
}

/* ---- the list ---- */

static osc_status no_memory(const char *path, osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for the list of ranks");
}

/* A list of the path alone. */
static osc_status single(const char *path, osc_ranks *out, osc_err *err)
{
    osc_ranks_free(out);
    out->items = osc_calloc(1, sizeof *out->items);
    if (!out->items)
        return no_memory(path, err);
    out->items[0] =
        (osc_rank){.path = osc_memdup0(path, strlen(path)), .said = RANK_NONE, .guessed = true};
    out->count = 1;
    if (out->items[0].path)
        return OSC_OK;
    osc_ranks_free(out);
    return no_memory(path, err);
}

static bool taken(const osc_ranks *ranks, int64_t number)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->items[i].rank == number)
            return true;
    }
    return false;
}

/* Numbers for all: what files say, then what names say, then the smallest free ones, in order of
 * names. */
static void number_ranks(osc_ranks *ranks)
{
    int64_t next = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < ranks->count; i++) {
            osc_rank *r = &ranks->items[i];
            if (r->rank != RANK_NONE)
                continue;
            int64_t number = r->said;
            if (pass == 1)
                number = rank_of_name(osc_path_base(osc_str_from_cstr(r->path)));
            if (pass == 2) {
                while (taken(ranks, next))
                    next++;
                number = next;
            }
            if (number == RANK_NONE || taken(ranks, number))
                continue;
            r->rank = number;
            r->guessed = pass > 0;
        }
    }
}

static int by_number(const void *a, const void *b)
{
    int64_t x = ((const osc_rank *)a)->rank, y = ((const osc_rank *)b)->rank;
    return (x > y) - (x < y);
}

/* Collects the traces of a directory; *session when it is a session's instead. */
static osc_status collect(const char *dir, const osc_dir_list *list, osc_ranks *out, bool *session,
                          osc_err *err)
{
    char *buf = osc_alloc(LOOK_BYTES);
    osc_status status = buf ? OSC_OK : no_memory(dir, err);
    for (size_t i = 0; i < list->count && status == OSC_OK && !*session; i++) {
        if (!is_candidate(&list->entries[i]))
            continue;
        int64_t said;
        look what = LOOK_OTHER;
        char *path = osc_path_join(dir, list->entries[i].name);
        if (!path || look_at(path, buf, &what, &said) != OSC_OK) {
            status = no_memory(dir, err);
        } else if (what == LOOK_TRACE) {
            out->items[out->count++] =
                (osc_rank){.path = path, .rank = RANK_NONE, .said = said, .guessed = true};
            path = NULL;
        }
        out->others += what == LOOK_OTHER;
        *session = *session || what == LOOK_SESSION;
        osc_free(path);
    }
    osc_free(buf);
    return status;
}

/* Names that session directories have and others do not (docs/formats/README.md). */
static bool has_session_file(const osc_dir_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        osc_str name = osc_str_from_cstr(list->entries[i].name);
        if (list->entries[i].is_file &&
            (osc_str_ends(name, OSC_STR(".ntff")) || osc_str_ends(name, OSC_STR(".neff")) ||
             osc_str_ends(name, OSC_STR(".pb")) || osc_str_eq(name, OSC_STR("run.json"))))
            return true;
    }
    return false;
}

static osc_status find_in(const char *dir, osc_ranks *out, osc_err *err)
{
    osc_dir_list list;
    bool session = false;
    osc_status status = osc_list_dir(dir, &list, err);
    if (status != OSC_OK)
        return status;
    session = has_session_file(&list);
    out->items = session ? NULL : osc_calloc(list.count + 1, sizeof *out->items);
    if (!session)
        status = out->items ? collect(dir, &list, out, &session, err) : no_memory(dir, err);
    osc_dir_list_free(&list);
    if (status == OSC_OK && !session && out->count == 1) {
        /* trace.json alone is what a session directory holds when only the framework was traced */
        osc_str name = osc_path_base(osc_str_from_cstr(out->items[0].path));
        session = osc_str_eq(name, OSC_STR("trace.json"));
    }
    if (status == OSC_OK && (session || out->count == 0))
        return single(dir, out, err);
    return status;
}

osc_status osc_ranks_find(const char *path, osc_ranks *out, osc_err *err)
{
    *out = (osc_ranks){0};
    bool dir = strcmp(path, "-") != 0 && osc_path_is_dir(path);
    osc_status status = dir ? find_in(path, out, err) : single(path, out, err);
    if (status != OSC_OK) {
        osc_ranks_free(out);
        return status;
    }
    assert(out->count > 0);
    if (out->count > 1 || out->items[0].rank == RANK_NONE)
        number_ranks(out);
    qsort(out->items, out->count, sizeof *out->items, by_number);
    return OSC_OK;
}

void osc_ranks_free(osc_ranks *ranks)
{
    if (!ranks)
        return;
    for (uint32_t i = 0; i < ranks->count; i++)
        osc_free(ranks->items[i].path);
    osc_free(ranks->items);
    *ranks = (osc_ranks){0};
}
