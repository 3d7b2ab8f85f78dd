#!/usr/bin/env bash
# PyTorch's operator database on the device against the CPU, float32, forward: the correctness gate.
#
# Two shards run side by side, each in subprocesses of its own. Prints failures and `N passed, N failed`.
# usage: tests/run_opinfo.sh [PYTHON]     environment: OPINFO_DTYPE (float32)
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-$root/.venv/bin/python}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export OMP_NUM_THREADS=1
export TORCH_NEURONX_NEFF_CACHE_DIR=${TORCH_NEURONX_NEFF_CACHE_DIR:-$logs/neff}

for shard in 0 1; do
    "$python" "$root/tests/python/opinfo_sweep.py" "$shard/2" >"$logs/$shard" 2>&1 &
done
wait

grep -hvE '^[0-9]+ passed, [0-9]+ failed$' "$logs/0" "$logs/1"
passed=0
failed=0
for shard in 0 1; do
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$logs/$shard") || counts="0 passed, 1 failed"
    read -r p _ f _ <<<"$counts"
    passed=$((passed + p))
    failed=$((failed + f))
done
echo "$passed passed, $failed failed"
# Fewer than this means that the database was not run, whatever the failures say.
if [ "${OPINFO_DTYPE:-float32}" = float32 ] && [ "$passed" -lt 540 ]; then
    echo "only $passed tests passed, at least 540 of float32 must" >&2
    exit 1
fi
[ "$failed" -eq 0 ]
