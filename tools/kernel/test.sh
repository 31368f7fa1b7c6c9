#!/usr/bin/env bash
# The kernel test: a distribution kernel with an IOMMU, and the driver's test program on top of its VFIO.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=x86_64-unknown-linux-gnu

say() { printf 'kernel test: %s\n' "$*" >&2; }

if tree=$("$here/fetch.sh" "$here/packages-vfio-user"); then
    :
elif tree=$("$here/fetch.sh" "$here/packages-stock"); then
    say "!!! there is no QEMU here that can attach a card: the backends are tested with a stock device ONLY"
else
    say "neither QEMU can be had"
    exit 1
fi

# The guest has no libraries.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --quiet --manifest-path "$root/Cargo.toml" --package warpline-card-program --target "$target"
program=${CARGO_TARGET_DIR:-$root/target}/$target/debug/warpline-card-program
strip -o "$work/card-program" "$program"

"$here/initramfs.sh" "$tree" "$work/initramfs" "$work/card-program" bin/card-program
"$here/boot.sh" "$tree" "$work/initramfs" 120 \
    -device pcie-root-port,id=stock-port,bus=pcie.0,addr=6 -device rocker,bus=stock-port,name=stock
