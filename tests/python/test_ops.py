"""Operators on the device against the CPU: forms, promotion, scalars, fallbacks, autograd, training."""
import pytest
import torch
import torch.nn.functional as F

import torch_neuronx

N = torch.device("neuron")


def same(got, want, tol=1e-5):
    assert got.device.type == "neuron"
    torch.testing.assert_close(got.cpu(), want, atol=tol, rtol=tol)


def executed(fn):
    torch_neuronx.clear_op_tracking()
    result = fn()
    return result, torch_neuronx.get_executed_ops(), torch_neuronx.get_fallback_ops()


BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.ne, torch.lt,
          torch.le, torch.gt, torch.ge]
SHAPES = [((4, 5), (4, 5)), ((4, 5), (5,)), ((4, 1), (1, 5)), ((3, 1, 5), (4, 1)), ((1,), (7,)), ((0, 3), (3,)), ((), (2,))]


@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_binary(op, dtype, shapes):
    torch.manual_seed(0)
    a, b = (torch.randn(s).mul(4).to(dtype) for s in shapes)
    if dtype == torch.int32 and op is torch.div:
        b = b.abs() + 1
    same(op(a.to(N), b.to(N)), op(a, b), 1e-2 if dtype == torch.bfloat16 else 1e-5)


UNARY = [torch.neg, torch.exp, torch.log, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.sin, torch.cos, torch.tanh,
         torch.sigmoid, torch.erf, torch.floor, torch.ceil, torch.trunc, torch.abs, torch.sign, F.gelu, F.silu, F.relu,
         F.softplus, F.mish, torch.square, torch.isnan, torch.logical_not]


