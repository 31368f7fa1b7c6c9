#!/usr/bin/env bash
# boot.sh TREE INITRAMFS SECONDS [QEMU ARGUMENT]...: boots the kernel of TREE in a machine with an IOMMU.
#
# What the guest reports is printed. Succeeds when its last line is `verdict: passed` and QEMU ended by itself; a guest
# that says anything else, hangs or panics is a failure, and the kernel's last lines are shown.
set -euo pipefail

tree=$1 initramfs=$2 seconds=$3
shift 3

root=$tree/root
libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu/pulseaudio
loader=$(find "$root" -path '*/x86_64-linux-gnu/ld-linux-x86-64.so.2' -print -quit)
kernel=$(find "$root/boot" -name 'vmlinuz-*' -print -quit)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export QEMU_MODULE_DIR=$root/usr/lib/x86_64-linux-gnu/qemu

# Memory is a file that other processes can map, since a vfio-user card does its DMA itself. intremap: VFIO wants
# interrupts behind the IOMMU too. caching-mode: QEMU must hear of each mapping that Linux makes.
status=0
timeout --kill-after=5 "$seconds" \
    "$loader" --library-path "$libraries" "$root/usr/bin/qemu-system-x86_64" \
    -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" \
    -nodefaults -no-user-config -display none -no-reboot \
    -machine q35,kernel-irqchip=split,memory-backend=memory -accel tcg -cpu max -m 512 \
    -object memory-backend-memfd,id=memory,size=512M,share=on \
    -device intel-iommu,intremap=on,caching-mode=on \
    -kernel "$kernel" -initrd "$initramfs" \
    -append "console=ttyS0 loglevel=7 panic=-1 intel_iommu=on" \
    -serial "file:$logs/console" -serial "file:$logs/report" \
    "$@" </dev/null 2>"$logs/qemu" || status=$?

touch "$logs/report" "$logs/console"
sed -i 's/\r$//' "$logs/report" "$logs/console"
cat "$logs/report"
if ((status == 0)) && [[ $(tail -n 1 "$logs/report") == "verdict: passed" ]]; then
    exit 0
fi

grep -q '^verdict: failed' "$logs/report" && exit 1
case $status in
    0) echo "kernel test: the guest ended without the verdict that it passed" ;;
    124 | 137) echo "kernel test: the guest was stopped after $seconds s" ;;
    *) echo "kernel test: QEMU ended with status $status" ;;
esac >&2
printf '%s\n' '--- QEMU' "$(tail -n 20 "$logs/qemu")" '--- console' "$(tail -n 40 "$logs/console")" >&2
exit 1
