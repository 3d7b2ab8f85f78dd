#!/usr/bin/env bash
# Runs the benchmarks: C programs of bench/*.c, then scripts bench/*.py, each by itself.
#   tools/bench.sh [name...]    only those whose name contains one of the words
set -euo pipefail
cd "$(dirname "$0")/.."

wanted() {
    [ ${#words[@]} -gt 0 ] || return 0
    local word
    for word in "${words[@]}"; do
        [[ $1 == *"$word"* ]] && return 0
    done
    return 1
}

words=("$@")
failed=0
cmake --build build --target benchmarks
for program in build/bench/*; do
    if [ -f "$program" ] && [ -x "$program" ] && wanted "$program"; then
        echo "== ${program##*/}"
        "$program" || failed=1
    fi
done
for script in bench/*.py; do
    case ${script##*/} in
    _* | \*.py) continue ;;
    esac
    if wanted "$script"; then
        echo "== ${script##*/}"
        .venv/bin/python "$script" || failed=1
    fi
done
exit $failed
