"""Count and sum of durations by name with HolisticTraceAnalysis: its parser as configured by default, then a group-by."""
import sys

from hta.common.trace_parser import parse_trace_dataframe
from hta.configs.parser_config import ParserConfig

_, events, symbols = parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())
print(len(events.groupby("name")["dur"].agg(["count", "sum"])), len(symbols.get_sym_table()))
