#!/usr/bin/env python3
"""Draws a terminal's output as an SVG picture that is text: small, searchable, readable on dark and light pages.

    opscope follow run aten::mul --color always --no-pager |
        tools/terminal_picture.py --command 'opscope follow run aten::mul' --output docs/images/follow.svg

Understands bold, dim and the eight colours of SGR escapes; other escapes are dropped. Columns stay
aligned in any monospace font, because each piece of a line is given its place and length. Rejected: a
screenshot, which is large, blurs, and shows one background only.
"""
import argparse
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

CELL, LINE, SIZE, MARGIN = 7.8, 18, 13, 14  # pixels: character, line, font, border
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

# class: (on light, on dark); contrast of at least 4.5 with the panel behind
PALETTE = {
    "panel": ("#f6f8fa", "#161b22"),
    "text": ("#1f2328", "#e6edf3"),
    "frame": ("#d1d9e0", "#3d444d"),
    "prompt": ("#0550ae", "#79c0ff"),
    "black": ("#1f2328", "#9198a1"),
    "red": ("#b31d28", "#ff7b72"),
    "green": ("#116329", "#7ee787"),
    "yellow": ("#7d4e00", "#e3b341"),
    "blue": ("#0550ae", "#79c0ff"),
    "magenta": ("#8250df", "#d2a8ff"),
    "cyan": ("#0b5c66", "#76e3ea"),
    "white": ("#59636e", "#e6edf3"),
}


class Style:
    """What SGR codes have switched on so far."""

    def __init__(self):
        self.bold = self.dim = False
        self.colour = None

    def take(self, codes):
        for code in [int(c or 0) for c in codes.split(";")]:
            if code == 0:
                self.__init__()
            elif code in (1, 2):
                self.bold, self.dim = self.bold or code == 1, self.dim or code == 2
            elif code == 22:
                self.bold = self.dim = False
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.colour = COLOURS[code % 10]
            elif code == 39:
                self.colour = None

    def classes(self):
        names = [self.colour or "", "bold" if self.bold else "", "dim" if self.dim else ""]
        return " ".join(filter(None, names))


def pieces(text):
    """Lines of (first column, text, classes); a piece holds no leading or trailing blanks."""
    style, lines = Style(), []
    for line in text.expandtabs(8).splitlines():
        column, row = 0, []
        for i, part in enumerate(SGR.split(line)):
            if i % 2:
                style.take(part)
                continue
            part = OTHER_ESCAPE.sub("", part)
            for word in re.finditer(r"\S+(?: \S+)*", part):  # runs with single blanks inside
                row.append((column + word.start(), word.group(), style.classes()))
            column += len(part)
        lines.append(row)
    return lines


def rules(used):
    """CSS for both backgrounds, of the classes that occur."""
    def block(side):
        return "".join(f".{name}{{{'fill:none;stroke' if name == 'frame' else 'fill'}:{colours[side]}}}"
                       for name, colours in PALETTE.items() if name in used)

    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    return (f"text{{font:{SIZE}px {font};white-space:pre}}.bold{{font-weight:700}}.dim{{opacity:.7}}"
            f"{block(0)}@media(prefers-color-scheme:dark){{{block(1)}}}")


def draw(text, command=None):
    """The picture of a text; with `command`, a prompt line above it."""
    lines = pieces(text)
    if command:
        lines = [[(0, "$", "prompt bold"), (2, command, "bold")], []] + lines
    used = {"panel", "frame", "text", *(name for row in lines for _, _, names in row for name in names.split())}
    columns = max((column + len(piece) for row in lines for column, piece, _ in row), default=1)
    width, height = round(columns * CELL) + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img">', f"<title>{escape(command or 'terminal output')}</title>", f"<style>{rules(used)}</style>",
           f'<rect class="panel" width="{width}" height="{height}" rx="8"/>',
           f'<rect class="frame" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>']
    for number, row in enumerate(lines):
        y = MARGIN + number * LINE + SIZE
        for column, piece, classes in row:
            x, length = MARGIN + column * CELL, len(piece) * CELL
            names = quoteattr(classes if any(c in PALETTE for c in classes.split()) else f"text {classes}".strip())
            out.append(f'<text class={names} x="{x:.1f}" y="{y}" textLength="{length:.1f}">{escape(piece)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", help="shown as the line that was typed")
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    args = parser.parse_args()
    text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    if not text:
        parser.error("nothing came on standard input")
    picture = draw(text, args.command)
    if args.output is None:
        sys.stdout.write(picture)
        return 0
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
