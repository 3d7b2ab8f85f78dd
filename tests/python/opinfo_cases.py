"""One shard of PyTorch's operator database (op_db): forward values on `neuron` against the CPU.

Run by opinfo_sweep.py, in a subprocess, because one crash would end the run. Each case runs all sample
inputs of an operator on both devices, demands equal values, and that results of device operands are on
the device. Environment: OPINFO_SHARD=k/n, OPINFO_DTYPE (float32), OPINFO_SKIP=test,test (done already).

A sample that names the device asks the CPU's run for "cpu" instead. Every other exclusion stands in
opinfo_exclude.txt.
"""
import os

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.utils._pytree import tree_map

SHARD, SHARDS = (int(n) for n in os.environ.get("OPINFO_SHARD", "0/1").split("/"))
DTYPE = getattr(torch, os.environ.get("OPINFO_DTYPE", "float32"))
DONE = set(filter(None, os.environ.get("OPINFO_SKIP", "").split(",")))
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(DTYPE, 0)
CASES = [op for i, op in enumerate(op_db) if i % SHARDS == SHARD]


def to_cpu(x):
    return x.detach().cpu() if isinstance(x, torch.Tensor) else x


def on_cpu(kwargs):
    """Keyword arguments for the CPU's run."""
    kwargs = tree_map(to_cpu, kwargs)
    return {**kwargs, "device": "cpu"} if "device" in kwargs else kwargs


class TestNeuron(TestCase):
    def setUp(self):
        super().setUp()
        if self._testMethodName in DONE:
            self.skipTest("done")

    @ops(CASES, allowed_dtypes=(DTYPE,))
    def test_consistency(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            # Operands first: an operator may write into its own.
            args, kwargs = tree_map(to_cpu, sample.args), on_cpu(sample.kwargs)
            want = op(tree_map(to_cpu, sample.input), *args, **kwargs)
            got = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(tree_map(to_cpu, got), want, atol=TOLERANCE, rtol=TOLERANCE)
            asked = torch.device(sample.kwargs.get("device") or device).type
            if isinstance(got, torch.Tensor) and (isinstance(sample.input, torch.Tensor) or "device" in sample.kwargs):
                self.assertEqual(got.device.type, asked)


instantiate_device_type_tests(TestNeuron, globals(), only_for=("privateuse1",))
if __name__ == "__main__":
    run_tests()
