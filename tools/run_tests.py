#!/usr/bin/env python3
"""Runs every test stage and closes with one line: "N passed, N failed".

    run_tests.py [stage...]      stages by name, default all; `run_tests.py --list` names them

All stages run even when one fails. A stage whose tools are not there is skipped and says so.
Each stage's full output is in build/test-logs/<stage>.log; of a failing one the end is printed. The
closing counts are also written to build/test-counts.
"""
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
PYTHON = ROOT / ".venv/bin/python"
JOBS = str(os.cpu_count() or 2)
TAIL_LINES = 60


class Skip(Exception):
    """A stage that cannot run here; the text says why."""


class Log:
    """Runs commands of one stage with their output in its log file."""

    def __init__(self, stage):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.path = LOGS / f"{stage}.log"
        self.path.write_text("")

    def run(self, *command, env=None, timeout=3600):
        """Exit code of a command run from the project's root; 124 when it took too long."""
        with open(self.path, "ab") as out:
            out.write(f"$ {' '.join(map(str, command))}\n".encode())
            out.flush()
            try:
                return subprocess.run(list(map(str, command)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.STDOUT, timeout=timeout, check=False,
                                      env={**os.environ, **(env or {})}).returncode
            except subprocess.TimeoutExpired:
                out.write(f"stopped after {timeout} s\n".encode())
                return 124

    def text(self):
        return self.path.read_text(errors="replace")


def one(code):
    """Counts of a stage that is one test."""
    return (1, 0) if code == 0 else (0, 1)


def junit_counts(path, code):
    """(passed, failed) of a JUnit file; a runner that died before writing it is one failure."""
    if not path.exists():
        return 0, 1
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    failed = sum(any(case.find(tag) is not None for tag in ("failure", "error")) for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = len(cases) - failed - skipped
    return passed, failed if failed or code == 0 else 1


def said_counts(log, code):
    """(passed, failed) from the last "N passed, N failed" a script printed."""
    found = re.findall(r"(\d+) passed, (\d+) failed", log.text())
    if not found:
        return one(code)
    passed, failed = map(int, found[-1])
    return passed, failed if code == 0 or failed > 0 else 1


def configure_and_build(log, preset, *settings):
    """Configures a preset and builds it; True when both worked."""
    return (log.run("cmake", "--preset", preset, *settings) == 0 and
            log.run("cmake", "--build", "--preset", preset, "-j", JOBS, "--", "-k", "0") == 0)


def ctest(log, folder, *options):
    result = folder / "ctest.xml"
    result.unlink(missing_ok=True)
    code = log.run("ctest", "--test-dir", folder, "-j", JOBS, "--output-on-failure", "--no-tests=ignore",
                   "--output-junit", result, *options)
    return junit_counts(result, code)


def stage_layers(log):
    """Who includes whom."""
    return one(log.run("python3", "tools/check_layers.py"))


def stage_style(log):
    """Lengths of files, banned functions, include guards."""
    return one(log.run("python3", "tools/top_length.py"))


def stage_tools(log):
    """The checks themselves."""
    code = log.run("python3", "-m", "unittest", "-v", "tests/tools/test_tools.py", "tests/tools/test_bench.py")
    outcomes = re.findall(r"\.\.\. (ok|FAIL|ERROR)$", log.text(), flags=re.M)
    failed = sum(outcome != "ok" for outcome in outcomes)
    return len(outcomes) - failed, failed or (1 if code else 0)


def stage_unit(log):
    """The C core's tests, release build."""
    return ctest(log, BUILD)


def stage_cli(log):
    """Golden tests of the command line."""
    return said_counts(log, log.run("python3", "tests/cli/run.py"))


def stage_bad_inputs(log):
    """The known bad inputs, entry by entry."""
    return said_counts(log, log.run("python3", "tests/bad_inputs.py", "--slow"))


def stage_adapter(log):
    """Tests of the PyTorch adapter."""
    result = BUILD / "pytest.xml"
    result.unlink(missing_ok=True)
    code = log.run(PYTHON, "-m", "pytest", "tests/python", "-q", "-p", "no:cacheprovider",
                   f"--junitxml={result}")
    return junit_counts(result, code)


def check_symbols(log, usr):
    """0 when libopscope.a offers exactly what its headers declare."""
    listed = subprocess.run(["nm", "-g", "--defined-only", usr / "lib/libopscope.a"], capture_output=True, text=True,
                            check=False).stdout
    defined = set(re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$", listed, flags=re.M))
    headers = "".join(path.read_text() for path in (usr / "include/opscope").glob("*.h"))
    declared = set(re.findall(r"^OSC_API [^;]*?\b(osc_\w+)\(", headers, flags=re.M))
    with open(log.path, "a") as out:
        out.write(f"only in libopscope.a: {sorted(defined - declared)}\nonly declared: {sorted(declared - defined)}\n")
    return int(not declared or defined != declared)


def stage_install(log):
    """make install into a staging folder: the program runs, C examples compile and run from there."""
    stage = BUILD / "install-test"
    shutil.rmtree(stage, ignore_errors=True)
    if log.run("cmake", "--install", BUILD, "--prefix", "/usr", env={"DESTDIR": str(stage)}) != 0:
        return 0, 1
    usr = stage / "usr"
    results = [log.run(usr / "bin/opscope", "--version")]
    wanted = [usr / "lib/libopscope.a", usr / "lib/pkgconfig/opscope.pc", usr / "share/man/man1/opscope.1",
              usr / "share/bash-completion/completions/opscope"]
    results += [log.run("test", "-s", path) for path in wanted]
    results.append(check_symbols(log, usr))
    flags = [f"-I{usr}/include", f"-L{usr}/lib", "-lopscope", "-lz", "-lm", "-ldl", "-pthread"]
    if shutil.which("pkg-config"):
        asked = subprocess.run(["pkg-config", "--cflags", "--libs", "opscope"], capture_output=True, text=True,
                               check=False, env={**os.environ, "PKG_CONFIG_PATH": str(usr / "lib/pkgconfig")})
        results.append(asked.returncode)
        flags = asked.stdout.split()
    arguments = {"trace_top": ROOT / "tests/data/scope/cuda.json"}
    for source in sorted((ROOT / "examples/c").glob("*.c")):
        program = stage / source.stem
        built = log.run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
        argument = arguments.get(source.stem, stage / f"{source.stem}_output")
        results.append(built or log.run(program, argument, timeout=120))
    failed = sum(code != 0 for code in results)
    return len(results) - failed, failed


def build_and_test(log, preset, *options):
    """Builds a preset and runs its tests; what a failed build leaves out counts as failed too."""
    built = configure_and_build(log, preset)
    passed, failed = ctest(log, BUILD / preset, *options)
    return passed, failed + (not built)


def stage_asan(log):
    """The C core's tests under the address and undefined behaviour sanitizers."""
    return build_and_test(log, "asan", "-E", "headers_compile_alone|_slow$")


def stage_bad_inputs_asan(log):
    """The known bad inputs again, with the sanitizers watching."""
    program = BUILD / "asan/opscope"
    if not program.exists():
        raise Skip("the asan stage has built no program")
    return said_counts(log, log.run("python3", "tests/bad_inputs.py", "--opscope", program))


def stage_tsan(log):
    """The threaded suites under the thread sanitizer."""
    return build_and_test(log, "tsan", "-R", "thread|source|runtime|queue|capture|capi|lod", "-E", "_slow$")


def stage_warnings(log):
    """Both compilers build everything without a warning."""
    presets = {"gcc": "m32", "clang": "clang"}  # the m32 preset is the release build and the 32-bit tests
    found = [preset for compiler, preset in presets.items() if shutil.which(compiler)]
    if len(found) < len(presets):
        print("   " + ", ".join(c for c in presets if not shutil.which(c)) + " is not installed: not tried")
    failed = sum(not configure_and_build(log, preset, "-DOSC_WERROR=ON") for preset in found)
    return len(found) - failed, failed


def stage_m32(log):
    """base, isa and artifact as a 32-bit build."""
    source = "int main(void) { return 0; }"
    can = subprocess.run(["cc", "-m32", "-x", "c", "-", "-o", "/dev/null"], input=source, text=True,
                         capture_output=True, check=False)
    if can.returncode != 0:
        raise Skip("the compiler has no 32-bit libraries")
    if not configure_and_build(log, "m32", "-DOSC_WERROR=ON"):
        return 0, 1
    return ctest(log, BUILD / "m32", "-L", "m32")


def stage_opinfo(log):
    """PyTorch's operator database, device against CPU."""
    return said_counts(log, log.run("bash", "tests/run_opinfo.sh", timeout=5400))


STAGES = {
    "layers": stage_layers,
    "style": stage_style,
    "tools": stage_tools,
    "unit": stage_unit,
    "cli": stage_cli,
    "bad_inputs": stage_bad_inputs,
    "adapter": stage_adapter,
    "install": stage_install,
    "asan": stage_asan,
    "bad_inputs_asan": stage_bad_inputs_asan,
    "tsan": stage_tsan,
    "warnings": stage_warnings,
    "m32": stage_m32,
    "opinfo": stage_opinfo,
}


def run_stage(name):
    """Runs one stage and prints its heading and result; (passed, failed)."""
    print(f"== {name}: {(STAGES[name].__doc__ or name).strip().splitlines()[0]}", flush=True)
    log = Log(name)
    start = time.monotonic()
    try:
        passed, failed = STAGES[name](log)
    except Skip as reason:
        print(f"   skipped: {reason}")
        return 0, 0
    except Exception as fault:  # a fault of this script must not lose the other stages
        print(f"   {type(fault).__name__}: {fault}")
        passed, failed = 0, 1
    if failed:
        print("\n".join("   | " + line for line in log.text().splitlines()[-TAIL_LINES:]))
    print(f"   {passed} ok, {failed} not ok, {time.monotonic() - start:.0f} s, log {log.path.relative_to(ROOT)}",
          flush=True)
    return passed, failed


def main():
    names = sys.argv[1:] or list(STAGES)
    if names == ["--list"]:
        print("\n".join(STAGES))
        return 0
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"run_tests: no stage '{unknown[0]}'; stages: {' '.join(STAGES)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    results = [(name, *run_stage(name)) for name in names]
    passed, failed = sum(r[1] for r in results), sum(r[2] for r in results)
    bad = [name for name, _, count in results if count]
    print(f"{len(results)} stages in {time.monotonic() - start:.0f} s"
          + (f"; failing: {', '.join(bad)}" if bad else ""))
    closing = f"{passed} passed, {failed} failed"
    (BUILD / "test-counts").write_text(closing + "\n")
    print(closing, flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
