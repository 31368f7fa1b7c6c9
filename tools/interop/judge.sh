#!/usr/bin/env bash
# judge.sh TREE RECORD...: what tshark, which shares nothing with this project, says of recorded connections.
#
# TREE holds tshark (see packages). For each record a line on standard output:
#   NAME: CONNECTIONS connections, FPDUS FPDUs, GOOD good CRCs, BAD bad CRCs, MARKERS markers, MALFORMED malformed
# tshark tells whole FPDUs with markers only where each is a TCP segment of its own.
set -euo pipefail

tree=$1
shift
root=$tree/root
libraries=$root/usr/lib/x86_64-linux-gnu
export WIRESHARK_DATA_DIR=$root/usr/share/wireshark WIRESHARK_PLUGIN_DIR=$root/usr/lib/x86_64-linux-gnu/wireshark/plugins
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

# Octets of applications that look like RPC over RDMA are none.
tshark() {
    HOME=$home timeout 120 "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/usr/bin/tshark" -n \
        --disable-protocol rpcordma "$@" 2>"$home/errors" || { cat "$home/errors" >&2; return 1; }
}

for record in "$@"; do
    # Details of the packets, a line each: only what is asked for.
    tshark -r "$record" -O iwarp_mpa >"$home/details"
    connections=$(tshark -r "$record" -T fields -e tcp.stream | sort -u | grep -c .)
    malformed=$(tshark -r "$record" -Y '_ws.malformed' -T fields -e frame.number | grep -c . || true)
    count() { grep -cE "$1" "$home/details" || true; }
    printf '%s: %d connections, %d FPDUs, %d good CRCs, %d bad CRCs, %d markers, %d malformed\n' \
        "$(basename "$record" .pcapng)" "$connections" "$(count '^ +ULPDU length: ')" "$(count '^ +CRC check: .*Good CRC32')" \
        "$(count '^ +CRC check: .*Bad CRC32')" "$(count '^ +FPDU back pointer: ')" "$malformed"
done
