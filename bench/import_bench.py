"""What the adapter adds to `import torch`: CPU time of fresh interpreters with and without autoload.

Alternates the two, takes the best of each. Limit: 15 %.
"""
import argparse
import json
import os
import resource
import subprocess
import sys

LIMIT_PERCENT = 15.0


def cpu_seconds(autoload):
    env = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="1" if autoload else "0")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import torch"], env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cpu_seconds(True)  # files into the page cache, bytecode written
    plain, loaded = [], []
    for _ in range(args.rounds):
        plain.append(cpu_seconds(False))
        loaded.append(cpu_seconds(True))
    added = 100 * (min(loaded) / min(plain) - 1)
    result = {"torch_s": round(min(plain), 3), "with_adapter_s": round(min(loaded), 3),
              "added_percent": round(added, 1), "limit_percent": LIMIT_PERCENT}
    if args.json:
        print(json.dumps(result))
    else:
        print(f"import torch {result['torch_s']} s, with the adapter {result['with_adapter_s']} s: "
              f"{result['added_percent']:+} %  (limit {LIMIT_PERCENT:.0f} %)")
    return 0 if added <= LIMIT_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
