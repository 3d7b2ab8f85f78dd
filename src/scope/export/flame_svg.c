/*
 * flame_svg.c - a flame graph as one SVG file: boxes, names, titles, and a style for light and
 * dark.
 *
 * No script: the picture opens in a browser, an image viewer or a README alike. Hovering over a box
 * shows its title, which browsers do by themselves.
 */
#include "scope/export/flame.h"

#include "base/hash.h"
#include "base/mem.h"
#include "scope/analysis/say.h"

#define WIDTH     1200.0 /* of the whole, in pixels */
#define MARGIN    10.0
#define TOP       40u /* for the heading */
#define BOX       17u /* height of a level */
#define GLYPH     6.7 /* width of a character of the style below */
#define NARROWEST 0.2

struct picture {
    const osc_flame *flame;
    osc_buf *out;
    double *left; /* [depth]: value at which the next box of a level begins */
    uint32_t cap, deepest;
    uint64_t hidden; /* boxes too narrow to draw */
};

/* Text between tags: markup escaped, control characters and broken UTF-8 replaced. */
static void put_text(osc_str text, osc_buf *out)
{
    for (size_t at = 0; at < text.len;) {
        uint32_t c = osc_utf8_next(text, &at);
        char bytes[4];
        if (c == '<')
            osc_buf_cstr(out, "&lt;");
        else if (c == '>')
            osc_buf_cstr(out, "&gt;");
        else if (c == '&')
            osc_buf_cstr(out, "&amp;");
        else if (c < 0x20 || c == 0x7f || c == 0xfffe || c == 0xffff)
            osc_buf_putc(out, ' ');
        else
            osc_buf_append(out, bytes, osc_utf8_put(c, bytes));
    }
}

/* The first columns characters of a name, two dots at the end when it is longer. */
static void put_label(osc_str name, size_t columns, osc_buf *out)
{
    size_t at = 0, cut = 0;
    for (size_t n = 0; at < name.len && n < columns; n++) {
        (void)osc_utf8_next(name, &at);
        cut = n + 2 < columns ? at : cut;
    }
    if (at == name.len) {
        put_text(name, out);
        return;
    }
    put_text(osc_str_sub(name, 0, cut), out);
    osc_buf_cstr(out, "..");
}

static void put_value(const osc_flame *flame, int64_t value, osc_buf *out)
{
    char text[OSC_SAY_TEXT];
    if (*osc_flame_unit(flame) == 'n') {
        osc_buf_cstr(out, osc_say_ns(value, text));
    } else {
        osc_buf_printf(out, "%lld calls", (long long)value);
    }
}

/* Hue by kind, shade by name, so that a function has one colour wherever it is. */
static void put_colour(const osc_flame_node *n, osc_buf *out)
{
    static const unsigned hues[] = {210, 35, 140};
    uint64_t hash = osc_hash64(n->name.ptr, n->name.len, 0);
    osc_buf_printf(out, "hsl(%u,%u%%,%u%%)", (unsigned)(hues[n->kind] + hash % 16),
                   (unsigned)(60 + (hash >> 8) % 25), (unsigned)(66 + (hash >> 16) % 14));
}

