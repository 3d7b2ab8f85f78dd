/*
 * isal_inflate.c - inflates a gzip file with ISA-L into one reused buffer and drops it: the least a reader of
 * .json.gz can take.
 *
 *     isal_inflate FILE.gz          prints the number of bytes
 */
#include <isa-l/igzip_lib.h>

#include <stdio.h>
#include <stdlib.h>

enum { IN = 1 << 18, OUT = 1 << 20 };

/* Inflates what is in the input buffer; the bytes given. */
static unsigned long long drain(struct inflate_state *state, unsigned char *out, int *status)
{
    unsigned long long sum = 0;
    do {
        state->next_out = out;
        state->avail_out = OUT;
        *status = isal_inflate(state);
        sum += OUT - state->avail_out;
    } while (*status == ISAL_DECOMP_OK && state->avail_out == 0);
    return sum;
}

int main(int argc, char **argv)
{
    static unsigned char in[IN], out[OUT];
    static struct inflate_state state;
    unsigned long long sum = 0;
    size_t n;
    int status = ISAL_DECOMP_OK;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: isal_inflate FILE.gz\n");
        return 2;
    }
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    while (status == ISAL_DECOMP_OK && (n = fread(in, 1, IN, file)) > 0) {
        state.next_in = in;
        state.avail_in = (uint32_t)n;
        sum += drain(&state, out, &status);
    }
    fclose(file);
    printf("%llu\n", sum);
    return status == ISAL_DECOMP_OK ? 0 : 1;
}
