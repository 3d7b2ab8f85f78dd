/*
 * session_pair.c - which NEFF belongs to which NTFF.
 *
 * The numeric hash of the names joins them, the NEFF's 16-byte uuid confirms it: a NEFF compiled
 * again can keep its hash (neuron-explorer.md 1.3). Of several NEFFs with one hash the one with the
 * right uuid is taken, then the one of the same core, then the first. One NEFF may serve several
 * NTFFs (older captures save it once for all cores), and one that was renamed is found by its uuid
 * alone.
 */
#include "artifact/session_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool same_uuid(const osc_session_file *a, const osc_session_file *b)
{
    return a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
}

/*
 * How well a NEFF fits an NTFF; 0 when it cannot be its. A renamed NEFF is still known by its uuid.
 */
static int fit(const osc_session_file *neff, const osc_session_file *ntff)
{
    if (neff->kind != OSC_ART_NEFF)
        return 0;
    int by_uuid = same_uuid(neff, ntff) ? 4 : 0;
    if (!neff->has_hash || neff->hash != ntff->hash)
        return by_uuid;
    bool same_core = !neff->has_core || neff->core == ntff->core;
    return by_uuid + (same_core ? 2 : 1);
}

static uint32_t best_neff(const osc_session *s, const osc_session_file *ntff)
{
    uint32_t best = OSC_NO_FILE;
    int best_fit = 0;
    for (uint32_t i = 0; i < s->file_count; i++) {
        int f = fit(&s->files[i], ntff);
        if (f > best_fit) {
            best_fit = f;
            best = i;
        }
    }
    return best;
}

static void report_pair(const osc_session *s, const osc_session_file *ntff,
                        const osc_session_file *neff)
{
    if (!neff)
        osc_findings_add(
            s->findings, "missing-neff", OSC_SEV_ERROR, OSC_ENOTFOUND, ntff->name, OSC_NO_OFFSET,
            "there is no neff_%" PRIu64 "_vnc_%u.neff beside it: its instructions have no "
            "names; copy the NEFF from the cache directory (TORCH_NEURONX_NEFF_CACHE_DIR)",
            ntff->hash, ntff->core);
    else if (ntff->has_uuid && neff->has_uuid && !same_uuid(ntff, neff))
        osc_findings_add(
            s->findings, "uuid-mismatch", OSC_SEV_ERROR, OSC_EFORMAT, ntff->name, OSC_NO_OFFSET,
            "%s has the same hash but another uuid: it is another compilation; capture again, "
            "or put the NEFF of that run beside it",
            neff->name);
}

static void pair_ntff(osc_session *s, uint32_t index)
{
    const osc_session_file *ntff = &s->files[index];
    uint32_t neff = best_neff(s, ntff);
    bool both = neff != OSC_NO_FILE && ntff->size > 0 && same_uuid(ntff, &s->files[neff]);
    if (ntff->size > 0)
        report_pair(s, ntff, neff == OSC_NO_FILE ? NULL : &s->files[neff]);
    s->pairs[s->pair_count++] = (osc_session_pair){
        .hash = ntff->hash, .core = ntff->core, .neff = neff, .ntff = index, .matched = both};
}

static void pair_lone_neff(osc_session *s, uint32_t index)
{
    const osc_session_file *neff = &s->files[index];
    osc_findings_add(s->findings, "missing-ntff", OSC_SEV_WARN, OSC_ENOTFOUND, neff->name,
                     OSC_NO_OFFSET,
                     "no .ntff of its hash: the program did not run in the capture window, or its "
                     "device profile is lost");
    s->pairs[s->pair_count++] = (osc_session_pair){
        .hash = neff->hash, .core = neff->core, .neff = index, .ntff = OSC_NO_FILE};
}

static int compare_pairs(const void *a, const void *b)
{
    const osc_session_pair *x = a, *y = b;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    /* Files are sorted by name; keep their order. */
    if (x->ntff != y->ntff)
        return x->ntff < y->ntff ? -1 : 1;
    return x->neff < y->neff ? -1 : x->neff > y->neff;
}

osc_status osc_session_make_pairs(osc_session *s, osc_err *err)
{
    bool *used = OSC_ARENA_ARRAY(s->arena, bool, s->file_count);
    s->pairs = OSC_ARENA_ARRAY(s->arena, osc_session_pair, s->file_count);
    if (!used || !s->pairs)
        return osc_fail(err, OSC_ENOMEM, s->dir, OSC_NO_OFFSET,
                        "no memory to pair the session's files");
    for (uint32_t i = 0; i < s->file_count; i++) {
        if (s->files[i].kind != OSC_ART_NTFF || !s->files[i].has_hash)
            continue;
        pair_ntff(s, i);
        uint32_t neff = s->pairs[s->pair_count - 1].neff;
        if (neff != OSC_NO_FILE)
            used[neff] = true;
    }
    for (uint32_t i = 0; i < s->file_count; i++) {
        if (s->files[i].kind == OSC_ART_NEFF && s->files[i].has_hash && !used[i])
            pair_lone_neff(s, i);
    }
    assert(s->pair_count <= s->file_count);
    qsort(s->pairs, s->pair_count, sizeof *s->pairs, compare_pairs);
    return OSC_OK;
}
