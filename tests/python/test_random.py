"""Random values on the device are the CPU's for the same seed, with every kind of generator."""
import pytest
import torch

N = torch.device("neuron")

FILLS = {
    "normal_": lambda t, g: t.normal_(1, 2, generator=g),
    "uniform_": lambda t, g: t.uniform_(-1, 3, generator=g),
    "exponential_": lambda t, g: t.exponential_(2, generator=g),
    "bernoulli_": lambda t, g: t.bernoulli_(0.3, generator=g),
    "random_": lambda t, g: t.random_(generator=g),
    "random_to": lambda t, g: t.random_(100, generator=g),
    "random_from": lambda t, g: t.random_(-5, 7, generator=g),
    "cauchy_": lambda t, g: t.cauchy_(generator=g),
    "log_normal_": lambda t, g: t.log_normal_(generator=g),
    "geometric_": lambda t, g: t.geometric_(0.4, generator=g),
}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("shape", [(), (5,), (4, 33), (0,)])
def test_fills_match_cpu(name, shape):
    fill = FILLS[name]
    torch.manual_seed(11)
    want = fill(torch.empty(shape), None)
    torch.manual_seed(11)
    got = fill(torch.empty(shape, device=N), None)
    assert got.device.type == "neuron" and torch.equal(got.cpu(), want)
    explicit = fill(torch.empty(shape, device=N), torch.Generator("neuron").manual_seed(11))
    assert torch.equal(explicit.cpu(), want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_dtypes(dtype):
    torch.manual_seed(3)
    want = torch.randn(40, dtype=dtype)
    torch.manual_seed(3)
    assert torch.equal(torch.randn(40, dtype=dtype, device=N).cpu(), want)


def test_strided_fill_matches_cpu():
    torch.manual_seed(5)
    want = torch.zeros(6, 8)
    want[:, ::2].normal_()
    torch.manual_seed(5)
    got = torch.zeros(6, 8, device=N)
    got[:, ::2].normal_()
    assert torch.equal(got.cpu(), want)


def test_factories_match_cpu():
    for make in (
        lambda d: torch.rand(7, device=d),
        lambda d: torch.randint(3, 50, (7,), device=d),
        lambda d: torch.randperm(20, device=d),
        lambda d: torch.rand_like(torch.empty(4, device=d)),
        lambda d: torch.normal(0.0, 1.0, (5,), device=d),
    ):
        torch.manual_seed(2)
        want = make("cpu")
        torch.manual_seed(2)
        assert torch.equal(make(N).cpu(), want)


def test_operators_with_operands_match_cpu():
    p = torch.rand(50)
    for draw in (torch.bernoulli, torch.poisson, lambda t: torch.multinomial(t, 5), lambda t: torch.normal(t, 1.0)):
        torch.manual_seed(4)
        want = draw(p)
        torch.manual_seed(4)
        assert torch.equal(draw(p.to(N)).cpu(), want)


def test_dropout_matches_cpu():
    x = torch.ones(100)
    torch.manual_seed(1)
    want = torch.nn.functional.dropout(x, 0.4)
    torch.manual_seed(1)
    assert torch.equal(torch.nn.functional.dropout(x.to(N), 0.4).cpu(), want)


def test_state_is_saved_and_restored():
    torch.neuron.manual_seed(9)
    state = torch.neuron.get_rng_state()
    first = torch.randn(5, device=N).cpu()
    torch.neuron.set_rng_state(state)
    assert torch.equal(torch.randn(5, device=N).cpu(), first)
    assert torch.neuron.initial_seed() == 9
    with torch.random.fork_rng(device_type="neuron"):
        torch.randn(5, device=N)


def test_device_and_cpu_generators_are_apart():
    torch.manual_seed(7)
    torch.randn(3)
    first = torch.randn(4, device=N).cpu()
    torch.manual_seed(7)
    assert torch.equal(torch.randn(4, device=N).cpu(), first)


def test_seed_functions():
    torch.neuron.seed_all()
    assert len({g.initial_seed() for g in torch.neuron.default_generators}) == 1
    torch.neuron.seed()
    torch.neuron.manual_seed_all(6)
    assert all(g.initial_seed() == 6 for g in torch.neuron.default_generators)


def test_generator_of_the_other_device_is_refused():
    with pytest.raises(RuntimeError, match="Expected a 'neuron' device type for generator"):
        torch.empty(3, device=N).normal_(generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.empty(3).normal_(generator=torch.Generator("neuron"))


def test_generator_clone_and_offset():
    g = torch.Generator("neuron").manual_seed(1)
    assert g.device.type == "neuron"
    twin = g.clone_state() if hasattr(g, "clone_state") else torch.Generator("neuron").manual_seed(1)
    a = torch.randn(3, device=N, generator=g).cpu()
    assert torch.equal(torch.randn(3, device=N, generator=twin).cpu(), a)
