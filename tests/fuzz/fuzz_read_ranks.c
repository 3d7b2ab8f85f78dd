/* A directory with two copies of arbitrary bytes: both are ranks or none is, and their numbers differ. */
#include "base/io.h"
#include "base/mem.h"
#include "scope/read/args.h"
#include "scope/read/ranks.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void remove_folder(void)
{
    if (osc_remove_tree(tap_tmpdir(), NULL) != OSC_OK)
        fprintf(stderr, "%s stays\n", tap_tmpdir());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool known;
    char path[600];
    osc_ranks ranks;
    int64_t number;
    if (!known)
        (void)atexit(remove_folder);
    known = true;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%c.json", tap_tmpdir(), 'a' + i);
        if (osc_write_file_atomic(path, data, size, NULL) != OSC_OK)
            abort();
    }
    if (osc_ranks_find(tap_tmpdir(), &ranks, NULL) != OSC_OK)
        abort();
    if (ranks.count == 2 &&
        (ranks.items[0].rank >= ranks.items[1].rank || ranks.items[0].said != ranks.items[1].said))
        abort();
    if (ranks.count == 0 || ranks.count > 2)
        abort();
    osc_ranks_free(&ranks);
    (void)osc_args_i64(osc_str_make((const char *)data, size), "rank", &number);
    return 0;
}
