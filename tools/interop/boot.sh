#!/usr/bin/env bash
# boot.sh TREE SHARE SECONDS [QEMU ARGUMENT]...: boots the guest of TREE (of guest.sh), which runs SHARE/job and powers off.
#
# What the job prints is printed as it comes. SHARE is /mnt of the guest. Succeeds when the last line is `verdict: passed`.
set -euo pipefail

tree=$1 share=$2 seconds=$3
shift 3

root=$tree/root
libraries=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu/pulseaudio
kernel=$(find "$root/boot" -name 'vmlinuz-*' -print -quit)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export QEMU_MODULE_DIR=$root/usr/lib/x86_64-linux-gnu/qemu

: >"$logs/report"
tail --follow --lines=+1 "$logs/report" 2>/dev/null | sed -u 's/\r$//' &
status=0
timeout --kill-after=5 "$seconds" "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" \
    "$root/usr/bin/qemu-system-x86_64" \
    -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" \
    -nodefaults -no-user-config -display none -no-reboot \
    -machine q35 -accel tcg,thread=multi -cpu max -smp 1 -m 768 \
    -kernel "$kernel" -initrd "$tree/initramfs.gz" -append "console=ttyS0 quiet loglevel=4 panic=-1" \
    -serial "file:$logs/console" -serial "file:$logs/report" \
    -fsdev "local,id=tree,path=$root,security_model=none,readonly=on" -device virtio-9p-pci,fsdev=tree,mount_tag=tree \
    -fsdev "local,id=share,path=$share,security_model=none" -device virtio-9p-pci,fsdev=share,mount_tag=share \
    "$@" </dev/null 2>"$logs/qemu" || status=$?
sleep 0.3 # the last lines are still on their way through tail
kill %1 2>/dev/null || true

verdict=$(sed 's/\r$//' "$logs/report" | tail -n 1)
((status != 0)) || [[ $verdict != "verdict: passed" ]] || exit 0
case $status in
    0) echo "interop test: the guest ended without the verdict that it passed" ;;
    124 | 137) echo "interop test: the guest was stopped after $seconds s" ;;
    *) echo "interop test: QEMU ended with status $status" ;;
esac >&2
printf '%s\n' '--- QEMU' "$(tail -n 20 "$logs/qemu")" '--- console' "$(tail -n 40 "$logs/console")" >&2
exit 1
