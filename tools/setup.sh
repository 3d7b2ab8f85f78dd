#!/usr/bin/env bash
# Makes the machine ready: Debian packages, the project's Python environment, the build, the adapter.
#
#   tools/setup.sh [packages|python|build|all]     (default: all)
#
# May be run again at any time. Each step first looks whether its work is done, so that a second run
# takes seconds and needs no network. Nothing outside the checkout is changed except Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
build=build
jobs=${JOBS:-$(nproc)}
requirements=tools/requirements.txt

# needed to build and to run
packages=(build-essential cmake ninja-build python3 python3-venv python3-dev zlib1g-dev)
# faster gzip and zstd traces; and what only some stages of the tests need, which are skipped without
extra_packages=(libisal-dev libzstd-dev clang libclang-rt-14-dev gcc-multilib)

say() { printf '%s\n' "setup: $*"; }

missing_packages() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
    done
}

# A machine without dpkg may have all tools under other names: then only the tools themselves count.
have_tools() {
    local tool
    for tool in cc cmake ninja python3; do
        command -v "$tool" >/dev/null || return 1
    done
    printf '#include <zlib.h>\nint main(void) { return 0; }\n' | cc -x c -fsyntax-only - 2>/dev/null
}

install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        have_tools && return 0
        say "this is no Debian system; install a C compiler, cmake, ninja, python3 with headers, zlib headers"
        return 1
    fi
    local needed extra
    mapfile -t needed < <(missing_packages "${packages[@]}")
    mapfile -t extra < <(missing_packages "${extra_packages[@]}")
    [ $((${#needed[@]} + ${#extra[@]})) -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        if [ ${#needed[@]} -eq 0 ] || have_tools; then
            return 0
        fi
        say "these Debian packages are missing; install them and run the command again:"
        printf '    sudo apt-get install -y --no-install-recommends %s\n' "${needed[*]} ${extra[*]}"
        return 1
    fi
    say "installing Debian packages: ${needed[*]} ${extra[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    if [ ${#needed[@]} -gt 0 ]; then
        apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
    fi
    local name
    for name in "${extra[@]}"; do
        apt-get install -y -qq --no-install-recommends "$name" >/dev/null ||
            say "package $name is not to be had; what needs it is left out (docs/dependencies.md)"
    done
}

# Python 3.11 or newer with its headers: the system's, else the first on PATH that will do.
find_python() {
    local candidate
    for candidate in /usr/bin/python3.11 /usr/bin/python3 python3.11 python3 python3.12 python3.13; do
        if "$candidate" - 2>/dev/null <<'PY'
import os, sys, sysconfig
import ensurepip, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(header)))
PY
        then
            echo "$candidate"
            return 0
        fi
    done
    say "no Python 3.11 or newer with headers (Python.h) found" >&2
    return 1
}

hash_of() { cat "$@" | sha256sum | cut -d' ' -f1; }

make_environment() {
    local wanted python
    wanted=$(hash_of $requirements)
    if [ -x $venv/bin/python ] && [ "$(cat $venv/requirements.stamp 2>/dev/null)" = "$wanted" ] &&
        $venv/bin/python tools/check_env.py $requirements >/dev/null 2>&1; then
        return 0
    fi
    if ! [ -x $venv/bin/python ] || ! $venv/bin/python -c 'import pip' 2>/dev/null; then
        python=$(find_python)
        say "making $venv with $python"
        rm -rf $venv
        "$python" -m venv $venv
    fi
    if ! $venv/bin/python tools/check_env.py $requirements; then
        say "installing Python packages into $venv (torch is large; this takes a few minutes)"
        $venv/bin/python -m pip install --quiet --disable-pip-version-check -r $requirements
        $venv/bin/python tools/check_env.py $requirements
    fi
    echo "$wanted" >$venv/requirements.stamp
}

build_all() {
    # a build folder of another checkout, or of another CMake, cannot be reused
    if [ -f $build/CMakeCache.txt ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" $build/CMakeCache.txt; then
        rm -rf $build/CMakeCache.txt $build/CMakeFiles
    fi
    mkdir -p $build
    cmake --preset release -DOSC_PYTHON="$PWD/$venv/bin/python" >$build/configure.log 2>&1 ||
        { cat $build/configure.log; return 1; }
    cmake --build $build -j "$jobs"
}

# The adapter is used from the tree: what is installed is a pointer to python/ and its entry points.
install_adapter() {
    [ -f python/pyproject.toml ] || return 0
    local wanted
    local -a described=(python/pyproject.toml)
    [ ! -f python/setup.py ] || described+=(python/setup.py)
    wanted="$(hash_of "${described[@]}") $PWD"
    if [ "$(cat $venv/adapter.stamp 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    say "installing the adapter into $venv"
    $venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --no-build-isolation --no-deps -e python
    echo "$wanted" >$venv/adapter.stamp
}

# Two runs at once in one checkout would step on each other; the second waits.
if command -v flock >/dev/null; then
    mkdir -p $build
    exec 9>$build/setup.lock
    flock 9
fi

case ${1:-all} in
packages) install_packages ;;
python) make_environment ;;
build) build_all ;;
all)
    install_packages
    make_environment
    build_all
    install_adapter
    ;;
*)
    say "unknown step '$1'; one of: packages python build all"
    exit 2
    ;;
esac
