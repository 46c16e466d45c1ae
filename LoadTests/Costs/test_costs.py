"""Tests of the tables and of the matching of symbol names, without a gateway."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from disassembly import CALL, COLUMNS, plain  # noqa: E402
from thresholds import Thresholds  # noqa: E402

TABLE = """# a comment

              instructions   allocations
echo                 100.0             0
chat                  5000          2.50
"""


class Tables(unittest.TestCase):
    def judge(self, found, record=False, **options):
        with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
            file.write(TABLE)
            file.flush()
            table = Thresholds(file.name, ("instructions", "allocations"), **({"share": 0.03, "least": 0.02} | options))
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                if record:
                    table.record(found)
                status = table.judge(found)
            with open(file.name) as again:
                return status, output.getvalue(), again.read()

    def figures(self, instructions=100, allocations=0):
        return {"echo": {"instructions": instructions, "allocations": allocations},
                "chat": {"instructions": 5000, "allocations": 2.5}}

    def test_a_figure_within_the_tolerance_passes(self):
        self.assertEqual(self.judge(self.figures(102.9, 0.01))[0], 0)

    def test_a_higher_figure_fails(self):
        status, output, _ = self.judge(self.figures(104))
        self.assertEqual(status, 1)
        self.assertIn("echo: instructions were 100 and are 104", output)

    def test_a_lower_figure_fails(self):
        self.assertEqual(self.judge(self.figures(96))[0], 1)

    def test_one_allocation_in_ten_messages_fails(self):
        self.assertEqual(self.judge(self.figures(allocations=0.1))[0], 1)

    def test_each_row_may_have_its_own_tolerance(self):
        rows = {"echo": 0.2, "chat": 0.02}
        self.assertEqual(self.judge(self.figures(allocations=0.1), least=rows)[0], 0)
        self.assertEqual(self.judge(self.figures(allocations=0.3), least=rows)[0], 1)

    def test_a_missing_figure_fails(self):
        found = self.figures()
        del found["chat"]
        self.assertEqual(self.judge(found)[0], 1)

    def test_a_figure_without_a_threshold_fails(self):
        self.assertEqual(self.judge(self.figures() | {"new": {"instructions": 1, "allocations": 1}})[0], 1)

    def test_recording_writes_the_figures(self):
        status, _, text = self.judge(self.figures(50.5, 7), record=True)
        self.assertEqual(status, 0)
        self.assertIn("# a comment", text)
        self.assertIn("50.50", text)

    def test_recording_never_raises_a_ceiling(self):
        status, _, text = self.judge(self.figures(90, 7), record=True, may_rise=False, share=0, least=0)
        self.assertEqual(status, 1)
        self.assertIn("90", text)
        self.assertNotIn(" 7", text)


class Names(unittest.TestCase):
    def test_closures_and_specialisations_belong_to_their_function(self):
        for name in ("Masking.apply(_:to:in:)", "static Masking.apply(_:to:in:)",
                     "specialized static Masking.apply(_:to:in:)",
                     "specialized closure #1 in static Masking.apply(_:to:in:)",
                     "partial apply for closure #1 in static Masking.apply(_:to:in:)"):
            self.assertEqual(plain(name), "Masking.apply")

    def test_calls_and_tail_calls_are_matched(self):
        for line in ("  4e45b3:\tcall   dc760 <swift_release@plt>", "  4e45b3:\tjmp    dc760 <swift_release@plt>",
                     "  4e45b3:\tcall   dc760 <$s6Engine10ConnectionVWOy>"):
            self.assertTrue(COLUMNS["counting"].match(CALL.match(line).group(2)), line)
        self.assertIsNone(CALL.match("  4e45b3:\tjmp    4e45c0 <$s6EngineAAV7receiveyySi+0x10>"))

    def test_forbidden_functions_are_matched(self):
        self.assertTrue(COLUMNS["allocating"].match("swift_allocObject"))
        self.assertTrue(COLUMNS["dynamic"].match("__swift_instantiateConcreteTypeFromMangledName"))
        self.assertFalse(any(pattern.match("memcpy") for pattern in COLUMNS.values()))


if __name__ == "__main__":
    unittest.main()
