"""Backward on the device's own thread: gradients against the CPU, and a quiet end of the process after it."""

import subprocess
import sys

import pytest
import torch
from torch import nn

TRAINS = """
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(24, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 7)).to("neuron")
x, y = torch.randn(16, 24, device="neuron"), torch.randint(0, 7, (16,)).to("neuron")
h = m[0](x); h.retain_grad()
nn.functional.cross_entropy(m[3](m[2](m[1](h))), y).backward()
print(bool(torch.isfinite(h.grad.cpu()).all()), float(h.grad.cpu().abs().sum()) > 0)
"""


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(24, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 7))


@pytest.mark.parametrize("round_", range(5))
def test_gradients_survive_scratch_memory(round_):
    """Programs that need scratch ran on blocks the host had freed but queued work still read."""
    ours, theirs = model().to("neuron"), model()
    torch.manual_seed(round_)
    x, y = torch.randn(16, 24), torch.randint(0, 7, (16,))
    nn.functional.cross_entropy(ours(x.to("neuron")), y.to("neuron")).backward()
    nn.functional.cross_entropy(theirs(x), y).backward()
    for a, b in zip(ours.parameters(), theirs.parameters()):
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=1e-5, rtol=1e-4)


def test_adamw_follows_the_cpu():
    ours, theirs = model().to("neuron"), model()
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (ours, theirs)]
    x, y = torch.randn(16, 24), torch.randint(0, 7, (16,))
    for _ in range(10):
        losses = []
        for m, optimizer, where in ((ours, optimizers[0], "neuron"), (theirs, optimizers[1], "cpu")):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(m(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        assert abs(losses[0] - losses[1]) < 1e-3, losses


@pytest.mark.parametrize("round_", range(4))
def test_the_process_ends_quietly_after_a_backward(round_):
    done = subprocess.run([sys.executable, "-c", TRAINS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True\n" and "terminate" not in done.stderr
