"""torch.compile on device `neuron`: default backend, named backend, parts, names, other devices."""

import subprocess
import sys

import pytest
import torch
import torch._dynamo

from profiles import events, operators, profile, sessions


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    torch.neuron.reset_dynamo_metrics()


def rms_norm(t):
    return t * torch.rsqrt((t * t).mean(dim=-1, keepdim=True) + 1e-6)


def close(got, want, atol=2e-2):
    torch.testing.assert_close(got.cpu().float(), want.cpu().float(), atol=atol, rtol=2e-2)


def test_default_backend_is_one_launch(tmp_path):
    x = torch.randn(4, 512, dtype=torch.bfloat16, device="neuron")
    fn = torch.compile(rms_norm)
    close(fn(x), rms_norm(x.cpu()))
    prof, _ = profile(lambda: fn(x), tmp_path)
    (session,) = sessions(tmp_path)
    (kernel,) = events(session, "kernel")
    assert kernel["name"] == "nc model_default_0_inference_0"
    assert operators(prof)["model_default_0_inference_0"] == (1, round(kernel["dur"] * 1000))


def test_named_backend_and_model_name(tmp_path):
    assert "neuron" in torch._dynamo.list_backends()
    x = torch.randn(8, 16, device="neuron")
    fn = torch.compile(rms_norm, backend="neuron", options={"model_name": "norm"})
    close(fn(x), rms_norm(x.cpu()))
    profile(lambda: fn(x), tmp_path)
    (kernel,) = events(sessions(tmp_path)[0], "kernel")
    assert kernel["name"].startswith("nc norm_")


def test_unknown_option_is_named():
    with pytest.raises(Exception, match="modle_name"):
        torch.compile(rms_norm, backend="neuron", options={"modle_name": "x"})(torch.ones(2, 2, device="neuron"))


def test_mode_warns():
    with pytest.warns(UserWarning, match="max-autotune"):
        torch.compile(rms_norm, mode="max-autotune")(torch.ones(2, 2, device="neuron"))


def test_cpu_functions_still_go_to_inductor():
    x = torch.randn(8)
    assert torch.equal(torch.compile(lambda t: t + 1)(x), x + 1)
    assert "neuron" not in torch.neuron.get_dynamo_metrics()


def test_operators_outside_are_run_and_said():
    x = torch.randn(16, 16, device="neuron")

    def fn(t):
        return torch.cumsum(t * 2 + 1, dim=0) * 3

    close(torch.compile(fn)(x), fn(x.cpu()), atol=1e-3)
    said = torch.neuron.get_dynamo_metrics()
    assert said["neuron"]["compiled_parts"] >= 1
    assert any("cumsum" in what and "no lowering" in what for what in said["neuron_outside"])


def test_views_and_several_outputs():
    x, w = torch.randn(6, 4, 8, device="neuron"), torch.randn(8, 8, device="neuron")

    def fn(t, m):
        a = (t.transpose(0, 1) @ m.t()).reshape(4, -1)
        return a.relu(), a.sum(dim=1), t

    for got, want in zip(torch.compile(fn)(x, w), fn(x.cpu(), w.cpu())):
        close(got, want, atol=1e-3)


def test_backward():
    def loss(t, m):
        return torch.nn.functional.gelu(t @ m).pow(2).mean()

    tensors = [torch.randn(16, 8), torch.randn(8, 4)]
    ours = [t.clone().to("neuron").requires_grad_() for t in tensors]
    theirs = [t.clone().requires_grad_() for t in tensors]
    torch.compile(loss)(*ours).backward()
    loss(*theirs).backward()
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=1e-4, rtol=1e-4)


def test_inputs_updated_in_place():
    x = torch.zeros(4, device="neuron")

    def fn(t):
        t.add_(1)
        return t * 2

    assert torch.compile(fn)(x).cpu().tolist() == [2.0] * 4
    assert x.cpu().tolist() == [1.0] * 4


def test_other_layout_at_run_time_is_still_right():
    fn = torch.compile(rms_norm)
    x = torch.randn(8, 8, device="neuron")
    close(fn(x), rms_norm(x.cpu()), atol=1e-4)
    close(fn(x.t()), rms_norm(x.cpu().t()), atol=1e-4)


def test_import_torch_does_not_import_dynamo():
    done = subprocess.run([sys.executable, "-c", "import sys, torch; torch.neuron; print('torch._dynamo' in sys.modules)"],
                          capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