static void put_box(const struct picture *p, const osc_flame_node *n, double x, double width)
{
    double share = (double)n->total / (double)osc_flame_facts_of(p->flame)->total;
    unsigned y = TOP + n->depth * BOX;
    size_t columns = (size_t)((width - 4) > 0 ? (width - 4) / GLYPH : 0);
    osc_buf_printf(p->out, "<g><title>");
    put_text(n->said, p->out);
    osc_buf_cstr(p->out, "\n");
    put_value(p->flame, n->total, p->out);
    osc_buf_printf(p->out, ", %.2f %%", share * 100);
    if (n->self > 0 && n->self < n->total) {
        osc_buf_cstr(p->out, "; itself ");
        put_value(p->flame, n->self, p->out);
    }
    osc_buf_printf(p->out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"",
                   x, y, width, BOX - 1);
    put_colour(n, p->out);
    osc_buf_cstr(p->out, "\"/>");
    if (columns >= 3) {
        osc_buf_printf(p->out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
        put_label(n->said, columns, p->out);
        osc_buf_cstr(p->out, "</text>");
    }
    osc_buf_cstr(p->out, "</g>\n");
}

/* Room for the levels down to depth + 1. */
static bool reach(struct picture *p, uint32_t depth)
{
    if (depth + 1 < p->cap)
        return true;
    uint32_t cap = p->cap ? p->cap * 2 : 64;
    double *grown = osc_realloc_array(p->left, cap, sizeof *grown);
    if (!grown)
        return false;
    p->left = grown;
    p->cap = cap;
    return true;
}

static double pixels_per_value(const struct picture *p)
{
    int64_t total = osc_flame_facts_of(p->flame)->total;
    return (WIDTH - 2 * MARGIN) / (double)(total > 0 ? total : 1);
}

static bool put_boxes(struct picture *p)
{
    const osc_flame_facts *f = osc_flame_facts_of(p->flame);
    double scale = pixels_per_value(p);
    for (uint32_t i = 0; i < f->nodes; i++) {
        osc_flame_node n = osc_flame_at(p->flame, i);
        if (!reach(p, n.depth))
            return false;
        double x = i > 0 ? p->left[n.depth] : 0, width = (double)n.total * scale;
        p->left[n.depth] = x + (double)n.total;
        p->left[n.depth + 1] = x;
        if (width >= NARROWEST)
            put_box(p, &n, MARGIN + x * scale, width);
    }
    return true;
}

static void put_head(const struct picture *p, osc_str title, unsigned height)
{
    osc_buf_printf(p->out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
                   "viewBox=\"0 0 %.0f %u\">\n",
                   WIDTH, height, WIDTH, height);
    osc_buf_cstr(p->out,
                 "<style>text{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
                 "fill:#111}.h{font:14px sans-serif;fill:#222}.s{font:12px sans-serif;fill:#666}"
                 "svg{background:#fff}g:hover rect{stroke:#000;stroke-width:1}"
                 "@media(prefers-color-scheme:dark){svg{background:#181818}.h{fill:#eee}"
                 ".s{fill:#aaa}g:hover rect{stroke:#fff}}</style>\n");
    osc_buf_printf(p->out, "<text class=\"h\" x=\"%.0f\" y=\"18\">", MARGIN);
    put_text(title, p->out);
    osc_buf_printf(p->out, "</text>\n<text class=\"s\" x=\"%.0f\" y=\"33\">", MARGIN);
    put_value(p->flame, osc_flame_facts_of(p->flame)->total, p->out);
    if (p->hidden > 0)
        osc_buf_printf(p->out, "; %llu boxes are too narrow to draw",
                       (unsigned long long)p->hidden);
    osc_buf_cstr(p->out, "</text>\n");
}

/* The deepest level that is drawn; counts what is not. */
static void measure(struct picture *p)
{
    const osc_flame_facts *f = osc_flame_facts_of(p->flame);
    double scale = pixels_per_value(p);
    for (uint32_t i = 0; i < f->nodes; i++) {
        osc_flame_node n = osc_flame_at(p->flame, i);
        if ((double)n.total * scale < NARROWEST)
            p->hidden++;
        else
            p->deepest = n.depth > p->deepest ? n.depth : p->deepest;
    }
}

void osc_export_flame_svg(const osc_flame *flame, osc_str title, osc_buf *out)
{
    struct picture p = {.flame = flame, .out = out};
    measure(&p);
    put_head(&p, title, TOP + (p.deepest + 1) * BOX + (unsigned)MARGIN);
    if (!put_boxes(&p))
        out->failed = true;
    osc_buf_cstr(out, "</svg>\n");
    osc_free(p.left);
}
