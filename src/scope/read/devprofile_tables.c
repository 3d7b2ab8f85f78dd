/*
 * devprofile_tables.c - the smaller tables of a device profile: semaphores in time, throttling,
 * tensors, layers, samples, memory, the summary that the file states, and what its own tool warned
 * of.
 */
#include "scope/read/devprofile_internal.h"

#include "base/num.h"

#include <stdio.h>

#define WARNINGS_MAX 32u
#define STATED_MAX   1024u /* fields of a summary; the vendor writes about 108 */
#define PARTS        1e9   /* samples of fractions are in 1e-9 of the whole */

static uint64_t size_of(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void add_semaphore_updates(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_sem *sem = osc_dp_sem_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        osc_dp_sync sync;
        osc_semup_row row = {.at_ns = sem[i].at_ns,
                             .value = sem[i].value,
                             .exec = osc_dp_exec(r, sem[i].core),
                             .sem = OSC_NO_ROW};
        if (osc_dp_semaphore_parse(sem[i].id, &sync)) {
            row.sem = osc_dp_sem_number(&sync);
            osc_dp_note_owner(r, &sync);
        }
        osc_store_clamp(r->store, &row.at_ns, NULL);
        osc_store_add_semup(r->store, &row);
    }
}

/* The codes that are known (summary-metrics.md 2, Throttling); other types keep their text. */
static osc_str throttle_type(osc_str type)
{
    if (osc_str_eq_cstr(type, "0"))
        return OSC_STR("activity_0");
    if (osc_str_eq_cstr(type, "99"))
        return OSC_STR("unknown");
    return type;
}

static void add_throttle(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_ham *ham = osc_dp_ham_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        osc_throttle_row row = {.start_ns = ham[i].start_ns,
                                .dur_ns = ham[i].dur_ns,
                                .k = ham[i].k,
                                .n = ham[i].n,
                                .exec = osc_dp_exec(r, ham[i].core),
                                .type = osc_dp_intern(r, throttle_type(ham[i].type))};
        osc_store_clamp(r->store, &row.start_ns, &row.dur_ns);
        osc_store_add_throttle(r->store, &row);
    }
}

static void add_tensors(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_tensor *tensor = osc_dp_tensor_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        osc_tensor_row row = {.bytes = size_of(tensor[i].bytes),
                              .loaded_bytes = size_of(tensor[i].loaded_bytes),
                              .loads = size_of(tensor[i].loads),
                              .program = r->program,
                              .name = osc_dp_intern(r, tensor[i].name),
                              .kind = osc_dp_intern(r, tensor[i].type),
                              .shape = osc_dp_intern(r, tensor[i].shape),
                              .format = osc_dp_intern(r, tensor[i].format)};
        osc_store_add_tensor(r->store, &row);
    }
}

static void add_layers(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_layer *layer = osc_dp_layer_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        osc_layer_row row = {.start_ns = layer[i].start_ns,
                             .dur_ns = layer[i].dur_ns,
                             .program = r->program,
                             .name = osc_dp_intern(r, layer[i].name),
                             .subgraph = osc_dp_intern(r, layer[i].subgraph)};
        osc_store_clamp(r->store, &row.start_ns, &row.dur_ns);
        osc_store_add_layer(r->store, &row);
    }
}

static void add_sample(osc_dp_reader *r, int64_t at, int64_t core, osc_str series, osc_str unit,
                       double value)
{
    bool fits = value >= -9e18 && value <= 9e18;
    osc_sample_row row = {.at_ns = at,
                          .value = fits ? (int64_t)value : 0,
                          .exec = osc_dp_exec(r, core),
                          .series = osc_dp_intern(r, series),
                          .unit = osc_dp_intern(r, unit)};
    osc_store_clamp(r->store, &row.at_ns, NULL);
    osc_store_add_sample(r->store, &row);
}

