/* kineto_fast_internal.h - shared by kineto_fast.c and the instances of kineto_fast_body.h. */
#ifndef OSC_READ_KINETO_FAST_INTERNAL_H
#define OSC_READ_KINETO_FAST_INTERNAL_H

#include "scope/read/kineto_fast.h"
#include "scope/read/kineto_fast_hash.h"

#include <string.h>

#define OSC_FAST_LITERAL 64u
#define OSC_FAST_PARTS   20u
#define OSC_FAST_LAYOUTS 96u
#define OSC_FAST_GUESSES 1024u
#define OSC_FAST_RECENT  256u
#define OSC_FAST_NAMES   4096u
#define OSC_FAST_LANES   1024u
#define OSC_FAST_KEYS    64u

typedef enum osc_fast_field {
    OSC_FIELD_NONE = 0, /* the literal goes on in the next part */
    OSC_FIELD_END = 1,  /* the literal ends the event */
    OSC_FIELD_NAME = 2,
    OSC_FIELD_TS = 3,
    OSC_FIELD_DUR = 4,
    OSC_FIELD_PID = 5, /* digits */
    OSC_FIELD_TID = 6,
    OSC_FIELD_PID_TEXT = 7,
    OSC_FIELD_TID_TEXT = 8,
    OSC_FIELD_ID = 9, /* of a flow: digits */
    OSC_FIELD_ID_TEXT = 10,
    OSC_FIELD_ARGS = 11,
    OSC_FIELD_TEXT = 12,  /* of a member that nobody needs */
    OSC_FIELD_NUMBER = 13 /* of such a member */
} osc_fast_field;

/* Orders of fields for which there is straight code. */
typedef enum osc_fast_order {
    OSC_ORDER_OTHER = 0,
    OSC_ORDER_SLICE = 1,   /* name, pid, tid, ts, dur, args */
    OSC_ORDER_INSTANT = 2, /* the same without dur */
    OSC_ORDER_FLOW = 3     /* id, pid, tid, ts, name */
} osc_fast_order;

typedef struct osc_fast_part {
    char literal[OSC_FAST_LITERAL]; /* bytes that stay, then the field's value */
    uint8_t len;
    uint8_t field;
} osc_fast_part;

/* At most 16 bytes as two numbers: what a pid or tid is compared by. */
typedef struct osc_fast_id {
    uint64_t low, high;
} osc_fast_id;

typedef struct osc_fast_layout {
    osc_fast_part parts[OSC_FAST_PARTS];
    uint32_t part_count;
    char phase;
    uint8_t kind, flags, lane;
    uint8_t order; /* osc_fast_order */
    bool has_id;
    uint8_t
        mute; /* OSC_FAST_MUTE_*: no rows are made of its events when the caller leaves these out */
    uint16_t
        dur_at; /* of a mute frame: from the end of its name to its length's digits, once known */
    bool named; /* rows are made of its events, so names are looked up at once */
    uint32_t category; /* text id of a flow's category in the store, once known */
    bool category_known;
    char cat[32]; /* the category's text */
    uint8_t cat_len;
    osc_fast_id pid, tid; /* of the last event in this layout */
    uint32_t track;       /* and its lane; OSC_NO_ROW: not known */
    /* Bytes of the last event from the field before its pid to the field behind its tid, where
     * these two follow each other: mostly the next event has the same. */
    uint8_t pair_part; /* index of the pid's part, when the next is the tid's; 255: no such place */
    uint8_t pair_len;  /* 0: not known */
    char pair[OSC_FAST_LITERAL];
} osc_fast_layout;

#define OSC_FAST_SHORT 48u
typedef struct osc_fast_name {
    uint64_t hash;
    uint32_t len, id;          /* len 0: free */
    char text[OSC_FAST_SHORT]; /* short names; longer ones are in the store's pool */
} osc_fast_name;

typedef struct osc_fast_lane {
    osc_fast_id pid, tid;
    uint32_t track;
    uint8_t lane; /* 0: free; OSC_FAST_PAIR for a pair without a lane */
} osc_fast_lane;
#define OSC_FAST_PAIR 255u

