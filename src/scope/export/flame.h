/*
 * flame.h - stacks as text for flame-graph tools, and as a picture.
 */
#ifndef OSC_EXPORT_FLAME_H
#define OSC_EXPORT_FLAME_H

#include "base/buf.h"
#include "scope/analysis/flame.h"
#include "scope/analysis/torch_stacks.h"

/*
 * Folded stacks, one line per stack with a value: "root;child;leaf 12". Times are whole
 * microseconds, or nanoseconds when so asked. Rounding to microseconds carries over from line to
 * line, so that the sum of all lines is that of the tree, rounded down; a line that comes to 0 is
 * left out.
 */
void osc_export_folded(const osc_flame *flame, bool nanoseconds, osc_buf *out);

/*
 * A flame graph as an SVG that needs nothing else: outermost calls on top, width by value, each box
 * with its full name and figures as a title. Boxes narrower than a fifth of a pixel are left out,
 * which the picture says. title may hold anything.
 */
void osc_export_flame_svg(const osc_flame *flame, osc_str title, osc_buf *out);

/* The text of PyTorch's export_stacks(). */
void osc_export_torch_stacks(const osc_torch_stacks *stacks, osc_buf *out);

#endif
