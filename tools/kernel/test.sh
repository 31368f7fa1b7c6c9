#!/usr/bin/env bash
# The kernel test: the driver's test program and the simulated card, first over the card's socket alone, then in a guest
# through a distribution kernel's VFIO and an IOMMU.
#
#   card-program ───────────────────────────────────────────► socket ─► warpline card
#   guest: card-program ─► Linux ─► QEMU's IOMMU, vfio-user ────┘
#
# `test.sh stock` leaves the card out, as it is where no QEMU can be had that attaches one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
captures=$root/testbenches/captures
target=x86_64-unknown-linux-gnu
build=${CARGO_TARGET_DIR:-$root/target}

start=$SECONDS
say() { printf 'kernel test: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

work=$(mktemp -d)
card=
cleanup() {
    [[ -z $card ]] || kill "$card" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# The guest has no libraries.
(
    cd "$root"
    RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --package warpline-card-program --target "$target"
)
strip -o "$work/card-program" "$build/$target/debug/warpline-card-program"
guest_files=("$work/card-program" bin/card-program)
devices=(-device "pcie-root-port,id=stock-port,bus=pcie.0,addr=6" -device "rocker,bus=stock-port,name=stock")

if [[ ${1:-} != stock ]] && tree=$("$here/fetch.sh" "$here/packages-vfio-user"); then
    (cd "$root" && cargo build --quiet --package warpline)
    socket=$work/card.sock
    "$build/debug/warpline" card --socket "$socket" --serve-traffic "$captures"/*/ 2>"$work/card.log" &
    card=$!
    while [[ ! -S $socket ]]; do
        kill -0 "$card" 2>/dev/null || fail "the card does not start: $(tail -n 5 "$work/card.log")"
        sleep 0.2
    done

    echo "card at a socket"
    "$work/card-program" check "$socket" "$captures"/*/
    echo "card at a socket, a program killed in mid-traffic, another one after that"
    "$here/kill-busy" "$work/card-program" busy "$socket" "$captures"/*/
    "$work/card-program" play "$socket" "$captures/crc1-rev2-writes" "$captures/crc1-rev2-mixed"

    # The same capture with the record of one octet changed.
    planted=$work/planted/crc1-rev2-badstag
    mkdir -p "$work/planted"
    cp -r "$captures/crc1-rev2-badstag" "$planted"
    { gzip -dc "$captures/crc1-rev2-badstag/memory.bin.gz" | head -c -1 && printf '\0'; } | gzip -1 >"$work/memory"
    mv -f "$work/memory" "$planted/memory.bin.gz"

    guest_files+=("$captures" captures "$work/planted" planted)
    devices+=(-device "{\"driver\":\"vfio-user-pci\",\"x-msg-timeout\":60000,\"socket\":{\"type\":\"unix\",\"path\":\"$socket\"},\"bus\":\"pcie.0\",\"addr\":\"0x5\"}")
else
    tree=$("$here/fetch.sh" "$here/packages-stock") || fail "QEMU and a kernel cannot be had: nothing is tested"
    say "!!!"
    say "!!! THE CARD IS NOT TESTED: no QEMU that can attach it. Only the backends are, with a stock device."
    say "!!!"
fi

"$here/initramfs.sh" "$tree" "$work/initramfs" "${guest_files[@]}"
if ! "$here/boot.sh" "$tree" "$work/initramfs" 240 "${devices[@]}"; then
    [[ -z $card ]] || printf '%s\n' '--- card' "$(tail -n 20 "$work/card.log")" >&2
    exit 1
fi
seconds=$((SECONDS - start))
if [[ -n $card ]]; then say "passed in $seconds s"; else say "the stock device passed in $seconds s, THE CARD WAS NOT TESTED"; fi
