/*
 * replay_main.c - runs a fuzz target without a fuzzer: every corpus file, then fixed mutations of it.
 *
 * Ordinary builds link this instead of libFuzzer, so that what a fuzzer once found stays found on every
 * machine. Mutations are the same on each run: every truncation of small inputs (a spread of lengths
 * of larger ones), bytes set to the values that break readers, and seeded random edits.
 */
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs are truncated at every length up to this, and at this many lengths when larger. */
#define REPLAY_CUTS     512
#define REPLAY_FLIPS    1024
#define REPLAY_RANDOM   256
#define REPLAY_MAX_FILE ((size_t)16 << 20)

static unsigned long runs;

/* Calls the target with an exactly sized heap copy, so that a read past the end is seen by ASan. */
static void run_exact(const char *data, size_t size)
{
    char *copy = osc_memdup0(data, size);
    unsigned char *exact = osc_alloc(size);
    if (copy && exact) {
        memcpy(exact, copy, size);
        (void)LLVMFuzzerTestOneInput(exact, size);
        runs++;
    }
    osc_free(copy);
    osc_free(exact);
}

static void cut_everywhere(const char *data, size_t size)
{
    size_t step = size / REPLAY_CUTS + 1;
    for (size_t len = 0; len < size; len += step)
        run_exact(data, len);
}

static void set_bytes(char *data, size_t size)
{
    static const unsigned char nasty[] = {0x00, 0xff, 0x7f, 0x80};
    size_t step = size * sizeof nasty / REPLAY_FLIPS + 1;
    for (size_t at = 0; at < size; at += step) {
        char saved = data[at];
        for (size_t k = 0; k < sizeof nasty; k++) {
            data[at] = (char)nasty[k];
            run_exact(data, size);
        }
        data[at] = saved;
    }
}

static void random_edits(const char *data, size_t size, osc_rng *rng)
{
    for (int i = 0; i < REPLAY_RANDOM && size > 0; i++) {
        char *copy = osc_memdup0(data, size);
        if (!copy)
            return;
        uint64_t edits = 1 + osc_rng_below(rng, 8);
        for (uint64_t k = 0; k < edits; k++)
            copy[osc_rng_below(rng, size)] = (char)osc_rng_next(rng);
        run_exact(copy, (size_t)osc_rng_below(rng, size) + 1);
        run_exact(copy, size);
        osc_free(copy);
    }
}

static int replay_file(const char *path)
{
    char *data;
    size_t size;
    osc_err err = {0};
    if (osc_read_file(path, REPLAY_MAX_FILE, &data, &size, &err) != OSC_OK) {
        (void)fprintf(stderr, "%s: %s\n", path, err.message);
        return 1;
    }
    osc_rng rng = {20261129};
    run_exact(data, size);
    cut_everywhere(data, size);
    set_bytes(data, size);
    random_edits(data, size, &rng);
    osc_free(data);
    return 0;
}

static int replay_path(const char *path)
{
    if (!osc_path_is_dir(path))
        return replay_file(path);
    osc_dir_list list;
    if (osc_list_dir(path, &list, NULL) != OSC_OK)
        return 1;
    int failed = 0;
    for (size_t i = 0; i < list.count; i++) {
        char *file = osc_path_join(path, list.entries[i].name);
        failed |= file && list.entries[i].is_file ? replay_file(file) : 0;
        osc_free(file);
    }
    osc_dir_list_free(&list);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    run_exact("", 0);
    for (int i = 1; i < argc; i++) {
        /* A target whose corpus is still empty has only the empty input. */
        if (osc_path_exists(argv[i]))
            failed |= replay_path(argv[i]);
    }
    printf("%lu inputs\n", runs);
    return failed;
}
