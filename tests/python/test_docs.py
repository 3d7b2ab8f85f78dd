"""The documentation agrees with the tree: links, paths, C names, the glossary's list of files, the pictures.

With OPSCOPE_REGEN_DOCS=1 in the environment the generated regions (the glossary's list, the walkthrough's figures
in docs/model.md) are rewritten instead of compared. Only the latter needs torch and a build.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REGENERATE = os.environ.get("OPSCOPE_REGEN_DOCS") == "1"
FOLDERS = ("src", "include", "python", "tools", "bench", "examples")
SUFFIXES = {".c", ".h", ".cpp", ".py", ".sh"}
NOT_OURS = {".git", ".venv", "build", "dist", "node_modules", "__pycache__", ".pytest_cache"}
#: Names that the how-to pages make up.
EXAMPLES = re.compile(r"lanes|softshrink|<\w+>", re.IGNORECASE)


def is_ours(path):
    parts = path.relative_to(ROOT).parts
    return not any(part in NOT_OURS or part.endswith(".egg-info") for part in parts)


def sources():
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    ours = (p for p in found if p.suffix in SUFFIXES and p.is_file() and is_ours(p))
    return sorted(ours, key=lambda p: (p.parent, p.name))


def pages():
    return sorted(p for p in ROOT.rglob("*.md") if is_ours(p))


# ---- what a file says of itself ----


def leading_comment(path, text):
    """Text of the first comment or docstring, without its marks; "" when there is none."""
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    if path.suffix == ".sh":
        lines = re.match(r"(?:#!.*\n)?((?:#.*\n)*)", text)[1]
        return re.sub(r"^# ?", "", lines, flags=re.M)
    block = re.match(r"\s*/\*(.*?)\*/", text, flags=re.S)
    if block:
        return re.sub(r"^[ \t]*\*? ?", "", block[1], flags=re.M)
    lines = re.match(r"\s*((?://.*\n)*)", text)[1]
    return re.sub(r"^// ?", "", lines, flags=re.M)


def sentence(path):
    """First sentence of the file's first comment, without the file's name; a body takes its header's."""
    comment = leading_comment(path, path.read_text(encoding="utf-8")).strip()
    if not comment:
        header = path.with_suffix(".h")
        return sentence(header) if path.suffix in {".c", ".cpp"} and header.exists() else ""
    paragraph = " ".join(re.split(r"\n\s*\n", comment)[0].split())
    paragraph = re.sub(r"^[\w./-]+\.(?:c|h|cpp|py|sh) - ", "", paragraph)
    first = re.split(r"(?<=[^.][.:])\s+(?=[A-Z`\"(*]|$)", paragraph + " ")[0]
    return first.strip().rstrip(".:")


def generated_list():
    out, folder = [], None
    for path in sources():
        here = path.parent.relative_to(ROOT).as_posix()
        if here != folder:
            out.append(f"\n### {here}\n\n| file | what it is |\n|---|---|\n")
            folder = here
        out.append(f"| `{path.name}` | {sentence(path).replace('|', chr(92) + '|')} |\n")
    return "".join(out) + "\n"


def test_every_source_file_begins_with_what_it_is_for():
    silent = [p.relative_to(ROOT).as_posix() for p in sources() if not sentence(p)]
    assert not silent, "a first comment is missing in " + ", ".join(silent)


def compare_region(page, name, wanted):
    """The text between the markers of a generated region is `wanted`; rewritten instead when so asked."""
    begin, end = f"<!-- begin generated: {name} -->\n", f"<!-- end generated: {name} -->\n"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    present, after = rest.split(end)
    if REGENERATE:
        page.write_text(before + begin + wanted + end + after, encoding="utf-8")
        return
    differ = sorted(set(wanted.splitlines()) ^ set(present.splitlines()))
    assert present == wanted, (f"{page.relative_to(ROOT)} is not up to date; run tests/python/test_docs.py with "
                               f"OPSCOPE_REGEN_DOCS=1. First: {' / '.join(differ[:4])}")


def test_the_glossary_lists_every_source_file():
    compare_region(ROOT / "docs/glossary.md", "files", generated_list())


