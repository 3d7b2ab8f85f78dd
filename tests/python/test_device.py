"""Device `neuron` as PyTorch sees it: names, tensors, copies, views, storage, memory, autocast."""
import copy
import io
import pickle

import pytest
import torch

import torch_neuronx

N = torch.device("neuron")


def test_autoload_gives_device_module():
    assert torch.neuron.is_available()
    assert torch._C._get_privateuse1_backend_name() == "neuron"
    assert torch.empty(1, device="neuron").device == torch.device("neuron:0")


def test_state_functions():
    torch.empty(1, device=N)
    assert torch.neuron.is_initialized()
    assert torch_neuronx.is_neuron_runtime_initialized()
    assert torch.neuron.device_count() >= 1
    assert torch.neuron.current_device() == 0
    assert torch.neuron.get_device_name() == "neuron:0"
    properties = torch.neuron.get_device_properties(0)
    assert properties.name.startswith("trn") and properties.total_memory > 0
    assert torch.neuron.is_bf16_supported()
    assert torch.neuron.get_amp_supported_dtype() == [torch.float32, torch.float16, torch.bfloat16]
    torch.neuron._sleep(1000)


def test_set_device_rejects_wrong_index():
    count = torch.neuron.device_count()
    with pytest.raises(ValueError, match=rf"Invalid device id: {count}. Valid range is 0 to {count - 1}"):
        torch.neuron.set_device(count)


def test_accelerator_api():
    assert torch.accelerator.current_accelerator() == N
    assert torch.accelerator.device_count() == torch.neuron.device_count()
    torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() >= 0


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
     torch.float32, torch.float64, torch.complex64, torch.complex128],
)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (3, 5), (2, 0, 4), (2, 3, 4, 5)])
def test_round_trip(dtype, shape):
    t = torch.randn(shape).mul(50).to(dtype) if dtype is not torch.bool else torch.rand(shape) > 0.5
    back = t.to(N).cpu()
    assert back.dtype == dtype and torch.equal(back, t)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int64, torch.complex64])
def test_strided_views_round_trip(dtype):
    t = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).to(dtype)
    d = t.to(N)
    views = [
        lambda x: x.transpose(1, 3),
        lambda x: x[:, ::2, 1:, ::3],
        lambda x: x.permute(3, 1, 0, 2),
        lambda x: x.select(2, 1),
        lambda x: x.unfold(3, 2, 1),
        lambda x: x[0, 0].expand(3, 4, 5),
        lambda x: x.flatten()[7:50:3],
        lambda x: x.diagonal(0, 1, 2),
    ]
    for view in views:
        assert torch.equal(view(d).cpu(), view(t))
        assert torch.equal(view(d).contiguous().cpu(), view(t).contiguous())
        assert torch.equal(view(d).clone().cpu(), view(t))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_copy_into_strided_destination(dtype):
    base = torch.zeros(4, 6, dtype=dtype)
    d = base.to(N)
    new = torch.arange(8).reshape(4, 2).to(dtype)
    d[:, 1::3] = new.to(N)
    d[1:3, 0] = 9
    base[:, 1::3] = new
    base[1:3, 0] = 9
    d[:, 2:4].copy_(new)
    base[:, 2:4].copy_(new)
    assert torch.equal(d.cpu(), base)


FROM_TO = [torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("source", FROM_TO)
@pytest.mark.parametrize("target", FROM_TO)
def test_casts_on_device(source, target):
    t = torch.tensor([0.0, 1.0, -3.5, 2.5, 100.7, -0.0, 7.0]).to(source)
    assert torch.equal(t.to(N).to(target).cpu(), t.to(target))


def test_copy_broadcasts_and_casts():
    d = torch.zeros(3, 4, device=N)
    d.copy_(torch.arange(4, dtype=torch.int64))
    assert torch.equal(d.cpu(), torch.arange(4.0).expand(3, 4))
    with pytest.raises(RuntimeError, match="expanded size"):
        d.copy_(torch.zeros(5))


def test_conj_and_neg_views():
    t = torch.randn(4, dtype=torch.complex64)
    d = t.to(N)
    assert torch.equal(d.conj().cpu(), t.conj().resolve_conj())
    assert torch.equal(d.conj().imag.cpu(), t.conj().imag.resolve_neg())
    assert torch.equal(torch.view_as_real(d).cpu(), torch.view_as_real(t))
    target = torch.zeros(4, dtype=torch.complex64, device=N)
    target.conj().copy_(d)
    assert torch.equal(target.cpu(), t.conj().resolve_conj())


def test_item_and_bool():
    assert torch.tensor([3.5], device=N).item() == 3.5
    assert torch.tensor(7, device=N).item() == 7
    assert torch.tensor(1 + 2j, device=N).item() == 1 + 2j
    assert bool(torch.tensor(True, device=N)) is True
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.zeros(2, device=N).item()


def test_resize_and_set():
    t = torch.arange(6.0, device=N)
    t.resize_(3, 4)
    assert t.shape == (3, 4) and torch.equal(t.flatten()[:6].cpu(), torch.arange(6.0))
    other = torch.empty(0, device=N)
    other.set_(t.untyped_storage(), 2, (2, 2), (2, 1))
    assert torch.equal(other.cpu(), torch.tensor([[2.0, 3.0], [4.0, 5.0]]))
    other.set_()
    assert other.numel() == 0 and other.device.type == "neuron"
    storage = t.untyped_storage()
    storage.resize_(200)
    assert storage.nbytes() == 200


def test_save_load_pickle_deepcopy():
    t = torch.randn(3, 4, device=N)
    buffer = io.BytesIO()
    torch.save({"t": t, "view": t[1]}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)
    assert loaded["t"].device.type == "neuron" and torch.equal(loaded["t"].cpu(), t.cpu())
    assert loaded["view"].untyped_storage().data_ptr() == loaded["t"].untyped_storage().data_ptr()
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu")["t"].device.type == "cpu"
    for twin in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert twin.device == t.device and torch.equal(twin.cpu(), t.cpu())
        assert twin.data_ptr() != t.data_ptr()


def test_cpu_checkpoint_onto_device():
    buffer = io.BytesIO()
    torch.save(torch.arange(5), buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer, map_location="neuron").cpu(), torch.arange(5))


