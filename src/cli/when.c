/*
 * when.c - see when.h.
 *
 * What a table for people shows must be taken back as it stands, or a time found in one view has to
 * be computed anew for the next.
 */
#include "cli/when.h"

#include "base/num.h"
#include "base/str.h"

#define DIGITS_MAX 64u

/* The digits without a leading '+' and without commas; empty when they do not fit. */
static osc_str plain_digits(osc_str text, char out[DIGITS_MAX])
{
    size_t n = 0;
    if (text.len > 0 && text.ptr[0] == '+')
        text = osc_str_sub(text, 1, SIZE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ',' && i > 0 && i + 1 < text.len)
            continue;
        if (n == DIGITS_MAX)
            return (osc_str){0};
        out[n++] = text.ptr[i];
    }
    return osc_str_make(out, n);
}

bool osc_cli_parse_when(const char *text, osc_when *out)
{
    static const struct {
        osc_str unit;
        int scale;
    } units[] = {{OSC_STR("ns"), 0}, {OSC_STR("us"), 3}, {OSC_STR("ms"), 6}, {OSC_STR("s"), 9}};
    char digits[DIGITS_MAX];
    osc_str t = osc_str_trim(osc_str_from_cstr(text));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!osc_str_ends(t, units[i].unit))
            continue;
        osc_str number = osc_str_trim(osc_str_sub(t, 0, t.len - units[i].unit.len));
        out->absolute = false;
        return osc_parse_scaled(plain_digits(number, digits), units[i].scale, &out->ns, NULL);
    }
    out->absolute = true;
    return osc_parse_i64(plain_digits(t, digits), &out->ns);
}
