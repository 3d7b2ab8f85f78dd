/* progress.c - see progress.h. */
#include "cli/progress.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "scope/export/export.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_NS     ((int64_t)500000000) /* shorter work needs no progress */
#define AGAIN_NS     ((int64_t)100000000)
#define WHAT_COLUMNS 30u

static bool can_erase(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) != 0 && term && term[0] && strcmp(term, "dumb") != 0;
}

void osc_progress_begin(osc_progress *p, const char *what)
{
    *p = (osc_progress){.what = what, .begin_ns = osc_mono_ns(), .on = can_erase()};
}

static void put_line(osc_buf *out, const osc_progress *p, double seconds, uint64_t done,
                     uint64_t all, uint64_t events)
{
    double rate = (double)done / seconds;
    char text[OSC_NUM_TEXT];
    if (p->what) {
        (void)osc_export_cut(osc_str_from_cstr(p->what), WHAT_COLUMNS, out);
        osc_buf_cstr(out, "  ");
    }
    if (all >= done && all > 0)
        osc_buf_printf(out, "%3.0f %%  ", 100.0 * (double)done / (double)all);
    osc_buf_printf(out, "%s  ", osc_format_bytes(done, text));
    osc_buf_printf(out, "%s/s", osc_format_bytes((uint64_t)rate, text));
    if (events > 0)
        osc_buf_printf(out, "  %s events", osc_format_count((int64_t)events, text));
    if (all >= done && rate > 0)
        osc_buf_printf(out, "  %.0f s left", (double)(all - done) / rate);
}

static void write_out(const osc_buf *line)
{
    /* a line that cannot be drawn is no reason to stop the work */
    if (!line->failed && write(STDERR_FILENO, line->data, line->len) < 0)
        return;
}

void osc_progress_draw(void *context, uint64_t done, uint64_t all, uint64_t events)
{
    osc_progress *p = context;
    int64_t now = osc_mono_ns();
    assert(p->begin_ns > 0);
    if (!p->on || now - p->begin_ns < FIRST_NS || (p->drawn_ns && now - p->drawn_ns < AGAIN_NS))
        return;
    osc_buf line;
    osc_buf_init(&line, 1024);
    osc_buf_cstr(&line, "\r");
    put_line(&line, p, (double)(now - p->begin_ns) / 1e9, done, all, events);
    osc_buf_cstr(&line, "\033[K");
    write_out(&line);
    osc_buf_free(&line);
    p->drawn_ns = now;
}

void osc_progress_end(osc_progress *p)
{
    osc_buf line;
    if (!p->drawn_ns)
        return;
    osc_buf_init(&line, 16);
    osc_buf_cstr(&line, "\r\033[K");
    write_out(&line);
    osc_buf_free(&line);
    p->drawn_ns = 0;
}
