#!/usr/bin/env bash
# DDP over SCTP between two implementations of SCTP: a simulated card on libusrsctp, and sctp-peer in a guest on Linux's. Each is
# Initiator and Responder. Both directions of the guest's network delay, reorder, repeat and lose packets.
#
#   guest: sctp-peer ─► Linux's SCTP in UDP ─► netem ─► QEMU's user network ─► UDP ─► card of warpline serve, put, get; rdma_peer
#                                                         └─► record ─► tshark
#
# SIZE is octets of what is written and read, 4 MiB unless it is set; NETEM is what happens to packets, in the words of tc-netem(8).
set -euo pipefail

# shellcheck source=tools/interop/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cargo build --quiet --package warpline --features sctp
cargo build --quiet --package warpline-sctp-peer
programs=$(dirname "$peer")/..
warpline=$programs/warpline

size=${SIZE:-$((4 << 20))}
limit=$((60 + size / 50000)) # seconds of a transfer, ten times what it takes
PATIENCE=$((4 * limit))      # of the guest, and of what runs beside it
file=$work/share/file
head -c "$size" /dev/urandom >"$file"
cp "$programs/sctp-peer" "$work/share/"
netem=${NETEM:-delay 2ms 1ms loss 1% duplicate 0.5%}
guest_address=10.0.2.15
encapsulation=9899 # UDP port of SCTP in the guest (RFC 6951)
forwarded=$((20000 + RANDOM % 12000))

# The card as Responder: memory for the guest, and a listener that rejects.
timeout "$PATIENCE" "$warpline" serve --listen sctp://127.0.0.1:0 --size "$size" --count 3 --output "$work/written" --json \
    >"$work/responder" 2>&1 &
responder=$!
peer refuser refuse sctp://127.0.0.1:0 1
wait_for "$work/responder" '"address"'
port=$(sed -n 's/.*"address":"[^"]*:\([0-9]*\)".*/\1/p' "$work/responder")
refuser=$(at refuser)
refuser=${refuser##*:}

{
    guest_has_network sctp sch_netem sch_ingress ifb act_mirred cls_matchall
    cat <<JOB
sysctl -q -w net.sctp.udp_port=$encapsulation net.sctp.rto_initial=1000
ip link add ifb0 type ifb
ip link set ifb0 up
tc qdisc add dev eth0 root netem $netem
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root netem $netem
failed=
try() { echo "\$1"; shift; timeout $limit /mnt/sctp-peer "\$@" || failed=1; }
try 'the guest writes to an STag that is none' bad-stag 10.0.2.2:$port
try 'the guest writes' put /mnt/file 10.0.2.2:$port
try 'the guest reads' get 10.0.2.2:$port $size /mnt/read
try 'the guest indicates another adaptation' indicate 2 10.0.2.2:$refuser
try 'the guest indicates no adaptation' indicate none 10.0.2.2:$refuser
try 'the guest is rejected' rejected 10.0.2.2:$refuser
try 'the guest serves' serve $size 3 /mnt/served
try 'the guest rejects' reject 33 1
for device in eth0 ifb0; do tc -s qdisc show dev \$device | sed -n "s/.*(dropped \([0-9]*\),.*/\$device dropped \1/p" | head -n 1; done
echo "verdict: \${failed:+failed}\${failed:-passed}" | sed s/failed1/failed/
JOB
} >"$work/share/job"
"$here/boot.sh" "$tree" "$work/share" "$PATIENCE" \
    -netdev "user,id=net,restrict=off,hostfwd=udp:127.0.0.1:$forwarded-$guest_address:$encapsulation" \
    -device virtio-net-pci,netdev=net -object "filter-dump,id=record,netdev=net,file=$work/record.pcap" >"$work/guest" 2>&1 &
guest=$!

# The card as Initiator.
card() {
    timeout "$limit" "${@:2}" >"$work/$1" 2>&1 || { cat "$work/$1" "$work/guest" >&2; fail "the card could not: $1"; }
}
wait_for "$work/guest" '^serving at SCTP port' "$PATIENCE"
card fault "$peer" fault bad-stag "sctp://127.0.0.1:$forwarded"
card put "$warpline" put "$file" "sctp://127.0.0.1:$forwarded" --pcap "$work/put.pcapng"
card get "$warpline" get "sctp://127.0.0.1:$forwarded" "$work/read" --length "$size"
wait_for "$work/guest" '^rejecting at SCTP port'
card refused "$peer" refused "sctp://127.0.0.1:$forwarded"
wait "$guest" || { cat "$work/guest" "$work/responder" >&2; fail "the guest reports a failure"; }
wait "$responder" || { cat "$work/responder" >&2; fail "the card as Responder reports a failure"; }
(cd "$work" && grep --binary-files=without-match --with-filename '' guest responder refuser fault put get refused)

# The octets, in all four directions. A comparison finds one that is another.
printf '\xff' | cat - "$file" | head -c "$size" >"$work/other"
for copy in "$work/written" "$work/share/read" "$work/share/served" "$work/read"; do
    cmp "$file" "$copy" || fail "$(basename "$copy") differs from what was sent"
    ! cmp --quiet "$work/other" "$copy" || fail "the comparison finds no difference where there is one"
done

# The guest: each line as often as it must be there.
said() { (($(grep -cxF "$2" "$work/guest") == $1)) || fail "the guest does not say $1 times: $2"; }
said 1 "terminated: invalid STag (DDP, layer 0x1, type 0x1, code 0x00)"
said 1 "put: $size octets"
said 1 "get: $size octets"
said 2 "aborted by the peer"
said 1 "rejected: 33 octets, 33 as agreed"
said 8 "session: over"
# The card.
(($(grep -cF '"closed":true,"end":"closed: both ends have ended it in order"' "$work/responder") == 2)) ||
    fail "the card as Responder does not end two sessions in order"
(($(grep -cF 'invalid STag (DDP' "$work/responder") == 1)) || fail "the card as Responder does not refuse the STag"
has "$work/refuser" "rejected"
has "$work/fault" "terminated: invalid STag (DDP, layer 0x1, type 0x1, code 0x00)"
has "$work/refused" "rejected: 33 octets, 33 as agreed"
for device in eth0 ifb0; do
    grep -qxE "$device dropped [1-9][0-9]*" "$work/guest" || fail "no packet was lost at $device"
done

# tshark on all that has crossed the network: without complaint, and as many segments as sctp-peer has counted.
judge() { "$here/chunks.py" "$@" "$tree" "$work/record.pcap" "$guest_address"; }
judge | tee "$work/judged" || fail "tshark complains"
sum() { sed -nE "s/^segments: ([0-9]+) sent, ([0-9]+) received$/\\$1/p" "$work/guest" | awk '{ sum += $1 } END { print sum + 0 }'; }
for way in "from 1" "to 2"; do
    read -r name field <<<"$way"
    counted=$(sum "$field")
    # Of each side: an Initiate or its answer in eight sessions, and a Terminate in the six that were accepted.
    grep -q "^$name the guest: $counted segments, 14 control messages;" "$work/judged" ||
        fail "sctp-peer counts $counted segments $name the guest, tshark others"
done
# What the card has recorded of its own: Initiate, Accept and both Terminates. Both ends have the address of this machine.
"$here/chunks.py" "$tree" "$work/put.pcapng" 127.0.0.1 >"$work/recorded" || fail "tshark complains of what the card has recorded"
grep -qE '^from the guest: [1-9][0-9]* segments, 4 control messages;' "$work/recorded" || fail "the card has recorded something else"
judge --planted || fail "a planted fault is not found"
say "passed in $((SECONDS - start)) s"