@pytest.mark.parametrize("op", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_unary(op, dtype):
    x = torch.linspace(0.1, 3, 77).to(dtype)
    same(op(x.to(N)), op(x), 2e-2 if dtype == torch.bfloat16 else 1e-5)


def test_functional_inplace_and_out_are_one_launch_each():
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    x, y = a.to(N), b.to(N)
    out = torch.empty(3, 4, device=N)
    _, ran, fell = executed(lambda: (x * y, x.mul_(y), torch.mul(x, y, out=out)))
    assert ran == ["aten::mul", "aten::mul_"] and fell == []
    same(x, a * b)
    same(out, a * b * b)


def test_out_is_resized_and_checked():
    x = torch.ones(3, device=N)
    out = torch.empty(0, device=N)
    torch.add(x, x, out=out)
    same(out, torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(x, x, out=torch.empty(3, dtype=torch.int32, device=N))


def test_inplace_errors_are_pytorchs():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to"):
        torch.ones(2, dtype=torch.int32, device=N).mul_(1.5)
    with pytest.raises(RuntimeError, match="output with shape"):
        torch.ones(2, device=N).add_(torch.ones(3, 2, device=N))
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        torch.ones(2, device=N) + torch.ones(3, device=N)


def test_reduction_out_that_shares_memory_with_the_operand():
    x = torch.arange(6.0).reshape(2, 3)
    d = x.to(N)
    torch.sum(d, 1, out=d[:, 0])
    same(d[:, 0], x.sum(1))


def test_inplace_product_whose_operand_is_its_result():
    x, y = torch.randn(70, 70), torch.randn(70, 70)
    d = x.to(N)
    same(d.addmm_(d, y.to(N)), torch.addmm(x, x, y), 1e-3)


@pytest.mark.parametrize("value", [2, 2.5, -1, 0.1, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool])
@pytest.mark.parametrize("op", [torch.add, torch.mul, torch.div, torch.eq, torch.gt], ids=lambda f: f.__name__)
def test_python_scalars(value, dtype, op):
    x = torch.tensor([0.1, 2, -1, 2.5, 0]).to(dtype)
    same(op(x.to(N), value), op(x, value), 1e-6)


@pytest.mark.parametrize("bake", [False, True])
def test_scalars_written_or_baked_give_the_same(bake):
    x = torch.randn(5)
    torch.neuron.set_bake_scalars(bake)
    try:
        same(x.to(N) + 1e-6, x + 1e-6, 0)
        same(1 / x.to(N), 1 / x)
        same(x.to(N) + torch.tensor(3.25, dtype=torch.float64), x + 3.25, 0)
    finally:
        torch.neuron.set_bake_scalars(False)


def test_alpha_and_exponent():
    a, b = torch.randn(4), torch.randn(4)
    same(torch.add(a.to(N), b.to(N), alpha=-0.5), torch.add(a, b, alpha=-0.5))
    for e in (2, 3, 0.5, -1, 0):
        same(a.abs().to(N) ** e, a.abs() ** e, 1e-4)


@pytest.mark.parametrize("op", [torch.sum, torch.mean, torch.amax, torch.amin], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dim", [0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(op, dim, keepdim):
    x = torch.randn(3, 70, 9)
    same(op(x.to(N), dim, keepdim=keepdim), op(x, dim, keepdim=keepdim))


def test_reductions_over_nothing():
    x = torch.empty(0, 3, device=N)
    same(x.sum(), torch.tensor(0.0))
    same(x.sum(0), torch.zeros(3))
    same(torch.ones((), device=N).expand(0, 5).sum(0), torch.zeros(5))
    same(x.any(), torch.tensor(False))
    same(x.all(0), torch.ones(3, dtype=torch.bool))
    same(x.prod(), torch.tensor(1.0))
    assert x.mean(0).isnan().all()
    with pytest.raises((RuntimeError, IndexError), match="numel|non-zero size"):
        x.amax(0)


@pytest.mark.parametrize("dtype,tol", [(torch.float32, 1e-4), (torch.bfloat16, 5e-2)])
@pytest.mark.parametrize("m,k,n", [(1, 1, 1), (3, 5, 7), (130, 257, 65), (2, 0, 3)])
def test_matmuls(dtype, tol, m, k, n):
    torch.manual_seed(0)
    a, b, c = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype), torch.randn(n).to(dtype)
    same(a.to(N) @ b.to(N), a @ b, tol)
    same(b.to(N).t() @ a.to(N).t(), b.t() @ a.t(), tol)
    same(torch.addmm(c.to(N), a.to(N), b.to(N), beta=0.5, alpha=2), torch.addmm(c, a, b, beta=0.5, alpha=2), tol)
    p, q = torch.randn(3, m, k).to(dtype), torch.randn(3, k, n).to(dtype)
    same(torch.bmm(p.to(N), q.to(N)), torch.bmm(p, q), tol)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim):
    x = torch.randn(5, 33, 4) * 5
    same(x.to(N).softmax(dim), x.softmax(dim))
    same(x.to(N).log_softmax(dim), x.log_softmax(dim), 1e-4)


@pytest.mark.parametrize("shape", [(512,), (4, 512), (2, 3, 17)])
def test_norms_and_their_gradients(shape):
    torch.manual_seed(0)
    x, w, b = torch.randn(shape), torch.randn(shape[-1]), torch.randn(shape[-1])

    def run(device, fn):
        leaves = [t.to(device).requires_grad_() for t in (x, w, b)]
        y = fn(*leaves)
        y.square().sum().backward()
        return [y.detach().cpu()] + [t.grad.cpu() for t in leaves if t.grad is not None]

    for fn in (
        lambda x, w, b: F.rms_norm(x, (shape[-1],), w, 1e-6),
        lambda x, w, b: F.rms_norm(x, (shape[-1],)),
        lambda x, w, b: F.layer_norm(x, (shape[-1],), w, b),
        lambda x, w, b: F.layer_norm(x, shape),
    ):
        for got, want in zip(run(N, fn), run("cpu", fn)):
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def test_rms_norm_is_one_launch():
    x, w = torch.randn(4, 512).bfloat16().to(N), torch.ones(512).bfloat16().to(N)
    _, ran, fell = executed(lambda: torch.rms_norm(x, (512,), w, 1e-6))
    assert ran == ["aten::_fused_rms_norm"] and fell == []


def test_where_and_masks():
    c, a, b = torch.rand(3, 4) > 0.5, torch.randn(3, 4), torch.randn(4)
    same(torch.where(c.to(N), a.to(N), b.to(N)), torch.where(c, a, b))
    same(torch.where(c.to(N), a.to(N), 2.0), torch.where(c, a, 2.0))
    same(torch.where(c.to(N), torch.tensor(1.5), torch.tensor(2)), torch.where(c, 1.5, 2.0))
    same(torch.where(torch.tensor(True), a.to(N), b.to(N)), a)
    same(a.to(N).masked_fill(c.to(N), float("-inf")), a.masked_fill(c, float("-inf")))
    same(a.to(N).masked_fill_(c.to(N), 3), a.masked_fill(c, 3))


def test_cat_and_stack():
    a, b = torch.randn(2, 3), torch.randn(4, 3)
    same(torch.cat([a.to(N), b.to(N)]), torch.cat([a, b]))
    same(torch.stack([a.to(N), a.to(N)], 1), torch.stack([a, a], 1))


INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_integer_division_at_the_edges(dtype, mode):
    edge = torch.iinfo(dtype)
    x = torch.tensor([edge.min, edge.min + 1, 0, 1, 50, edge.max - 1, edge.max], dtype=dtype)
    for d in (7, 3, 1, edge.max):
        same(torch.div(x.to(N), d, rounding_mode=mode), torch.div(x, d, rounding_mode=mode), 0)
    same(x.to(N).abs(), x.abs(), 0)
    same(x.to(N) % 7, x % 7, 0)


def test_bounds_that_the_type_cannot_hold():
    x = torch.tensor([0, 1, 200, 255], dtype=torch.uint8)
    same(x.to(N).clamp(-1, 2), x.clamp(-1, 2), 0)
    same(x.to(N).clamp_max(-1), x.clamp_max(-1), 0)


ZERO_DIM = [torch.bool, torch.int64, torch.int8, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("number", ZERO_DIM)
def test_zero_dimensional_cpu_tensors_promote_as_on_the_cpu(dtype, number):
    x = torch.tensor([0, 1, -1, 2.5, -3.7, 100]).to(dtype)
    y = torch.tensor(2.7).to(number)
    tol = 1e-2 if torch.bfloat16 in (dtype, number) else 1e-5
    for op in (torch.add, torch.mul, torch.div, torch.maximum, torch.eq, torch.lt, torch.logical_and,
               lambda a, b: b / (a + 3), lambda a, b: torch.where(a > 0, a, b), lambda a, b: torch.where(a > 0, b, a)):
        same(op(x.to(N), y), op(x, y), tol)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_where_the_cpu_refuses_them(dtype):
    x = torch.ones(4, dtype=dtype)
    for op in (lambda t: t.softmax(0), F.gelu, F.silu, F.mish):
        with pytest.raises(NotImplementedError, match=r"for '(Byte|Char|Short|Int)'"):
            op(x)
        with pytest.raises(NotImplementedError, match=r"for '(Byte|Char|Short|Int)'"):
            op(x.to(N))


def test_int64_and_float64_go_to_the_counted_fallback():
    x = torch.arange(5)
    got, ran, fell = executed(lambda: x.to(N) * 3)
    same(got, x * 3)
    assert "aten::mul" in fell and "aten::mul" not in ran
    same(torch.randn(4, dtype=torch.float64).to(N).exp().isfinite(), torch.ones(4, dtype=torch.bool))


def test_fallback_is_counted_and_right():
    x = torch.randn(6)
    got, _, fell = executed(lambda: torch.sort(x.to(N)).values)
    same(got, x.sort().values)
    assert any("sort" in name for name in fell)
    assert sum(torch_neuronx.get_fallback_counts().values()) >= 1
    torch_neuronx.clear_op_tracking()
    assert torch_neuronx.get_fallback_ops() == []


def test_overloads_do_not_mix():
    x, e = torch.randn(4), torch.tensor(2.0)
    same(x.to(N).fill_(e.to(N)), torch.full((4,), 2.0))
    same(torch.pow(2.0, x.to(N)), torch.pow(2.0, x))
    same(torch.ldexp(x.to(N), e.to(N)), torch.ldexp(x, e))
    same(torch.cummax(x.to(N), 0).values, torch.cummax(x, 0).values)


def test_convolution_and_its_gradients():
    torch.manual_seed(0)
    x, w, b = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4)

    def run(device):
        leaves = [t.to(device).requires_grad_() for t in (x, w, b)]
        F.conv2d(*leaves, stride=2, padding=1).square().sum().backward()
        return [t.grad.cpu() for t in leaves]

    for got, want in zip(run(N), run("cpu")):
        torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-4)


def test_training_matches_cpu():
    def run(device):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))
        model = model.to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x, y = torch.randn(12, 8).to(device), torch.randint(3, (12,)).to(device)
        losses = []
        for _ in range(4):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert run(N) == pytest.approx(run("cpu"), rel=1e-4)


def test_backward_runs_on_the_autograd_thread():
    x = torch.randn(4, device=N, requires_grad=True)
    (x * x).sum().backward()
    same(x.grad, 2 * x.detach().cpu())


def test_inplace_on_a_strided_view():
    x = torch.randn(4, 6)
    d = x.to(N)
    d[:, ::2].mul_(2).add_(1)
    x[:, ::2].mul_(2).add_(1)
    same(d, x)


def test_rank_above_eight_still_works():
    x = torch.randn((1, 2, 1, 2, 1, 2, 1, 2, 3))
    same(x.to(N) + 1, x + 1)
    same(x.to(N).transpose(1, 8).contiguous(), x.transpose(1, 8).contiguous())
