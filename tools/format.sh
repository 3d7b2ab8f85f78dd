#!/usr/bin/env bash
# Formats all C and C++ sources; with --check only says which are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-format >/dev/null; then
    echo "format: clang-format is not installed; nothing done"
    exit 0
fi
mapfile -t files < <(find src include tests bench examples python/csrc -name .venv -prune -o \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -print)
if [ "${1:-}" = --check ]; then
    clang-format --dry-run --Werror "${files[@]}"
else
    clang-format -i "${files[@]}"
fi
