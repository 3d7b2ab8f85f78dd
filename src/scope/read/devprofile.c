/*
 * devprofile.c - from a vendor's device profile to a store: facts, program, executions, tracks.
 *
 * A profile is one run of one program: one execution for each physical core that has rows, all on
 * the profile's own clock, which starts at 0. Instructions and packets are in devprofile_work.c,
 * the smaller tables in devprofile_tables.c. Rows may stand in any order in the file; what depends
 * on time is sorted.
 *
 * Refuses: to compute a metric (that is analysis), and to repair times; the DMA rows' clock may lag
 * the engines' by up to 0.1 us (neuroncore-v2-measured.md 1) and stays as the file has it.
 */
#include "scope/read/devprofile.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/read/devprofile_internal.h"

#include <math.h>
#include <stdio.h>

#define CORES_MAX      65536
#define FACTS_MAX      4096u
#define WAIT_COUNTS    65536.0 /* the wait counter has 16 bits (summary-metrics.md 1.2) */
#define DEFAULT_CLOCK  1.4     /* GHz, of the cores whose profiles are known */
#define HASH_HEX_CHARS 16u

void osc_dp_put(osc_dp_reader *r, osc_map *map, uint64_t key, uint64_t value)
{
    if (osc_map_put(map, key, value) != OSC_OK)
        r->failed = true;
}

uint32_t osc_dp_intern(osc_dp_reader *r, osc_str text)
{
    return osc_store_intern(r->store, text);
}

uint32_t osc_dp_exec(osc_dp_reader *r, int64_t core)
{
    uint64_t row;
    if (core == OSC_DP_NONE)
        core = r->base_core;
    if (core < 0 || core >= CORES_MAX) {
        osc_store_note(r->store, OSC_SEV_WARN, "profile_core", 1, OSC_NO_OFFSET,
                       "rows name an impossible core; they were taken for the profile's own");
        core = r->base_core;
    }
    if (osc_map_get(&r->execs, (uint64_t)core, &row))
        return (uint32_t)row;
    osc_exec_row exec = {.exec_id = 1,
                         .start_ns = r->first_ns,
                         .dur_ns = r->last_ns - r->first_ns,
                         .core = (uint32_t)core,
                         .program = r->program,
                         .slice = OSC_NO_ROW};
    osc_store_clamp(r->store, &exec.start_ns, &exec.dur_ns);
    exec.body_ns = exec.start_ns;
    exec.body_dur_ns = exec.dur_ns;
    uint32_t added = osc_store_add_exec(r->store, &exec);
    osc_dp_put(r, &r->execs, (uint64_t)core, added);
    return added;
}

uint32_t osc_dp_track(osc_dp_reader *r, uint32_t exec, osc_str lane, osc_lane_kind kind)
{
    uint64_t row;
    uint32_t core = exec == OSC_NO_ROW ? 0 : osc_store_exec(r->store)->core[exec];
    uint64_t key = (uint64_t)osc_dp_intern(r, lane) << 32 | (uint64_t)kind << 16 | core;
    if (osc_map_get(&r->tracks, key, &row))
        return (uint32_t)row;
    osc_buf_clear(&r->text);
    osc_buf_printf(&r->text, "neuron_device/NC:%u/%.*s", core, OSC_STR_FMT(lane));
    osc_track_row track = {.lane = osc_dp_intern(r, osc_buf_view(&r->text)),
                           .label = osc_dp_intern(r, lane),
                           .thread = osc_store_track(r->store)->count,
                           .number = core,
                           .lane_kind = (uint8_t)kind};
    osc_buf_clear(&r->text);
    osc_buf_printf(&r->text, "device-profile/PID:0/neuron_device/NC:%u/%.*s", core,
                   OSC_STR_FMT(lane));
    track.name = osc_dp_intern(r, osc_buf_view(&r->text));
    uint32_t added = osc_store_add_track(r->store, &track);
    osc_dp_put(r, &r->tracks, key, added);
    return added;
}

/* ---- facts ---- */

static int64_t time_fact(const osc_dp_reader *r, const char *key, int64_t otherwise)
{
    double value;
    if (!osc_devprofile_number(r->profile, "metadata", key, &value) ||
        !(value >= -(double)OSC_TIME_MAX && value <= (double)OSC_TIME_MAX))
        return otherwise;
    return (int64_t)value;
}

/* Start of the first and end of the last instruction, for profiles whose metadata does not say. */
static void measure(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_inst *inst = osc_dp_inst_rows(r->profile, &count);
    int64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t end;
        if (osc_add_i64(inst[i].start_ns, inst[i].dur_ns, &end) && end > last && end < OSC_TIME_MAX)
            last = end;
    }
    r->first_ns = time_fact(r, "first_hw_timestamp", 0);
    r->last_ns = time_fact(r, "last_hw_timestamp", OSC_DP_NONE);
    if (r->last_ns < r->first_ns) {
        osc_store_note(r->store, OSC_SEV_WARN, "profile_window", 1, OSC_NO_OFFSET,
                       "metadata does not say when the trace ended; the end of its last "
                       "instruction was taken");
        r->last_ns = last > r->first_ns ? last : r->first_ns;
    }
    double clock;
    if (!osc_devprofile_number(r->profile, "metadata", "pe_clock_others", &clock) ||
        !(clock > 0.001 && clock < 1000))
        clock = DEFAULT_CLOCK;
    r->wrap_ns = WAIT_COUNTS / clock;
}

