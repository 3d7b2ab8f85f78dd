#!/usr/bin/env python3
"""Prints the longest functions and files, and checks the limits that are mechanical (style rules 5, 6, 9, 25).

Lengths are shown for review and fail nothing, except a source file above 1,000 lines, a header of src or
include above 250 and a banned function. With --check only the breaches are printed.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANNED = re.compile(r"\b(gets|strcpy|strcat|sprintf|strtok|strncpy|atoi|alloca|localtime|system)\s*\(")


def sources():
    for folder in ("src", "include", "tests", "python/csrc", "bench", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".cpp"} and ".venv" not in path.parts:
                yield path


def functions(lines):
    """(name line, length) of each function: from its first line to the closing brace in column 0."""
    start = None
    for i, line in enumerate(lines):
        if line == "{" and i > 0:
            start = i - 1
            while start > 0 and lines[start][:1] in (" ", "\t"):
                start -= 1
        elif line == "}" and start is not None:
            yield lines[start], i - start + 1
            start = None


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"|//[^\n]*', "", text)


def breaches(path, text, count):
    name = path.relative_to(ROOT).as_posix()
    # headers of tests and of the extension hold code (samples, templates), not interfaces
    interface = path.suffix == ".h" and name.startswith(("src/", "include/"))
    limit = 250 if interface else 1000
    if count > limit:
        yield f"{name}: {count} lines, split it (at most {limit:,})"
    if path.suffix == ".h" and not re.search(r"^#ifndef \w+_H\b|^#pragma once", text, flags=re.M):
        yield f"{name}: no include guard"
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        match = BANNED.search(line)
        if match and name.startswith(("src/", "include/")):
            yield f"{name}:{number}: {match.group(1)} is banned"


def main():
    only_check = "--check" in sys.argv[1:]
    files, long_functions, faults = [], [], []
    for path in sources():
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n")
        files.append((len(lines) - 1, path.relative_to(ROOT).as_posix()))
        faults += breaches(path, text, len(lines) - 1)
        for first, length in functions(lines):
            match = re.search(r"(\w+)\s*\(", first)
            long_functions.append((length, match.group(1) if match else first, files[-1][1]))
    if not only_check:
        print("longest functions")
        for length, name, path in sorted(long_functions, reverse=True)[:10]:
            print(f"  {length:5}  {name}  {path}")
        print("longest files")
        for length, path in sorted(files, reverse=True)[:10]:
            print(f"  {length:5}  {path}")
        lengths = sorted(f[0] for f in long_functions)
        if lengths:
            print(f"functions: {len(lengths)}, median {lengths[len(lengths) // 2]}, "
                  f"90 % at most {lengths[len(lengths) * 9 // 10]}")
    for fault in faults:
        print(fault)
    print(f"style: {len(faults)} breach{'' if len(faults) == 1 else 'es'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
