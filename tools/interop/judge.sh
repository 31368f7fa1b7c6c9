#!/usr/bin/env bash
# judge.sh TREE RECORD...: what tshark says of recorded connections.
#
# TREE holds tshark (see packages). For each record a line on standard output:
#   NAME: CONNECTIONS connections, FPDUS FPDUs, GOOD good CRCs, BAD bad CRCs, MARKERS markers, MALFORMED malformed
# tshark recognizes FPDUs with markers only where each is a TCP segment of its own.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$1
shift
details=$(mktemp)
trap 'rm -f "$details"' EXIT
tshark() { "$here/tshark.sh" "$tree" "$@"; }

for record in "$@"; do
    # Details of the packets, a line each: only what is asked for.
    tshark -r "$record" -O iwarp_mpa >"$details"
    connections=$(tshark -r "$record" -T fields -e tcp.stream | sort -u | grep -c .)
    malformed=$(tshark -r "$record" -Y '_ws.malformed' -T fields -e frame.number | grep -c . || true)
    count() { grep -cE "$1" "$details" || true; }
    printf '%s: %d connections, %d FPDUs, %d good CRCs, %d bad CRCs, %d markers, %d malformed\n' \
        "$(basename "$record" .pcapng)" "$connections" "$(count '^ +ULPDU length: ')" "$(count '^ +CRC check: .*Good CRC32')" \
        "$(count '^ +CRC check: .*Bad CRC32')" "$(count '^ +FPDU back pointer: ')" "$malformed"
done
