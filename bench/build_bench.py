"""Wall time of a clean build of everything (program, libraries, tests, PyTorch extension) on this machine's cores."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 300


def main() -> int:
    with tempfile.TemporaryDirectory() as build:
        start = time.monotonic()
        for command in (["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", build, f"-DOSC_PYTHON={sys.executable}",
                         f"-DOSC_PYTHON_OUTPUT={build}/python"],
                        ["cmake", "--build", build]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
    print(f"clean build on {os.cpu_count()} cores   {seconds:.0f} s   limit {LIMIT_S} s")
    return 0 if seconds < LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
