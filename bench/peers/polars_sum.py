"""Count and sum of durations by name with polars: read_json with a schema of the five fields that are needed."""
import sys

import polars as pl

fields = {"ph": pl.String, "cat": pl.String, "name": pl.String, "ts": pl.Float64, "dur": pl.Float64}
document = pl.read_json(sys.argv[1], schema={"traceEvents": pl.List(pl.Struct(fields))})
events = document.explode("traceEvents").unnest("traceEvents")
print(len(events.filter(pl.col("ph") == "X").group_by("name").agg(pl.len(), pl.col("dur").sum())))
