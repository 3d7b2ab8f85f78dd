"""Defects met by ordinary programs on device `neuron`: values, devices and seeds, each against the CPU."""

import pytest
import torch
import torch._dynamo
import torch.nn.functional as F


def on_device(tensor):
    return tensor.detach().to("neuron").requires_grad_(tensor.requires_grad)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.complex64])
def test_a_number_before_a_tensor_that_falls_back_keeps_the_device(dtype):
    x = torch.tensor([1, 2, 3], dtype=dtype)
    result = 1 - x.to("neuron")
    assert result.device.type == "neuron"
    assert torch.equal(result.cpu(), 1 - x)


@pytest.mark.parametrize("divide", [lambda t: t // 0.3, lambda t: torch.floor_divide(t, -0.7), lambda t: t // 3])
def test_compiled_floor_division_by_a_number_rounds(divide):
    torch._dynamo.reset()
    x = torch.tensor([1.0, -1.0, 2.5, -2.5, 7.0])
    assert torch.equal(torch.compile(divide)(x.to("neuron")).cpu(), divide(x))


def test_an_expanded_tensor_can_be_filled():
    x = torch.ones(4, 6, 1, device="neuron")
    x[:, ::2].expand(4, 3, 5).fill_(2.5)
    x[:, 1:2].expand(4, 2, 5).zero_()
    want = torch.ones(4, 6, 1)
    want[:, ::2] = 2.5
    want[:, 1] = 0
    assert torch.equal(x.cpu(), want)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_layers_train(kind, bias):
    torch.manual_seed(0)
    host = kind(4, 5, num_layers=2, bias=bias, batch_first=True)
    device = kind(4, 5, num_layers=2, bias=bias, batch_first=True)
    device.load_state_dict(host.state_dict())
    device.to("neuron")
    x = torch.randn(2, 3, 4, requires_grad=True)
    y = on_device(x)
    want, got = host(x)[0], device(y)[0]
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)
    want.square().sum().backward()
    got.square().sum().backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad, rtol=1e-3, atol=1e-5)
    for ours, theirs in zip(device.parameters(), host.parameters()):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-3, atol=1e-5)


def test_recurrent_layers_infer():
    torch.manual_seed(0)
    layer = torch.nn.LSTM(4, 5).eval()
    x = torch.randn(3, 2, 4)
    with torch.inference_mode():
        want = layer(x)[0]
        got = layer.to("neuron")(x.to("neuron"))[0]
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_dropout_draws_from_the_device_generator():
    x = torch.ones(256, device="neuron")
    torch.neuron.manual_seed(7)
    first = F.dropout(x, 0.3).cpu()
    torch.manual_seed(99)
    torch.neuron.manual_seed(7)
    assert torch.equal(F.dropout(x, 0.3).cpu(), first)
    torch.neuron.manual_seed(8)
    assert not torch.equal(F.dropout(x, 0.3).cpu(), first)
    torch.manual_seed(7)
    assert torch.equal(F.dropout(torch.ones(256), 0.3), first)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_and_its_gradient_are_the_cpus(p):
    x = torch.randn(8, 9, requires_grad=True)
    y = on_device(x)
    torch.manual_seed(5)
    want = F.dropout(x, p)
    torch.manual_seed(5)
    got = F.dropout(y, p)
    torch.testing.assert_close(got.cpu(), want)
    want.sum().backward()
    got.sum().backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad)
    assert torch.equal(F.dropout(y, p, training=False), y)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**40, 2**53 + 1, -(2**63)])
@pytest.mark.parametrize("compare", [torch.eq, torch.lt, torch.ge])
def test_booleans_compare_with_numbers_of_more_than_32_bits(compare, number):
    x = torch.tensor([True, False])
    assert torch.equal(compare(x.to("neuron"), number).cpu(), compare(x, number))


@pytest.mark.parametrize("copy", [lambda t: t.copy_(t.t()), lambda t: t[1:].copy_(t[:-1])], ids=["transposed", "shifted"])
def test_a_copy_onto_overlapping_memory_is_refused_as_on_the_cpu(copy):
    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            copy(torch.zeros(300, 300, device=device))
    x = torch.randn(4, 4, device="neuron")
    before = x.cpu()
    assert torch.equal(x.copy_(x).cpu(), before)
