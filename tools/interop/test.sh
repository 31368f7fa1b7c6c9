#!/usr/bin/env bash
# The interoperability test: a simulated card and Linux's soft-iWARP in a guest, each as Initiator and as Responder.
#
#   guest: rdma-peer ─► siw ─► QEMU's user network ─► socket ─► warpline's card, its control program and driver (rdma_peer)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
say() { printf 'interop test: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

start=$SECONDS
tree=$("$root/tools/kernel/fetch.sh" "$here/packages")
"$here/guest.sh" "$tree"
cd "$root"
cargo build --quiet --package warpline-sim --example rdma_peer
peer=${CARGO_TARGET_DIR:-$root/target}/debug/examples/rdma_peer

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/share"

# wait_for FILE TEXT: until a process has written it.
wait_for() {
    for ((i = 0; i < 1200; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return
        sleep 0.1
    done
    cat "$1" >&2 || true
    fail "no line with '$2' in time"
}

# has FILE TEXT: what it has to say.
has() { grep -qxF "$2" "$1" || fail "missing in $(basename "$1"): $2"; }

timeout 240 "$peer" listen 127.0.0.1:0 2 >"$work/responder" 2>&1 &
wait_for "$work/responder" '^listening at '
port=$(sed -n 's/^listening at .*://p' "$work/responder")
forwarded=$((20000 + RANDOM % 20000))

cat >"$work/share/job" <<JOB
for module in virtio_net siw rdma_ucm ib_uverbs; do modprobe \$module; done
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
rdma link add siw0 type siw netdev eth0
echo "Linux \$(uname -r)"
failed=
try() { echo "\$1"; shift; timeout 60 "\$@" || failed=1; }
try "siw connects, writes and reads" rdma-peer blocks 10.0.2.2 $port 20
try "siw connects and sends" rdma-peer messages 10.0.2.2 $port 0
try "siw listens" rdma-peer listen 7100 2 20
echo "verdict: \${failed:+failed}\${failed:-passed}" | sed 's/failed1/failed/'
JOB
"$here/boot.sh" "$tree" "$work/share" 240 \
    -netdev "user,id=net,restrict=off,hostfwd=tcp:127.0.0.1:$forwarded-10.0.2.15:7100" \
    -device virtio-net-pci,netdev=net >"$work/guest" 2>&1 &
guest=$!
wait_for "$work/guest" '^listening'
for revision in 2 1; do
    timeout 120 "$peer" connect "127.0.0.1:$forwarded" "$revision" >"$work/initiator-$revision" 2>&1 ||
        { cat "$work/initiator-$revision" "$work/guest" >&2; fail "the card could not connect with revision $revision"; }
done
wait "$guest" || { cat "$work/guest" "$work/responder" >&2; fail "the guest reports a failure"; }

cat "$work/guest" "$work/responder" "$work"/initiator-*
has "$work/guest" "blocks: 22 sizes, up to octet 180235"
has "$work/guest" "messages: 24"
# What rdma-peer sends: 173 i mod 4097 octets, i from 0 to 23.
has "$work/responder" "24 messages of $(awk 'BEGIN { for (; i < 24; i++) sum += 173 * i % 4097; print sum }') octets"
for revision in 2 1; do
    has "$work/initiator-$revision" "blocks: up to octet 150511"
    has "$work/initiator-$revision" "closed: Finished"
done
say "passed in $((SECONDS - start)) s"
