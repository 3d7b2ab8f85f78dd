"""Prints `torch folder;Python include folder;extension suffix` for CMake, without importing torch."""
import importlib.util
import os
import sys
import sysconfig


def main() -> int:
    spec = importlib.util.find_spec("torch")
    include = sysconfig.get_paths()["include"]
    if spec is None or not spec.origin or not os.path.exists(os.path.join(include, "Python.h")):
        return 1
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    print(os.path.dirname(spec.origin), include, suffix, sep=";", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
