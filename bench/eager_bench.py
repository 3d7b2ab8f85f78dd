"""Cost of one eager operator to the calling thread: device against CPU, profiler off and on.

Thread CPU time of batches of 500 `x * y`, best of 40, so that queueing for a loaded machine's cores does
not count. Limits: 2.2x CPU eager without a profiler, 3x with. The batches are drained between timings,
which the caller pays for outside the clock.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import torch

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # no notes of Kineto between the figures
BATCH, ROUNDS, WARMUP = 500, 40, 3


def best(x, y, drain):
    """Lowest thread CPU time of one operator, microseconds."""
    lowest = float("inf")
    for round_ in range(ROUNDS + WARMUP):
        start = time.thread_time_ns()
        for _ in range(BATCH):
            x * y
        spent = time.thread_time_ns() - start
        drain()
        if round_ >= WARMUP:
            lowest = min(lowest, spent)
    return lowest / BATCH / 1000


def profiled(x, y, drain):
    """The same under torch.profiler; on the device with a full capture to files."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1]
    if not x.is_neuron:
        with torch.profiler.profile(activities=activities[:1]):
            return best(x, y, drain)
    from torch_neuronx.profiling import NeuronConfig

    with tempfile.TemporaryDirectory() as output:
        config = NeuronConfig(profile_output_dir=output, correlate_device_time=True)
        with torch.profiler.profile(activities=activities, experimental_config=config):
            return best(x, y, drain)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-profiler", action="store_true", help="only the figures without a profiler")
    args = parser.parse_args()
    torch.set_num_threads(1)
    result = {}
    for shape, dtype in (((1, 1), torch.float32), ((4, 512), torch.bfloat16)):
        on_cpu = (torch.ones(shape, dtype=dtype), torch.ones(shape, dtype=dtype))
        on_device = tuple(t.to("neuron") for t in on_cpu)
        runs = {"off": best} if args.no_profiler else {"off": best, "on": profiled}
        for mode, measure in runs.items():
            cpu = measure(*on_cpu, lambda: None)
            device = measure(*on_device, torch.neuron.synchronize)
            result[f"mul {'x'.join(map(str, shape))} {str(dtype)[6:]}, profiler {mode}"] = {
                "cpu_us": round(cpu, 3), "device_us": round(device, 3), "ratio": round(device / cpu, 2),
                "limit": 2.2 if mode == "off" else 3.0,
            }
    good = all(r["ratio"] <= r["limit"] for r in result.values())
    if args.json:
        print(json.dumps(result, indent=1))
        return 0 if good else 1
    for name, r in result.items():
        print(f"{name:<40} cpu {r['cpu_us']:6.2f} us  device {r['device_us']:6.2f} us  "
              f"ratio {r['ratio']:.2f}  (limit {r['limit']})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
