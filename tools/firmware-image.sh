#!/usr/bin/env bash
# firmware-image.sh build|check: makes firmware/image/control.bin, or makes it elsewhere and compares.
#
# The compiler is pinned, since another one gives other octets. Exit code 3: it, or its core library for the soft processor,
# cannot be had here.
set -euo pipefail

toolchain=1.95.0
target=riscv32i-unknown-none-elf
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
image=$root/firmware/image/control.bin
built=${CARGO_TARGET_DIR:-$root/target}/$target/firmware/control

say() { printf 'firmware image: %s\n' "$*" >&2; }

if ! rustup target list --installed --toolchain "$toolchain" 2>/dev/null | grep -qx "$target"; then
    # Where the compiler is there already, only the library is fetched: an installation would replace the compiler under builds
    # that use it.
    rustup target add --toolchain "$toolchain" "$target" >/dev/null 2>&1 ||
        rustup toolchain install "$toolchain" --profile minimal --target "$target" >/dev/null 2>&1 || {
        say "Rust $toolchain for $target cannot be had here"
        exit 3
    }
fi

cd "$root"
# No path of this machine may get into the image.
RUSTFLAGS="--remap-path-prefix=$root=warpline --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
    rustup run "$toolchain" cargo build --quiet --locked --profile firmware --target "$target" --package warpline-firmware-image --bin control

case ${1:-} in
    build)
        cp "$built" "$image"
        say "$(stat --format %s "$image") octets"
        ;;
    check)
        cmp "$built" "$image" || {
            say "control.bin is not what its sources make: make firmware-image"
            exit 1
        }
        say "control.bin is what its sources make, $(stat --format %s "$image") octets"
        ;;
    *)
        echo "usage: firmware-image.sh build|check" >&2
        exit 2
        ;;
esac