/* Arguments that are looked at; by the last four bytes of their key. */
typedef enum osc_fast_key {
    OSC_KEY_NONE = 0,
    OSC_KEY_EXTERNAL = 1,
    OSC_KEY_ORDER = 2,
    OSC_KEY_CORRELATION = 3,
    OSC_KEY_SEQUENCE = 4,
    OSC_KEY_FWD_THREAD = 5,
    OSC_KEY_BYTES = 6,
    OSC_KEY_DEVICE_TYPE = 7,
    OSC_KEY_DEVICE = 8,
    OSC_KEY_SHAPES = 9,
    OSC_KEY_RARE = 10 /* the reference knows it */
} osc_fast_key;

/* The key with the quote before it as up to three numbers of 8 bytes, the last bytes first. */
typedef struct osc_fast_key_entry {
    uint64_t value[3], mask[3];
    uint8_t len; /* of the key; 0: free */
    uint8_t key;
} osc_fast_key_entry;

/*
 * Arguments as a name had them last: the bytes that stayed, with numbers between them. Most
 * operators and kernels come again with the same arguments but for their ids, so that comparing
 * takes the place of parsing.
 *
 *     {"External id": 1026, "Input Dims": [[8, 4]], "Ev Idx": 1}
 *     {"External id": dddd, "Input Dims": [[d, d]], "Ev Idx": d}     the pattern, d is any digit
 *
 * When the numbers have as many digits as last time the pattern is compared whole; else piece by
 * piece.
 */
#define OSC_FAST_SKELETONS 2048u
#define OSC_FAST_WAYS      4u
#define OSC_FAST_ARGS      512u
#define OSC_FAST_NUMBERS   14u
#define OSC_FAST_PICKS     6u
typedef struct osc_fast_skeleton {
    uint64_t key;                     /* of name and layout; 0: free */
    uint32_t hits, misses;            /* misses far above hits: not worth learning */
    uint16_t size;                    /* of the pattern */
    uint16_t negative;                /* bit i: number i has a minus before it */
    int16_t shapes;                   /* where in the pattern the shapes begin, -1: none */
    uint16_t at[OSC_FAST_NUMBERS];    /* of each number in the pattern */
    uint8_t width[OSC_FAST_NUMBERS];  /* its digits there before a point */
    uint8_t all[OSC_FAST_NUMBERS];    /* and its bytes */
    uint8_t wanted[OSC_FAST_NUMBERS]; /* osc_fast_key, OSC_KEY_NONE: nobody's */
    uint8_t numbers, picks;
    uint8_t pick[OSC_FAST_PICKS];  /* numbers that are wanted */
    char text[OSC_FAST_ARGS + 64]; /* the pattern */
} osc_fast_skeleton;

/*
 * Pattern of an event that makes no rows: of a frame that is left out what stands behind its name,
 * of a flow all. Its digits may be any as long as they are as many.
 */
#define OSC_FAST_MUTE_FLOW  1u
#define OSC_FAST_MUTE_FRAME 2u
#define OSC_FAST_STAMP      384u
#define OSC_FAST_STAMPS     OSC_FAST_RECENT
typedef struct osc_fast_stamp {
    uint32_t hits, misses;
    uint16_t size; /* 0: free */
    uint8_t layout;
    char text[OSC_FAST_STAMP + 64];
} osc_fast_stamp;

/* What one event says; views into the window. */
typedef struct osc_fast_event {
    const char *name, *id, *args, *shapes;
    size_t name_len, id_len, args_len;
    uint64_t name_hash;
    uint32_t name_id; /* OSC_NO_ROW: not met lately, or long */
    int64_t ts, dur;
    uint32_t ts_fraction, dur_fraction; /* OSC_FRACTION_* */
    const char *pid_text, *tid_text, *dur_text;
    size_t pid_len, tid_len;
    osc_fast_id pid, tid;
    const char *pair_from, *pair_to; /* the bytes that osc_fast_layout.pair holds */
    osc_fast_skeleton *learn;        /* the arguments were parsed, and might be remembered here */
    uint64_t skeleton_key;
    bool pair_known;                 /* pid and tid are those of the last event in this layout */
    int64_t numbers[OSC_KEY_SHAPES]; /* by osc_fast_key */
} osc_fast_event;

