#!/usr/bin/env bash
# 64 MiB from Linux's soft-iWARP through the card's RTL into host memory, over a path that cuts, reorders, repeats and loses
# segments between socket and card.
set -euo pipefail

PATIENCE=1600
# shellcheck source=tools/interop/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

length=${LENGTH:-$((64 << 20))}
peer card file 127.0.0.1:0 "$length"
card=$(at card)
{
    guest_begins
    echo "timeout 1500 rdma-peer file 10.0.2.2 ${card##*:} && echo 'verdict: passed'"
} >"$work/share/job"
"$here/boot.sh" "$tree" "$work/share" 1550 -netdev user,id=net,restrict=off -device virtio-net-pci,netdev=net \
    >"$work/guest" 2>&1 || { cat "$work/guest" "$work/card" >&2; fail "the guest reports a failure"; }
wait_for "$work/card" '^done'
(cd "$work" && grep --with-filename '' guest card)
has "$work/guest" "file: $length octets"
has "$work/card" "others: 0"
has "$work/card" "closed: both ends have ended it in order"
say "passed in $((SECONDS - start)) s"
