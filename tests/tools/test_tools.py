"""Tests of the checks under tools/: a checker that passes everything would go unnoticed."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import check_layers  # noqa: E402
import run_tests  # noqa: E402
import top_length  # noqa: E402


class Layers(unittest.TestCase):
    def refused(self, room, target):
        self.assertIsNotNone(check_layers.check_core_include(room, target), f"{room} -> {target}")

    def allowed(self, room, target):
        self.assertIsNone(check_layers.check_core_include(room, target), f"{room} -> {target}")

    def test_downward_is_allowed(self):
        self.allowed("base", "base/buf.h")
        self.allowed("isa", "base/buf.h")
        self.allowed("cli", "base/buf.h")
        self.allowed("base", "opscope/status.h")

    def test_upward_is_refused(self):
        self.refused("base", "isa/isa.h")
        self.refused("isa", "artifact/program.h")

    def test_wings_do_not_meet(self):
        self.refused("device", "scope/store/store.h")
        self.refused("read", "neuron/device/device.h")
        self.refused("device", "neuron/compiler/compiler.h")
        self.refused("compiler", "neuron/device/device.h")

    def test_runtime_interface_is_for_few(self):
        self.allowed("runtime", "opscope/neuron.h")
        self.refused("read", "opscope/neuron.h")

    def test_paths_must_be_from_src(self):
        self.refused("base", "buf.h")
        self.refused("base", "base/no_such_header.h")

    def test_internals_stay_inside(self):
        self.allowed("base", "base/io_internal.h")
        self.refused("isa", "base/io_internal.h")

    def test_every_room_is_known(self):
        self.assertEqual(check_layers.room_of("neuron/device/pe.c"), "device")
        self.assertEqual(check_layers.room_of("neuron/other/x.c"), None)


class Lengths(unittest.TestCase):
    def test_function_length(self):
        lines = ["static int f(int a,", "             int b)", "{", "    return a;", "}", ""]
        self.assertEqual(list(top_length.functions(lines)), [("static int f(int a,", 5)])

    def test_banned_in_code_only(self):
        path = ROOT / "src/x.c"
        self.assertEqual(len(list(top_length.breaches(path, "strcpy(a, b);", 1))), 1)
        self.assertEqual(list(top_length.breaches(path, '/* strcpy(a, b) */ p("strcpy(");', 1)), [])

    def test_long_files(self):
        self.assertEqual(len(list(top_length.breaches(ROOT / "src/x.c", "", 1001))), 1)
        self.assertEqual(len(list(top_length.breaches(ROOT / "src/x.h", "#ifndef X_H\n", 251))), 1)


class Counts(unittest.TestCase):
    def counts(self, cases, code):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.xml"
            path.write_text(f"<testsuite>{cases}</testsuite>")
            return run_tests.junit_counts(path, code)

    def test_junit(self):
        good, bad = "<testcase name='a'/>", "<testcase name='b'><failure/></testcase>"
        skipped = "<testcase name='c'><skipped/></testcase>"
        self.assertEqual(self.counts(good + bad + skipped, 1), (1, 1))
        self.assertEqual(self.counts(good + good, 0), (2, 0))

    def test_a_died_runner_is_a_failure(self):
        self.assertEqual(self.counts("<testcase name='a'/>", 8), (1, 1))
        self.assertEqual(run_tests.junit_counts(Path("/nonexistent"), 0), (0, 1))


class DeviceProfile(unittest.TestCase):
    def test_the_sample_is_what_its_script_makes(self):
        command = [sys.executable, str(ROOT / "tests/tools/make_device_profile.py"), "--check"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)


class Environment(unittest.TestCase):
    def check(self, requirement):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(requirement)
            file.flush()
            command = [sys.executable, str(ROOT / "tools/check_env.py"), file.name]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_missing_package_is_named(self):
        result = self.check("# comment\nno-such-package==1.0\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no-such-package 1.0 (found none)", result.stdout)


if __name__ == "__main__":
    unittest.main()
