"""Tests of bench/trace_bench.py: what it reads from other programs' output, how it judges, what it prints. No times."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import _trace_peers  # noqa: E402
import trace_bench  # noqa: E402

LOD = """10000000 intervals, 64 tracks, 160 rows, 1 threads
  build             13.39 ns an interval, 13.62 bytes an interval
  window 1/1          20.8 ns a pixel of a row,    53.7 ns a pixel of a track
  window 1/1000        4.9 ns a pixel of a row,    13.3 ns a pixel of a track
  brute force       682.2 ns a pixel of a track, 0 of 1600 pixels differ
"""


class Reading(unittest.TestCase):
    def test_level_of_detail(self):
        self.assertEqual(trace_bench.lod_figures(LOD), (13.39, [53.7, 13.3]))
        self.assertEqual(trace_bench.lod_figures(""), (None, []))

    def test_environment_names_the_machine(self):
        self.assertRegex(_trace_peers.environment(), r"\d+ cores, \d+ GB")

    def test_a_missing_program_gives_nothing(self):
        self.assertEqual(_trace_peers.output("/no/such/program"), "")


def bench(folder):
    """A bench that has measured nothing yet."""
    made = trace_bench.Bench.__new__(trace_bench.Bench)
    made.rows, made.verdicts, made.programs = [], [], Path(folder)
    return made


class Judging(unittest.TestCase):
    def test_directions(self):
        b = bench(".")
        b.verdict("memory", 10.0, 12.0, "MB", True)
        b.verdict("memory", 13.0, 12.0, "MB", True)
        b.verdict("ratio", 1.2, 1.1, "x", False)
        b.verdict("ratio", 1.0, 1.1, "x", False)
        b.verdict("unknown", None, 1.0, "x", True, "not built")
        self.assertEqual([v["met"] for v in b.verdicts], [True, False, True, False, None])
        lines = trace_bench.verdict_lines(b.verdicts)
        self.assertIn("NOT MET", lines[3])
        self.assertIn("(not built)", lines[-1])

    def test_rates_are_of_the_plain_size(self):
        b = bench(".")
        trace = {"name": "t", "bytes": 200_000_000}
        row = b.add(trace, "tool", "1", "tool FILE", {"wall_s": 1.0, "cpu_s": 0.5, "peak_bytes": 50_000_000, "runs": 5})
        self.assertEqual((row["mb_per_cpu_s"], row["memory_x"]), (400.0, 0.25))

    def test_a_missing_peer_is_a_row(self):
        b = bench(".")
        self.assertIsNone(b.add({"name": "t", "bytes": 1}, "peer", "", "peer FILE", None, "not installed: like this"))
        self.assertIn("not installed: like this", "\n".join(trace_bench.table_lines(b.rows)))


class Measuring(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc"), "no compiler")
    def test_time_and_memory_of_a_command(self):
        with tempfile.TemporaryDirectory() as folder:
            b = bench(folder)
            b.measure_program = Path(folder) / "measure"
            self.assertEqual(_trace_peers.compile_program(_trace_peers.PEERS / "measure.c", b.measure_program), "")
            run = b.once([sys.executable, "-c", "x = bytearray(80_000_000)"])
            small = b.once(["true"])
            self.assertGreater(run["peak_bytes"], 80_000_000)
            self.assertLess(small["peak_bytes"], 20_000_000)  # not that of this interpreter
            self.assertGreaterEqual(run["cpu_s"], 0)
            self.assertIsNone(b.once(["false"]))
            self.assertEqual(b.problem, "exit 1")


if __name__ == "__main__":
    unittest.main()
