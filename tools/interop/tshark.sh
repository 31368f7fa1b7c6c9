#!/usr/bin/env bash
# tshark.sh TREE ARGUMENT...: runs the tshark of TREE (see packages), which shares nothing with this project, with no settings of
# the user's.
set -euo pipefail

root=$1/root
shift
libraries=$root/usr/lib/x86_64-linux-gnu
export WIRESHARK_DATA_DIR=$root/usr/share/wireshark WIRESHARK_PLUGIN_DIR=$libraries/wireshark/plugins
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT

# No payload is RPC over RDMA, whatever it looks like.
timeout 120 "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/usr/bin/tshark" -n \
    --disable-protocol rpcordma "$@" 2>"$HOME/errors" || { cat "$HOME/errors" >&2; exit 1; }
