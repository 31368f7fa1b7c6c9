#!/usr/bin/env bash
# The interoperability test: a simulated card and Linux's soft-iWARP in a guest, each as Initiator and as Responder.
#
#   guest: rdma-peer ─► siw ─► QEMU's user network ─► socket ─► warpline's card, its control program and driver (rdma_peer)
#                                                       └─► records ─► tshark, beside `warpline replay`
set -euo pipefail

RECORDS=1

# shellcheck source=tools/interop/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What siw does as Initiator: case, octets of private data, messages that arrive, and the error with which the card ends the
# stream, as its Terminate has it (RFC 5040 §4.8). siw counts private data and its own 4 octets of IRD and ORD in 8 bits, so 251
# octets are its most; and as a user's program has it, its Send with Invalidate names STag 0, which the card must refuse.
sum=$(awk 'BEGIN { for (; i < 24; i++) sum += 173 * i % 4097; print sum }')
initiator_cases=(
    "blocks 20 0:0"
    "messages 0 24:$sum"
    "messages 1 24:$sum"
    "messages 251 24:$sum"
    "invalidate 0 0:0 STag cannot be invalidated (RDMAP, layer 0x0, type 0x1, code 0x09)"
    "bad-stag 0 0:0 invalid STag (DDP, layer 0x1, type 0x1, code 0x00)"
    "out-of-bounds 0 0:0 base or bounds violation (DDP, layer 0x1, type 0x1, code 0x01)"
    "read-out-of-bounds 0 0:0 base or bounds violation (RDMAP, layer 0x0, type 0x1, code 0x01)"
    "too-long 0 0:0 message too long for the buffer (DDP, layer 0x1, type 0x2, code 0x05)"
    "corrupted 0 0:0 CRC does not match (MPA, layer 0x2, type 0x0, code 0x02)"
)
# What the card does as Initiator, and the error of siw's Terminate. siw calls a message that is too long one without a buffer.
responder_cases=(
    "bad-stag invalid STag (DDP, layer 0x1, type 0x1, code 0x00)"
    "out-of-bounds base or bounds violation (DDP, layer 0x1, type 0x1, code 0x01)"
    "read-out-of-bounds base or bounds violation (RDMAP, layer 0x0, type 0x1, code 0x01)"
    "too-long invalid MSN, no buffer available (DDP, layer 0x1, type 0x2, code 0x02)"
    "invalidate invalid STag (DDP, layer 0x1, type 0x1, code 0x00)"
)
finished="closed: both ends have ended it in order"
# Octet of the stream from the Initiator that is inverted on the way of "corrupted": in an FPDU of the write.
corrupted=20000