def test_share_memory_is_refused():
    with pytest.raises(RuntimeError, match="share_memory_.* is not supported for neuron"):
        torch.zeros(2, device=N).share_memory_()
    torch.zeros(2).share_memory_()


def test_pin_memory_is_harmless():
    t = torch.randn(4).pin_memory()
    assert torch.equal(t.to(N, non_blocking=True).cpu(), t)


def test_generated_methods_and_modules():
    t = torch.randn(3)
    assert t.neuron().is_neuron and not t.is_neuron
    assert torch.equal(t.neuron().cpu(), t)
    model = torch.nn.Linear(3, 2)
    assert model.neuron().weight.device.type == "neuron"
    assert torch.nn.Linear(3, 2).to(N).bias.device.type == "neuron"


def test_default_device():
    with torch.device("neuron"):
        assert torch.zeros(2).device.type == "neuron"
    torch.set_default_device("neuron")
    try:
        assert torch.ones(2).device.type == "neuron"
    finally:
        torch.set_default_device(None)


def test_channels_last():
    t = torch.randn(2, 3, 4, 5)
    d = t.to(N, memory_format=torch.channels_last)
    assert d.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(d.cpu(), t)
    assert torch.equal((d + d).cpu(), t + t)


def test_non_blocking_copy_takes_the_bytes():
    source = torch.ones(1000)
    d = source.to(N, non_blocking=True)
    source.zero_()
    assert torch.equal(d.cpu(), torch.ones(1000))


def test_memory_statistics():
    torch.neuron.empty_cache()
    torch.neuron.reset_peak_memory_stats()
    before = torch.neuron.memory_allocated()
    t = torch.empty(1 << 20, dtype=torch.uint8, device=N)
    assert torch.neuron.memory_allocated() >= before + (1 << 20)
    del t
    assert torch.neuron.memory_allocated() == before
    assert torch.neuron.max_memory_allocated() >= before + (1 << 20)
    stats = torch.neuron.memory_stats()
    assert set(stats["allocated_bytes"]) == {"current", "peak", "allocated", "freed"}
    assert stats["allocation_requests"] > 0
    free, total = torch.neuron.mem_get_info()
    assert 0 < free <= total
    assert "capacity" in torch.neuron.memory_summary()


needs_two = pytest.mark.skipif(torch.neuron.device_count() < 2, reason="one device visible")


@needs_two
def test_copies_across_devices():
    t = torch.randn(5, 6)
    a = t.to("neuron:0")
    b = a.to("neuron:1")
    assert b.device.index == 1 and torch.equal(b.cpu(), t)
    c = torch.empty(6, 5, device="neuron:1")
    c.t().copy_(a)
    assert torch.equal(c.cpu(), t.t())
    assert torch.equal(a.t().to("neuron:1", torch.float64).cpu(), t.t().double())


@needs_two
def test_current_device_context():
    with torch.neuron.device(1):
        assert torch.neuron.current_device() == 1
        assert torch.empty(1, device="neuron").device.index == 1
    assert torch.neuron.current_device() == 0
    x = torch.ones(3, device="neuron:1")
    assert (x + x).device.index == 1
    with torch.neuron.device_of(x):
        assert torch.neuron.current_device() == 1


def test_autocast():
    a, b = torch.randn(4, 4, device=N), torch.randn(4, 4, device=N)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert (a @ b).dtype == torch.bfloat16
        assert torch.exp(a.bfloat16()).dtype == torch.float32
    assert (a @ b).dtype == torch.float32


def test_forward_mode_zero_tensor():
    import torch.autograd.forward_ad as fwd

    x = torch.randn(3, device=N)
    with fwd.dual_level():
        dual = fwd.make_dual(x, torch.ones_like(x))
        assert torch.equal(fwd.unpack_dual(dual * 2).tangent.cpu(), torch.full((3,), 2.0))
