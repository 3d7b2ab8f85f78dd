/*
 * flame.c - folded stacks; see flame.h. The picture is in flame_svg.c.
 */
#include "scope/export/flame.h"

void osc_export_folded(const osc_flame *flame, bool nanoseconds, osc_buf *out)
{
    bool times = *osc_flame_unit(flame) == 'n';
    int64_t scale = times && !nanoseconds ? 1000 : 1, rest = 0;
    osc_flame_path path = {0};
    osc_flame_node n;
    for (uint32_t i = 0; i < osc_flame_facts_of(flame)->nodes; i++) {
        if (!osc_flame_path_to(&path, flame, i, &n)) {
            out->failed = true;
            break;
        }
        rest += n.self % scale; /* below 2 * scale */
        int64_t value = n.self / scale + rest / scale;
        rest %= scale;
        if (value > 0) {
            osc_buf_str(out, osc_buf_view(&path.text));
            osc_buf_printf(out, " %lld\n", (long long)value);
        }
    }
    osc_flame_path_free(&path);
}

/* PyTorch's line: outermost first, while the text of a stack is innermost first, one frame a
 * line. */
static void put_reversed(osc_str stack, osc_buf *out)
{
    for (;;) {
        size_t line = osc_str_rfind_char(stack, '\n');
        osc_flame_clean(osc_str_sub(stack, line == SIZE_MAX ? 0 : line + 1, SIZE_MAX), out);
        if (line == SIZE_MAX)
            return;
        osc_buf_putc(out, ';');
        stack = osc_str_sub(stack, 0, line);
    }
}

void osc_export_torch_stacks(const osc_torch_stacks *stacks, osc_buf *out)
{
    for (uint32_t i = 0; i < stacks->count; i++) {
        put_reversed(osc_call_stacks_text(&stacks->texts, stacks->lines[i].stack), out);
        osc_buf_printf(out, " %lld\n", (long long)stacks->lines[i].value_us);
    }
}
