/* The JSON scanner on arbitrary bytes: it ends, stays in bounds, and agrees with skip_value. */
#include "base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_json j, skipper;
    osc_buf text;
    osc_json_init(&j, (const char *)data, size);
    osc_json_init(&skipper, (const char *)data, size);
    osc_buf_init(&text, SIZE_MAX);
    osc_json_token t;
    do {
        t = osc_json_next(&j);
        double number;
        if (t.type == OSC_JSON_KEY || t.type == OSC_JSON_STRING) {
            osc_buf_clear(&text);
            if (!osc_json_unescape(t.text, &text, NULL) || !osc_utf8_valid(osc_buf_view(&text)))
                abort();
        }
        if (t.type == OSC_JSON_NUMBER && t.text.len <= 1000 && !osc_json_f64(&t, &number))
            abort();
        if (t.offset > size)
            abort();
    } while (t.type != OSC_JSON_END && t.type != OSC_JSON_ERROR);
    /* one value skipped whole ends the same way as one value walked */
    bool skipped = osc_json_skip_value(&skipper, NULL);
    bool whole = skipped && osc_json_next(&skipper).type == OSC_JSON_END;
    if (whole != (t.type == OSC_JSON_END))
        abort();
    osc_buf_free(&text);
    return 0;
}