static void add_samples(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_pending *pending = osc_dp_pending_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++)
        add_sample(r, pending[i].at_ns, pending[i].core, OSC_STR("dma.pending"), OSC_STR("count"),
                   (double)pending[i].value);
    const osc_dp_through *through = osc_dp_through_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        add_sample(r, through[i].at_ns, through[i].core, OSC_STR("dma.bytes"), OSC_STR("bytes"),
                   (double)through[i].bytes);
        add_sample(r, through[i].at_ns, through[i].core, OSC_STR("dma.rate"), OSC_STR("bytes/s"),
                   through[i].rate);
    }
    const osc_dp_usage *usage = osc_dp_usage_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        bool psum = osc_str_eq_cstr(usage[i].type, "psum");
        add_sample(r, usage[i].at_ns, usage[i].core,
                   psum ? OSC_STR("psum.used") : OSC_STR("sbuf.used"), OSC_STR("1e-9"),
                   usage[i].mean * PARTS);
    }
}

static void add_memory(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_memory *memory = osc_dp_memory_rows(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        osc_usage_row row = {.bytes = size_of(memory[i].bytes),
                             .what = osc_dp_intern(r, memory[i].type),
                             .core = memory[i].core >= 0 && memory[i].core < UINT32_MAX
                                         ? (uint32_t)memory[i].core
                                         : 0};
        osc_store_add_usage(r->store, &row);
    }
}

static void add_stated(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_fact *fact = osc_devprofile_facts(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        if (!osc_str_eq_cstr(fact[i].table, "summary"))
            continue;
        if (osc_store_stated(r->store)->count == STATED_MAX) {
            osc_store_note(r->store, OSC_SEV_WARN, "profile_facts", 1, OSC_NO_OFFSET,
                           "the profile has more facts than are kept");
            break;
        }
        osc_stated_row row = {.field = osc_dp_intern(r, fact[i].key),
                              .value = osc_dp_intern(r, fact[i].value),
                              .is_number = fact[i].is_number};
        osc_store_add_stated(r->store, &row);
    }
}

static void note_warnings(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_warning *warning = osc_dp_warning_rows(r->profile, &count);
    for (size_t i = 0; i < count && i < WARNINGS_MAX; i++) {
        char code[32], text[512];
        snprintf(code, sizeof code, "vendor_warning_%zu", i + 1);
        snprintf(text, sizeof text, "the tool that wrote the profile says: %.*s",
                 OSC_STR_FMT(osc_str_sub(warning[i].message, 0, 440)));
        osc_store_note(r->store, OSC_SEV_WARN, code, 1, OSC_NO_OFFSET, text);
    }
}

/* Lists that only repeat, group or explain what other lists hold. */
static bool is_presentation(osc_str name)
{
    return osc_str_eq_cstr(name, "summary_groups") ||
           osc_str_eq_cstr(name, "summary_group_order") || osc_str_eq_cstr(name, "terminology");
}

static void note_lists(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_listed *list = osc_devprofile_lists(r->profile, &count);
    for (size_t i = 0; i < count; i++) {
        char text[256];
        /* cc_ops, cc_cores_instruction, ...: collectives */
        if (osc_str_starts(list[i].name, OSC_STR("cc_")) && list[i].rows > 0)
            osc_store_set_meta(r->store, "profile.collectives", OSC_STR("1"));
        if (list[i].known || list[i].rows == 0 || is_presentation(list[i].name))
            continue;
        snprintf(text, sizeof text, "the profile has tables that are not read; the first is %.*s",
                 OSC_STR_FMT(osc_str_sub(list[i].name, 0, 100)));
        osc_store_note(r->store, OSC_SEV_NOTE, "profile_tables", 1, OSC_NO_OFFSET, text);
    }
    if (osc_devprofile_has(r->profile, "semaphore_update"))
        osc_store_set_meta(r->store, "profile.semaphores", OSC_STR("1"));
    if (osc_devprofile_has(r->profile, "neff_node"))
        osc_store_set_meta(r->store, "profile.tensors", OSC_STR("1"));
}

void osc_dp_add_tables(osc_dp_reader *r)
{
    add_semaphore_updates(r);
    add_throttle(r);
    add_tensors(r);
    add_layers(r);
    add_samples(r);
    add_memory(r);
    add_stated(r);
    note_warnings(r);
    note_lists(r);
}
