"""Wrong use says what is wrong and what to do; odd values stay values."""
import math
import os
import subprocess
import sys
import textwrap

import pytest
import torch

import torch_neuronx

N = torch.device("neuron")


def in_process(code, **env):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, **env},
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.parametrize("index", [torch.neuron.device_count(), 100])
def test_wrong_device_index(index):
    with pytest.raises(RuntimeError, match=f"Invalid device id: {index}. Valid range is 0 to"):
        torch.empty(2, device=f"neuron:{index}")
    with pytest.raises(RuntimeError, match="Invalid device id"):
        torch.zeros(2).to(f"neuron:{index}")


SAME = "Expected all tensors to be on the same device"


@pytest.mark.parametrize(
    "use",
    [
        lambda d, c: d + c,
        lambda d, c: c + d,
        lambda d, c: d.mul_(c),
        lambda d, c: torch.where(d > 0, d, c),
        lambda d, c: torch.cat([d, c]),
        lambda d, c: d @ c,
        lambda d, c: torch.atan2(d, c),
        lambda d, c: torch.cross(d, c, dim=0),
        lambda d, c: torch.nn.functional.linear(d, c),
    ],
)
def test_mixed_devices(use):
    with pytest.raises(RuntimeError, match=SAME):
        use(torch.ones(3, 3, device=N), torch.ones(3, 3))


@pytest.mark.skipif(torch.neuron.device_count() < 2, reason="one device visible")
def test_mixed_device_indices():
    with pytest.raises(RuntimeError, match=SAME):
        torch.ones(3, device="neuron:0") + torch.ones(3, device="neuron:1")


def test_cpu_numbers_mix_with_device_tensors():
    x = torch.ones(3, device=N)
    assert torch.equal((x + torch.tensor(2)).cpu(), torch.full((3,), 3.0))
    assert torch.equal((torch.tensor(2.0) - x).cpu(), torch.ones(3))


def test_unsupported_layout_and_pinning():
    with pytest.raises(NotImplementedError, match="aten::empty.memory_format"):
        torch.empty(2, 2, device=N, layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(2, device=N, pin_memory=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex64])
def test_types_without_engine_support_still_give_right_values(dtype):
    x = torch.tensor([1, 2, 3]).to(dtype)
    assert torch.equal((x.to(N) * x.to(N)).cpu(), x * x)


def test_large_integers_are_exact():
    x = torch.tensor([2**53 + 1, -(2**62)])
    assert torch.equal((x.to(N) + 1).cpu(), x + 1)
    y = torch.tensor([16777217, 2**31 - 1, -(2**31)], dtype=torch.int32)
    assert torch.equal((y.to(N) + 0).cpu(), y)
    assert torch.equal((y.to(N) // 2).cpu(), y // 2)


def test_out_of_memory_is_clear_and_survived():
    in_process("""
        import torch
        kept = torch.ones(1000, device="neuron")
        try:
            torch.empty(64 << 20, dtype=torch.uint8, device="neuron")
        except torch.OutOfMemoryError as e:
            text = str(e)
            assert "neuron out of memory" in text and "67108864" in text.replace(",", ""), text
        else:
            raise AssertionError("allocation beyond the device's memory succeeded")
        assert torch.neuron.memory_stats()["num_ooms"] >= 1
        assert kept.sum().item() == 1000
        freed = torch.empty(8 << 20, dtype=torch.uint8, device="neuron")
    """, OPSCOPE_HBM_BYTES=str(32 << 20))


def test_nan_and_infinity_are_values():
    x = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-42, 3e38])
    d = x.to(N)
    for op in (
        lambda t: t + 1, lambda t: t * 2, lambda t: t * 0, lambda t: t.exp(), lambda t: t.abs(), lambda t: t == t,
        lambda t: t.isnan(), lambda t: torch.maximum(t, torch.zeros_like(t)), lambda t: t.relu(), lambda t: t.neg(),
        lambda t: t.reciprocal(), lambda t: t.sum(), lambda t: t.amax(), lambda t: t.sqrt(), lambda t: t.sigmoid(),
        lambda t: t.clamp(-1, 1), lambda t: t.softmax(0), lambda t: t.bfloat16(), lambda t: t.where(t > 0, t * 0),
    ):
        torch.testing.assert_close(op(d).cpu(), op(x), equal_nan=True)
    assert math.copysign(1, (d[4:5] * 1).item()) == -1


def test_overflow_of_a_fill_value():
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.empty(2, dtype=torch.int8, device=N).fill_(1000)


def test_later_features_say_so():
    with pytest.raises(NotImplementedError, match="torch.compile"):
        torch_neuronx.nki_op("ns::op", mutates_args={})
    with pytest.raises(NotImplementedError, match="torch.compile"):
        torch_neuronx.wrap_nki(print)


def test_distributed_says_so():
    in_process("""
        import torch, torch.distributed as dist
        store = dist.HashStore()
        try:
            dist.init_process_group("neuron", store=store, rank=0, world_size=1)
        except NotImplementedError as e:
            assert "gloo" in str(e)
        else:
            raise AssertionError("a process group came up")
    """)


def test_fallback_can_be_forbidden():
    in_process("""
        import torch
        x = torch.arange(3, device="neuron")
        try:
            x * x
        except RuntimeError as e:
            assert "CPU fallback disabled" in str(e), e
        else:
            raise AssertionError("int64 ran")
        torch.sort(x)  # has no kernel of its own, so it may fall back
    """, TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS="1")


def test_launch_blocking_works():
    in_process("""
        import torch
        x = torch.ones(10, device="neuron")
        assert (x * 2 + 1).sum().item() == 30
    """, NEURON_LAUNCH_BLOCKING="1")


def test_a_cpu_index_beside_a_device_table_is_refused():
    table = torch.randn(5, 3, device="neuron")
    with pytest.raises(RuntimeError, match="same device"):
        torch.nn.functional.embedding(torch.tensor([1, 2]), table)
    assert torch.equal(table[torch.tensor([1, 2])].cpu(), table.cpu()[[1, 2]])  # x[i] may be indexed from the CPU