peer responder listen 127.0.0.1:0 ${#initiator_cases[@]}
SOFT_PROCESSOR=1 peer refuser refuse 127.0.0.1:0 1
SOFT_PROCESSOR=1 peer responder-on-soft-processor listen 127.0.0.1:0 1
port=$(at responder)
port=${port##*:}
peer relay relay "127.0.0.1:$port" $corrupted
CRC_OFF=1 peer responder-without-crc listen 127.0.0.1:0 1
MARKERS=1 peer responder-with-markers listen 127.0.0.1:0 1
refuser=$(at refuser)
relay=$(at relay)
without_crc=$(at responder-without-crc)
on_processor=$(at responder-on-soft-processor)
forwarded=$((20000 + RANDOM % 12000)) # below the ports that Linux gives to connections

{
    guest_begins
    cat <<'JOB'
failed=
try() { echo "$1"; shift; timeout 60 "$@" || failed=1; }
JOB
    for case in "${initiator_cases[@]}"; do
        read -r name private _ <<<"$case"
        to=$port
        [[ $name != corrupted ]] || to=${relay##*:}
        echo "try 'siw connects: $name, $private octets of private data' rdma-peer $name 10.0.2.2 $to $private"
    done
    echo "try 'siw connects: blocks, a soft processor' rdma-peer blocks 10.0.2.2 ${on_processor##*:} 20"
    echo "try 'siw connects: blocks, CRCs off' rdma-peer blocks 10.0.2.2 ${without_crc##*:} 20"
    echo "try 'siw is refused' rdma-peer refused 10.0.2.2 ${refuser##*:} 5"
    echo "timeout 120 rdma-peer refuse 7101 40 &"
    echo "try 'siw listens' rdma-peer listen 7100 $((${#responder_cases[@]} + 5)) 20"
    # shellcheck disable=SC2016 # the guest's shell fills these in
    echo 'wait; echo "verdict: ${failed:+failed}${failed:-passed}" | sed s/failed1/failed/'
} >"$work/share/job"
"$here/boot.sh" "$tree" "$work/share" 560 \
    -netdev "user,id=net,restrict=off,hostfwd=tcp:127.0.0.1:$forwarded-10.0.2.15:7100,hostfwd=tcp:127.0.0.1:$((forwarded + 1))-10.0.2.15:7101" \
    -device virtio-net-pci,netdev=net >"$work/guest" 2>&1 &
guest=$!
wait_for "$work/guest" '^siw listens'
wait_for "$work/guest" '^listening'

# card NAME WORD...: runs the card's end as Initiator, to its end.
card() {
    recorded "$1" timeout 120 "$peer" "${@:2}" >"$work/$1" 2>&1 ||
        { cat "$work/$1" "$work/guest" >&2; fail "the card could not: ${*:2}"; }
}
for revision in 2 1; do card "initiator-$revision" connect "127.0.0.1:$forwarded" "$revision"; done
CRC_OFF=1 card without-crc connect "127.0.0.1:$forwarded" 2
# Without CRCs what the path does to an octet arrives, in both places, which shows that neither end checks one.
peer damage relay "127.0.0.1:$forwarded" $corrupted
CRC_OFF=1 card without-crc-damaged damaged "$(at damage)"
for case in "${responder_cases[@]}"; do
    read -r name _ <<<"$case"
    card "fault-$name" fault "$name" "127.0.0.1:$forwarded"
done
peer way relay "127.0.0.1:$forwarded" $corrupted
card fault-corrupted fault write "$(at way)"
card refused refused "127.0.0.1:$((forwarded + 1))"
# siw has no markers: another card is the peer.
MARKERS=1 card initiator-with-markers small "$(at responder-with-markers)"
wait "$guest" || { cat "$work/guest" "$work/responder" >&2; fail "the guest reports a failure"; }

(cd "$work" && grep --binary-files=without-match --with-filename '' guest responder* refuser initiator-? without-crc* fault-* refused)

# The card as Responder: all of what it reports of each connection, in order.
{
    for case in "${initiator_cases[@]}"; do
        read -r name private messages error <<<"$case"
        echo "request: $private octets of private data, $private as agreed"
        [[ -z $error ]] || echo "terminating: $error"
        echo "$finished"
        echo "${messages%:*} messages of ${messages#*:} octets"
    done
} >"$work/expected"
grep -E '^(request|terminating|closed|[0-9]+ messages)' "$work/responder" | diff "$work/expected" - >&2 ||
    fail "the card as Responder reports something else"
has "$work/refuser" "rejected"
# The card as Initiator.
for revision in 2 1; do
    has "$work/initiator-$revision" "blocks: up to octet 150511"
    has "$work/initiator-$revision" "$finished"
done
for case in "${responder_cases[@]}"; do
    read -r name error <<<"$case"
    has "$work/fault-$name" "terminated: $error"
done
# siw reports a CRC error by numbers of its own (layer 0, type 2, code 2).
has "$work/fault-corrupted" "terminated: an error of no known number (RDMAP, layer 0x0, type 0x2, code 0x02)"
has "$work/without-crc" "blocks: up to octet 150511"
has "$work/without-crc-damaged" "damaged: 1 octets"
has "$work/responder-without-crc" "$finished"
has "$work/responder-on-soft-processor" "$finished"
has "$work/refused" "rejected: 40 octets, 40 as agreed"
# siw.
(($(grep -cx "blocks: 22 sizes, up to octet 180235" "$work/guest") == 3)) || fail "siw did not write all blocks, with CRCs and without, and to a soft processor"
(($(grep -cx "messages: 24" "$work/guest") == 3)) || fail "siw did not send all messages"
(($(grep -cx disconnected "$work/guest") == 6)) || fail "siw did not see the end of each faulty connection"
has "$work/guest" "private data: 33 octets, 33 as agreed"
has "$work/guest" "receive: local length error"
has "$work/guest" "receive: 64 octets, sum 00000000"
has "$work/initiator-with-markers" "small: 64450 octets"

# tshark on what the cards have sent and received. Without CRCs the field is zero, of which tshark says nothing.
judged() { printf '%s.pcapng\n' "${@/#/$work/}"; }
crc=(initiator-{1,2} initiator-with-markers fault-{bad-stag,out-of-bounds,read-out-of-bounds,too-long,invalidate,corrupted} refused)
mapfile -t records < <(judged "${crc[@]}" responder without-crc responder-without-crc)
"$here/judge.sh" "$tree" "${records[@]}" | tee "$work/judged"
for record in "${crc[@]}"; do
    grep -qE "^$record: 1 connections, ([0-9]+) FPDUs, \1 good CRCs, 0 bad CRCs, [0-9]+ markers, 0 malformed$" "$work/judged" ||
        fail "tshark finds fault with what the card has sent as $record"
done
grep -qE '^initiator-with-markers: .* 1[0-9][0-9] markers' "$work/judged" || fail "tshark finds no markers"
for record in without-crc responder-without-crc; do
    grep -qE "^$record: 1 connections, [1-9][0-9]+ FPDUs, 0 good CRCs, 0 bad CRCs, 0 markers, 0 malformed$" "$work/judged" ||
        fail "tshark finds fault with what the card has sent as $record"
done
# The octet inverted on the way to the Responder is in one FPDU.
grep -qE "^responder: ${#initiator_cases[@]} connections, [0-9]+ FPDUs, [0-9]+ good CRCs, 1 bad CRCs, 0 markers, 0 malformed$" "$work/judged" ||
    fail "tshark does not find one FPDU with a wrong CRC in responder"

# tshark and our own reader on what both can read: all but streams with a wrong CRC, and markers in segments that TCP has cut.
cargo build --quiet --package warpline --features sctp # as sctp.sh, so that nothing is built twice
mapfile -t records < <(judged initiator-{1,2} initiator-with-markers fault-{bad-stag,out-of-bounds,invalidate,read-out-of-bounds})
"$root/.venv/bin/python" "$here/readers.py" "$tree" "$(dirname "$peer")/../warpline" "${records[@]}" \
    testbenches/captures/*/wire.pcap || fail "tshark and warpline do not read the same"

# What the test of `warpline explain` takes for tshark's word is what this tshark says.
for capture in testbenches/captures/*/wire.pcap; do
    name=$(basename "$(dirname "$capture")")
    "$root/.venv/bin/python" "$here/dissection.py" "$tree" "$capture" | tail -n +2 |
        cmp - <(tail -n +2 "capture/tests/explain/tshark/$name.txt") || fail "tshark dissects $name otherwise than recorded"
done
say "passed in $((SECONDS - start)) s"
