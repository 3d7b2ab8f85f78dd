"""Streams and events of the device, through torch.neuron and through generic PyTorch."""
import threading

import pytest
import torch

import torch_neuronx

N = torch.device("neuron")


def test_default_and_new_streams():
    current = torch.neuron.current_stream()
    assert current.stream_id == 0 and current == torch.neuron.default_stream()
    s = torch.neuron.Stream()
    assert isinstance(s, torch_neuronx.Stream) and s.device.type == "neuron" and s.stream_id != 0
    with torch.neuron.stream(s):
        assert torch.neuron.current_stream() == s
        y = torch.ones(4, device=N) * 3
    assert torch.neuron.current_stream().stream_id == 0
    s.synchronize()
    assert s.query()
    assert torch.equal(y.cpu(), torch.full((4,), 3.0))


def test_generic_stream_as_context():
    s = torch.Stream(device="neuron")
    with s:
        assert torch.accelerator.current_stream() == s
        y = torch.ones(2, device=N) + 1
    s.synchronize()
    assert torch.equal(y.cpu(), torch.full((2,), 2.0))


def test_streams_of_threads_are_apart():
    s = torch.neuron.Stream()
    seen = []

    def run():
        seen.append(torch.neuron.current_stream().stream_id)

    with torch.neuron.stream(s):
        t = threading.Thread(target=run)
        t.start()
        t.join()
    assert seen == [0]


def test_timed_events():
    start, end = torch.neuron.Event(enable_timing=True), torch.neuron.Event(enable_timing=True)
    x = torch.randn(256, 256, device=N)
    start.record()
    for _ in range(3):
        x = x * 1.0001
    end.record()
    end.synchronize()
    assert end.query() and 0 < start.elapsed_time(end) < 1000


def test_elapsed_time_of_unrecorded_events_is_an_error():
    with pytest.raises((RuntimeError, ValueError), match="recorded"):
        torch.neuron.Event(enable_timing=True).elapsed_time(torch.neuron.Event(enable_timing=True))


def test_wait_stream_and_wait_event():
    a, b = torch.neuron.Stream(), torch.neuron.Stream()
    with torch.neuron.stream(a):
        x = torch.ones(64, device=N) * 2
        event = torch.neuron.record_event()
    with torch.neuron.stream(b):
        torch.neuron.wait_event(event)
        b.wait_stream(a)
        y = x + 1
    torch.neuron.wait_stream(b)
    assert torch.equal(y.cpu(), torch.full((64,), 3.0))


def test_record_stream_accepts_and_refuses():
    s = torch.neuron.Stream()
    x = torch.ones(4, device=N)
    x.record_stream(s)
    torch_neuronx.set_stream(s)
    try:
        assert torch_neuronx.current_stream() == s
    finally:
        torch_neuronx.set_stream(torch.neuron.default_stream())


def test_interprocess_events_are_refused():
    with pytest.raises(RuntimeError, match="cannot be shared between processes"):
        torch.neuron.Event(interprocess=True)


def test_synchronize_forms():
    for device in (None, 0, "neuron", "neuron:0", N):
        torch.neuron.synchronize(device)
    torch_neuronx.synchronize()
    with pytest.raises(ValueError, match="Expected a neuron device"):
        torch.neuron.synchronize("cpu")


def test_many_threads_launch():
    errors = []

    def run(k):
        try:
            x = torch.full((50,), float(k), device=N)
            for _ in range(20):
                x = x + 1
            assert torch.equal(x.cpu(), torch.full((50,), k + 20.0))
        except Exception as e:  # noqa: BLE001  (reported below, with the thread's message)
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
