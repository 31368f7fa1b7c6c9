# What test.sh, sctp.sh and long.sh share: the guest, the card's end, and the functions that run both.
# shellcheck shell=bash
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

# KEEP=1 keeps what a run has written.
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; [[ -n ${KEEP:-} ]] && say "kept: $work" || rm -rf "$work"' EXIT
mkdir "$work/share"

# wait_for FILE TEXT [SECONDS]: until a process has written it, 120 s at most unless it is said.
wait_for() {
    for ((i = 0; i < 10 * ${3:-120}; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return
        sleep 0.1
    done
    cat "$1" >&2 || true
    fail "no line with '$2' in time"
}

# has FILE TEXT: what it has to say.
has() { grep -qxF "$2" "$1" || fail "missing in $(basename "$1"): $2"; }

# recorded NAME COMMAND...: runs a command; what passes its card's network side goes to NAME.pcapng if RECORDS is set.
recorded() { env ${RECORDS:+RECORD="$work/$1.pcapng"} "${@:2}"; }

# peer NAME WORD...: runs the card's end in the background; what it says goes to NAME. The job is the program itself, so that it is
# what ends with the script.
peer() {
    (exec env ${RECORDS:+RECORD="$work/$1.pcapng"} timeout "${PATIENCE:-560}" "$peer" "${@:2}") >"$work/$1" 2>&1 &
}
# at NAME: where it listens.
at() {
    wait_for "$work/$1" '^listening at '
    sed -n 's/^listening at //p' "$work/$1"
}

# guest_begins: the lines with which each job of the guest begins, with siw.
guest_begins() {
    guest_has_network siw rdma_ucm ib_uverbs
    echo 'rdma link add siw0 type siw netdev eth0'
}

# guest_has_network MODULE...: the lines that load modules, and give the guest its address.
guest_has_network() {
    echo "for module in virtio_net $*; do modprobe \$module; done"
    cat <<'JOB'
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
echo "Linux $(uname -r)"
JOB
}
