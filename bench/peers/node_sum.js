// Count and sum of durations by name with JSON.parse: what a viewer in a browser begins with.
const events = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8")).traceEvents;
const sums = new Map();
for (const event of events) {
  if (event.ph !== "X") continue;
  const entry = sums.get(event.name) ?? [0, 0];
  entry[0] += 1;
  entry[1] += event.dur;
  sums.set(event.name, entry);
}
console.log(sums.size);
