"""Says whether this interpreter's environment satisfies a pinned requirements file: exit 0 if so.

Reads package metadata only; importing torch to ask its version takes seconds.
"""
import importlib.metadata
import os
import sys
import sysconfig


def main() -> int:
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        print("no Python.h for this interpreter")
        return 1
    missing = []
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            name, _, wanted = line.split("#")[0].strip().partition("==")
            if not name:
                continue
            try:
                # a local suffix such as +cpu names a build of the same version
                found = importlib.metadata.version(name).split("+")[0]
            except importlib.metadata.PackageNotFoundError:
                found = "none"
            if found != wanted:
                missing.append(f"{name} {wanted} (found {found})")
    if missing:
        print("missing: " + ", ".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
