"""Count and sum of durations by name with orjson: what a short Python script does."""
import collections
import sys

import orjson

with open(sys.argv[1], "rb") as file:
    events = orjson.loads(file.read())["traceEvents"]
sums = collections.defaultdict(lambda: [0, 0.0])
for event in events:
    if event["ph"] == "X":
        entry = sums[event["name"]]
        entry[0] += 1
        entry[1] += event["dur"]
print(len(sums))
