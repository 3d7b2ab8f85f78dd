"""Import, fork and exit, each in a process of its own (pytorch-adapter.md section 9)."""
import os
import subprocess
import sys
import textwrap

import pytest

FORK_TEXT = (
    "Cannot re-initialize Neuron runtime in forked subprocess. To use Neuron with multiprocessing, use the "
    "'spawn' start method"
)


def run(code, timeout=120, **env):
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        env={**os.environ, "KINETO_LOG_LEVEL": "99", **env},
        capture_output=True, text=True, timeout=timeout, check=False,
    )


def passes(code, **kwargs):
    result = run(code, **kwargs)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.mark.parametrize("first", ["torch", "torch_neuronx"])
def test_both_import_orders(first):
    passes(f"""
        import {first}
        import torch, torch_neuronx
        assert torch.neuron.is_available()
        assert torch.zeros(2, device="neuron").sum().item() == 0
    """)


def test_import_does_not_pull_in_dynamo_or_start_the_runtime():
    passes("""
        import torch, sys
        assert torch.neuron.device_count() >= 1
        assert not torch.neuron.is_initialized()
        loaded = {m for m in sys.modules if m.startswith("torch._dynamo.")}
        assert "torch._dynamo.backends.registry" not in loaded, loaded
        assert "torch_neuronx.profiling" not in sys.modules
    """)


def test_autoload_can_be_switched_off():
    passes("""
        import torch
        try:
            torch.device("neuron")
        except RuntimeError as e:
            assert "Expected one of cpu" in str(e)
        else:
            raise AssertionError("device neuron exists")
    """, TORCH_DEVICE_BACKEND_AUTOLOAD="0")


def test_fork_after_start_is_refused_in_the_child():
    out = passes("""
        import os, torch
        x = torch.ones(2, device="neuron")
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                torch.ones(2, device="neuron")
                text = "worked"
            except RuntimeError as e:
                text = str(e)
            os.write(w, (text + f"|{torch.neuron._is_in_bad_fork()}").encode())
            os._exit(0)
        os.waitpid(pid, 0)
        print(os.read(r, 1000).decode())
        assert torch.equal((x + x).cpu(), torch.full((2,), 2.0))
    """)
    assert out.strip() == FORK_TEXT + "|True"


def test_fork_before_start_is_fine():
    passes("""
        import os, torch
        pid = os.fork()
        if pid == 0:
            ok = torch.ones(2, device="neuron").sum().item() == 2
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert torch.ones(2, device="neuron").sum().item() == 2
    """)


def test_child_frees_inherited_tensors_and_exits_normally():
    passes("""
        import os, sys, torch
        x = torch.ones(2, device="neuron")
        x.cpu()
        pid = os.fork()
        if pid == 0:
            del x
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
        assert x.sum().item() == 2
    """)


@pytest.mark.parametrize("pin", [False, True])
def test_data_loader_workers(pin):
    passes(f"""
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        total = torch.zeros(1, device="neuron")
        data = TensorDataset(torch.arange(20.0))
        for (batch,) in DataLoader(data, batch_size=4, num_workers=2, pin_memory={pin}):
            total += batch.to("neuron").sum()
        assert total.item() == 190
    """)


@pytest.mark.parametrize(
    "name,body,code",
    [
        ("pending work", "for _ in range(300): x = x + x * 0", 0),
        ("tensor in builtins", "import builtins; builtins.kept = x", 0),
        ("tensor in a cycle", "a = [x]; a.append(a)", 0),
        ("tensor in a module that dies late", "import threading; threading.kept = x", 0),
        ("SystemExit(3)", "raise SystemExit(3)", 3),
        ("exception", "raise ValueError('x')", 1),
        ("thread that ended", "import threading; t = threading.Thread(target=lambda: x + x); t.start(); t.join()", 0),
        ("stream and events", "s = torch.neuron.Stream(); e = torch.neuron.Event(); e.record(s)", 0),
        ("explicit empty cache", "del x; torch.neuron.empty_cache()", 0),
    ],
)
def test_exit(name, body, code):
    result = run(f"import torch\nx = torch.ones(100, device='neuron')\n{body}\n")
    assert result.returncode == code, result.stderr[-2000:]


def test_daemon_thread_that_never_stops_does_not_hang_the_exit():
    result = run("""
        import threading, time, torch
        x = torch.ones(10, device="neuron")
        def forever():
            while True:
                x + x
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.3)
        print("leaving", flush=True)
    """, timeout=60)
    # A daemon thread inside torch at interpreter exit aborts stock CPU torch as well (rc 134).
    assert "leaving" in result.stdout and result.returncode in (0, -6, 134), result.stderr[-2000:]


@pytest.mark.parametrize("activities", ["[A.CPU]", "[A.CPU, A.PrivateUse1]"])
def test_profiler_left_open(activities):
    result = run(f"""
        import torch
        from torch.profiler import ProfilerActivity as A
        x = torch.ones(10, device="neuron")
        prof = torch.profiler.profile(activities={activities})
        prof.start()
        x + x
    """)
    assert result.returncode == 0, result.stderr[-2000:]


def test_work_after_shutdown_is_refused():
    passes("""
        import atexit, torch
        x = torch.ones(3, device="neuron")
        from torch_neuronx import _C
        _C._shutdown()
        _C._shutdown()
        try:
            x + x
        except RuntimeError as e:
            assert "shut" in str(e), e
        else:
            raise AssertionError("work was taken after shutdown")
        del x
    """)


def test_spawned_child_works():
    passes("""
        import subprocess, sys, torch
        torch.ones(2, device="neuron").cpu()
        code = "import torch; raise SystemExit(int(torch.ones(3, device='neuron').sum().item()))"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 3
    """)
