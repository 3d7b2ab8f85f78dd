#!/usr/bin/env bash
# Installs the peers of bench/trace_bench.py into bench/.venv: nothing outside that folder changes.
#
#   bench/peers/setup.sh
# What cannot be installed is said at the end and becomes a row "not installed" of the benchmark.
set -uo pipefail
cd "$(dirname "$0")"
venv=../.venv
tracelens=git+https://github.com/AMD-AGI/TraceLens.git@171dd747
missing=()

[ -x $venv/bin/python ] || python3 -m venv $venv || exit 1
while read -r package; do
    case $package in '' | \#*) continue ;; esac
    $venv/bin/python -m pip install --quiet --disable-pip-version-check "$package" -c requirements.txt ||
        missing+=("$package")
done <requirements.txt
GIT_TERMINAL_PROMPT=0 $venv/bin/python -m pip install --quiet --disable-pip-version-check "$tracelens" \
    -c requirements.txt || missing+=("TraceLens ($tracelens)")
for package in "${missing[@]+"${missing[@]}"}"; do
    echo "not installed: $package" >&2
done
[ ${#missing[@]} -eq 0 ]