def test_the_model_page_shows_what_the_benchmark_prints():
    if not (ROOT / "build/opscope").exists():
        pytest.skip("build/opscope is not there: make build")
    run = subprocess.run([sys.executable, ROOT / "bench/walkthrough_bench.py"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    compare_region(ROOT / "docs/model.md", "walkthrough", f"```\n{run.stdout}```\n")


# ---- links, paths and names ----

FENCE = re.compile(r"^(```|~~~).*?^\1", flags=re.M | re.S)
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
CODE = re.compile(r"`([^`\n]+)`")


def prose(page):
    """The page without fenced and indented code."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"^(?: {4,}|\t).*$", "", text, flags=re.M)


def anchors(page):
    """What a #fragment of this page may be, as code hosts make them from headings."""
    names = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        names.add(slug)
    return names


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_relative_links_resolve(page):
    broken = []
    for target in LINK.findall(CODE.sub("", prose(page))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, fragment = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists():
            broken.append(target)
        elif fragment and there.suffix == ".md" and fragment not in anchors(there):
            broken.append(f"{target} (no such heading)")
    assert not broken, f"{page.relative_to(ROOT)}: " + ", ".join(broken)


OUR_PAGES = [p for p in pages() if p.parent != ROOT or p.name == "README.md"]
PATH = re.compile(r"^(?:src|include|python|tools|tests|bench|docs|examples|cmake)/[\w./*-]+$")


@pytest.mark.parametrize("page", OUR_PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_paths_in_the_text_exist(page):
    gone = []
    for code in CODE.findall(prose(page)):
        for word in code.split():
            word = word.rstrip(".,:;")
            if PATH.match(word) and not EXAMPLES.search(word) and not any(ROOT.glob(word.rstrip("/"))):
                gone.append(word)
    assert not gone, f"{page.relative_to(ROOT)} names files that do not exist: " + ", ".join(gone)


def c_text():
    roots = [ROOT / "src", ROOT / "include", ROOT / "python/csrc"]
    text = "\n".join(p.read_text(encoding="utf-8") for p in sources() if any(r in p.parents for r in roots))
    rows = re.findall(r"^\s*T\((\w+), ", (ROOT / "src/scope/store/schema.h").read_text(encoding="utf-8"), flags=re.M)
    made = [form.format(row) for row in rows for form in ("osc_store_{}", "osc_store_add_{}", "osc_{}_row", "osc_{}_cols")]
    text += "".join(p.read_text(encoding="utf-8") for p in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    return set(re.findall(r"\b(?:osc|dev|OSC|DEV)_\w+", text)) | set(made)


def test_c_names_in_the_text_exist():
    known, unknown = c_text(), []
    for page in OUR_PAGES:
        for name in re.findall(r"\b(?:osc|dev|OSC|DEV)_\w+\b(?!\*|<)", page.read_text(encoding="utf-8")):
            if name not in known and not name.endswith("_") and not EXAMPLES.search(name):
                unknown.append(f"{page.relative_to(ROOT)}: {name}")
    assert not unknown, "\n".join(unknown)


def test_pages_name_no_machine():
    for page in pages():
        found = re.findall(r"(?<![\w.])/(?:work|root|home)/\S*", page.read_text(encoding="utf-8"))
        assert not found, f"{page.relative_to(ROOT)}: {found}"


# ---- pictures ----

SVG = "{http://www.w3.org/2000/svg}"


def terminal_picture():
    spec = importlib.util.spec_from_file_location("terminal_picture", ROOT / "tools/terminal_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(svg):
    """The picture's text, line by line, columns restored from the pieces' places."""
    cell, margin = terminal_picture().CELL, terminal_picture().MARGIN
    rows = {}
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        column = round((float(element.get("x")) - margin) / cell)
        row = rows.setdefault(int(element.get("y")), "")
        rows[int(element.get("y"))] = row.ljust(column) + element.text
    return [rows[y] for y in sorted(rows)]


def test_a_picture_keeps_text_columns_and_styles():
    tool = terminal_picture()
    svg = tool.draw("a   <b> & c\n\x1b[1m  bold\x1b[0m \x1b[31mred\x1b[0m\x1b]0;title\x07\n", command="show it")
    assert lines_of(svg) == ["$ show it", "a   <b> & c", "  bold red"]
    styles = {e.text: e.get("class") for e in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert styles["bold"] == "text bold" and styles["red"] == "red" and styles["$"] == "prompt bold"
    assert "prefers-color-scheme:dark" in svg


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/images").glob("*.svg")), ids=lambda p: p.name)
def test_pictures_are_plain_and_terminals_fit(picture):
    svg = picture.read_text(encoding="utf-8")
    assert not re.search(r"href|@import|url\(|<script|<image", svg)
    ElementTree.fromstring(svg)
    if 'class="panel"' in svg:  # what tools/terminal_picture.py draws
        assert max(map(len, lines_of(svg))) <= 80
