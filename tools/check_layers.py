#!/usr/bin/env python3
"""Checks who includes whom. The table below is docs/design.md's rule as data; CI fails on a breach.

The two wings (src/neuron and src/scope) never include each other; they meet in files, through artifact.
Public headers: status, dtype and graph hold plain values and are open to every room; neuron.h is the
interface of the runtime and is open to runtime, cli and the outside only; trace.h that of room api.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# room: (folder under src, rooms it may include besides itself)
HALL = {"base", "isa", "artifact"}
ROOMS = {
    "base": ("base", set()),
    "isa": ("isa", {"base"}),
    "artifact": ("artifact", {"base", "isa"}),
    "device": ("neuron/device", HALL),
    "compiler": ("neuron/compiler", HALL),
    "runtime": ("neuron/runtime", HALL | {"device", "compiler"}),
    "store": ("scope/store", HALL),
    "read": ("scope/read", HALL | {"store"}),
    "analysis": ("scope/analysis", HALL | {"store", "read"}),
    "query": ("scope/query", HALL | {"store", "read", "analysis"}),
    "export": ("scope/export", HALL | {"store", "read", "analysis"}),
    "explorer": ("scope/explorer", HALL | {"store", "read", "analysis", "query", "export"}),
    "api": ("scope/api", HALL | {"store", "read", "analysis", "query", "export"}),
}
ROOMS["cli"] = ("cli", set(ROOMS))

# public header: rooms that may include it (None: all)
PUBLIC = {"status.h": None, "dtype.h": None, "graph.h": None, "trace.h": {"api", "cli"}}
PUBLIC_RUNTIME = {"runtime", "cli"}

# first path components that only the C core has; outside code must not reach for them
CORE_PREFIXES = {"base", "isa", "artifact", "neuron", "scope", "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    """(line number, quote or bracket, included path) of each #include of a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def room_of(relative):
    """Room of a path under src such as neuron/device/pe.c; None when no room owns it."""
    best = None
    for room, (folder, _) in ROOMS.items():
        if relative.startswith(folder + "/") and (best is None or len(folder) > len(ROOMS[best][0])):
            best = room
    return best


def check_public(room, name):
    """Reason why a room may not include opscope/<name>, or None."""
    if not (ROOT / "include/opscope" / name).exists():
        return "no such public header"
    allowed = PUBLIC.get(name, PUBLIC_RUNTIME)
    if allowed is not None and room not in allowed:
        return f"{room} may not include the runtime's public interface"
    return None


def check_core_include(room, target):
    """Reason why a file of `room` may not include "target", or None."""
    if target.startswith("opscope/"):
        return check_public(room, target[len("opscope/"):])
    other = room_of(target)
    if other is None:
        return "write the path from src/, e.g. \"base/buf.h\""
    if not (ROOT / "src" / target).exists():
        return "no such header"
    if other != room and other not in ROOMS[room][1]:
        return f"{room} may not include {other}"
    if other != room and target.endswith("_internal.h"):
        return f"internals of {other}"
    return None


def check_core(faults):
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        relative = path.relative_to(ROOT / "src").as_posix()
        room = room_of(relative)
        if room is None:
            faults.append(f"src/{relative}: in no room")
            continue
        for number, kind, target in includes(path):
            if kind == "<":
                reason = "project headers go in quotes" if room_of(target) else None
            else:
                reason = check_core_include(room, target)
            if reason:
                faults.append(f"src/{relative}:{number}: #include \"{target}\": {reason}")


def check_outside(faults):
    """Public headers and the extension see public headers, their own files, torch and the system."""
    for path in sorted((ROOT / "include").rglob("*.h")):
        for number, kind, target in includes(path):
            if kind == '"' and not target.startswith("opscope/"):
                faults.append(f"{path.relative_to(ROOT)}:{number}: #include \"{target}\": not public")
    csrc = ROOT / "python/csrc"
    for path in sorted(p for p in csrc.rglob("*") if p.suffix in {".cpp", ".h", ".hpp"}):
        for number, kind, target in includes(path):
            own = kind == '"' and ((path.parent / target).exists() or (csrc / target).exists())
            public = target.startswith("opscope/")
            core = target.split("/")[0] in CORE_PREFIXES and "/" in target
            if not (own or public) and (core or kind == '"'):
                faults.append(f"{path.relative_to(ROOT)}:{number}: #include {target}: "
                              "the extension uses include/opscope only")


def main():
    faults = []
    check_core(faults)
    check_outside(faults)
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} breach{'' if len(faults) == 1 else 'es'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