struct osc_fast {
    osc_fast_layout layouts[OSC_FAST_LAYOUTS];
    uint32_t count, victim;
    int32_t credit; /* layouts that may still be learned; events in known layouts earn more */
    uint8_t guess[OSC_FAST_GUESSES]; /* layout + 1 by the hash of an event's first 40 bytes */
    /* the last two layouts + 1 by the hash of its first 22 bytes, where the first 40 hold a
     * value */
    uint8_t recent[OSC_FAST_RECENT][2];
    char separator[OSC_FAST_LITERAL];
    uint8_t separator_len;
    uint32_t key_factor;
    uint32_t time_digits; /* before the point, in the last start */
    osc_fast_key_entry keys[OSC_FAST_KEYS];
    osc_fast_name names[OSC_FAST_NAMES];
    osc_fast_lane lanes[OSC_FAST_LANES];
    osc_fast_skeleton skeletons[OSC_FAST_SKELETONS];
    osc_fast_stamp frames[OSC_FAST_STAMPS], flows[OSC_FAST_STAMPS];
    uint8_t mute; /* OSC_FAST_MUTE_* that are left out in this run */
    void (*run)(osc_kineto *k, osc_fast *f);
};

/* Interns a name and remembers it. */
uint32_t osc_fast_name_miss(osc_kineto *k, osc_fast *f, uint64_t hash, const char *p, size_t len);

/* Id of a name in the store, by way of the names met lately. */
static inline uint32_t osc_fast_name_of(osc_kineto *k, osc_fast *f, const char *p, size_t len,
                                        uint64_t hash)
{
    const osc_fast_name *n = &f->names[hash % OSC_FAST_NAMES];
    if (n->hash == hash && n->len == len &&
        memcmp(len <= OSC_FAST_SHORT ? n->text : osc_store_text(k->store, n->id).ptr, p, len) == 0)
        return n->id;
    return osc_fast_name_miss(k, f, hash, p, len);
}

/* The wanted key that ends before the colon at c, or NULL. */
static inline const osc_fast_key_entry *osc_fast_find_key(const osc_fast *f, const char *c)
{
    uint64_t text = osc_fast_load(c - 9, 8);
    const osc_fast_key_entry *entry = &f->keys[((uint32_t)(text >> 32) * f->key_factor) >> 26];
    if ((text & entry->mask[0]) != entry->value[0] || entry->len == 0 ||
        (osc_fast_load(c - 17, 8) & entry->mask[1]) != entry->value[1] ||
        (osc_fast_load(c - 25, 8) & entry->mask[2]) != entry->value[2])
        return NULL;
    const char *before = c - 3 - entry->len; /* of the quote; a backslash makes it no quote */
    while (*before == ' ' || *before == '\n' || *before == '\r' || *before == '\t')
        before--;
    return *before == ',' || *before == '{' ? entry : NULL;
}

/* Remembers the event's arguments for the next event of its name. */
void osc_fast_learn_args(const osc_fast *f, const osc_fast_event *e);

/* Remembers the bytes from p to end as a stamp of a layout; inside: p is inside a text. */
void osc_fast_learn_stamp(osc_fast_stamp *s, uint8_t layout, const char *p, const char *end,
                          bool inside);

/* Adds what the event says; false when the reference has to (nothing was changed then). */
bool osc_fast_commit(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e);

/* Remembers the bytes of the event's pid and tid, for the next event in its layout. */
void osc_fast_keep_pair(const osc_kineto *k, osc_fast_layout *l, const osc_fast_event *e);

/* The lane of the event's (pid, tid), remembered in the layout. */
uint32_t osc_fast_track(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e);

void osc_fast_run_plain(osc_kineto *k, osc_fast *f);
void osc_fast_run_avx2(osc_kineto *k, osc_fast *f);
void osc_fast_run_avx512(osc_kineto *k, osc_fast *f);

#endif