static void add_facts(osc_dp_reader *r)
{
    size_t count, kept = 0;
    const osc_dp_fact *fact = osc_devprofile_facts(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        if (osc_str_eq_cstr(fact[i].table, "summary"))
            continue;
        if (kept++ == FACTS_MAX) {
            osc_store_note(r->store, OSC_SEV_WARN, "profile_facts", count - i, OSC_NO_OFFSET,
                           "the profile has more facts than are kept");
            break;
        }
        osc_buf_clear(&r->text);
        osc_buf_printf(&r->text, "%.*s.%.*s", OSC_STR_FMT(fact[i].table), OSC_STR_FMT(fact[i].key));
        osc_meta_row row = {.key = osc_dp_intern(r, osc_buf_view(&r->text)),
                            .value = osc_dp_intern(r, fact[i].value)};
        osc_store_add_meta(r->store, &row);
    }
}

static osc_str fact_text(const osc_dp_reader *r, const char *table, const char *key)
{
    const osc_dp_fact *fact = osc_devprofile_fact(r->profile, table, key);
    return fact ? fact->value : (osc_str){0};
}

static void add_program(osc_dp_reader *r)
{
    osc_str hash = fact_text(r, "neff_header", "hash");
    osc_str name = fact_text(r, "neff_header", "network_name");
    char hex[HASH_HEX_CHARS + 3] = "0x";
    uint64_t number = 0;
    osc_str_to_array(osc_str_sub(hash, 0, HASH_HEX_CHARS), hex + 2, HASH_HEX_CHARS + 1);
    (void)osc_parse_u64_any(osc_str_from_cstr(hex), &number);
    if (name.len == 0)
        name = fact_text(r, "profile_info", "profile_name");
    osc_program_row row = {.hash = number >> 1, /* fits int64, as the runtime's hashes do */
                           .name = osc_dp_intern(r, name),
                           .cache_key = osc_dp_intern(r, hash)};
    r->program = osc_store_add_program(r->store, &row);
}

static void add_file(osc_dp_reader *r, const char *input, size_t len, bool damaged)
{
    size_t lists;
    const osc_dp_listed *list = osc_devprofile_lists(r->profile, &lists);
    osc_file_row row = {.name = osc_dp_intern(r, osc_str_from_cstr(input)),
                        .role = osc_dp_intern(r, OSC_STR("device profile")),
                        .state =
                            osc_dp_intern(r, damaged ? OSC_STR("incomplete") : OSC_STR("complete")),
                        .bytes = len};
    for (size_t i = 0; i < lists; i++)
        row.events += list[i].rows;
    osc_store_add_file(r->store, &row);
}

/* ---- the whole ---- */

static void add_all(osc_dp_reader *r)
{
    double core;
    r->base_core = osc_devprofile_number(r->profile, "model_info", "nc_idx", &core) && core >= 0 &&
                           core < CORES_MAX
                       ? (int64_t)core
                       : 0;
    measure(r);
    osc_store_set_meta(r->store, "source", OSC_STR("device-profile"));
    add_facts(r);
    add_program(r);
    osc_dp_add_instructions(r);
    osc_dp_add_packets(r);
    osc_dp_add_tables(r);
}

static void free_reader(osc_dp_reader *r)
{
    osc_map *maps[] = {&r->execs,    &r->tracks,    &r->engines,  &r->queues,    &r->owners,
                       &r->triggers, &r->transfers, &r->last_end, &r->last_start};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        osc_map_free(maps[i]);
    osc_buf_free(&r->text);
}

osc_status osc_devprofile_to_store(osc_store *store, const char *data, size_t len,
                                   const char *input, osc_err *err)
{
    osc_dp_reader r = {.store = store};
    osc_findings findings = {0};
    osc_devprofile *profile = NULL;
    osc_status status = osc_devprofile_read(data, len, input, &findings, &profile, err);
    if (status == OSC_OK) {
        osc_store_set_input(store, osc_str_from_cstr(input));
        for (size_t i = 0; i < findings.count; i++) {
            const osc_finding *f = &findings.items[i];
            osc_store_note(store, f->severity, f->name, f->count, f->offset, f->text);
        }
        r.profile = profile;
        osc_buf_init(&r.text, SIZE_MAX);
        add_file(&r, input, len, osc_findings_find(&findings, "profile-damaged") != NULL);
        add_all(&r);
        if (r.failed || r.text.failed)
            status = osc_fail(err, OSC_ENOMEM, input, OSC_NO_OFFSET,
                              "out of memory for the device profile's tables");
        free_reader(&r);
    }
    osc_devprofile_free(profile);
    osc_findings_free(&findings);
    return status;
}
