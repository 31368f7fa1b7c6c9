#!/usr/bin/env bash
# initramfs.sh TREE OUT [FILE NAME]...: packs what the guest starts from.
#
#   TREE (of fetch.sh) ── busybox, VFIO modules ─┐
#   init, kill-busy ─────────────────────────────┼─► OUT, a gzip-packed cpio archive
#   each FILE, a program or folder, as /NAME ────┘
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$1 out=$2
shift 2

guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
mkdir -p "$guest"/{bin,dev,modules,proc,sys,tmp}

# Since 13 Debian keeps everything below /usr.
busybox=$tree/root/usr/bin/busybox
[[ -e $busybox ]] || busybox=$tree/root/bin/busybox
cp "$busybox" "$guest/bin/busybox"
for applet in cat grep insmod ls mktemp mount poweroff readlink rm sed sh sleep uname wc; do
    ln -s busybox "$guest/bin/$applet"
done
cp "$here/init" "$guest/init"
cp "$here/kill-busy" "$guest/bin/kill-busy"

# In the order in which they need each other; vfio_virqfd is a module of its own before Linux 6.2 only.
order=0
for module in irqbypass vfio vfio_virqfd vfio_iommu_type1 vfio-pci-core vfio-pci; do
    file=$(find "$tree/root" -path '*/kernel/*' -name "$module.ko*" -print -quit)
    [[ -n $file ]] || continue
    target=$guest/modules/$((order++))-$module.ko
    case $file in
        *.xz) "$busybox" xz -dc "$file" >"$target" ;;
        *) cp "$file" "$target" ;;
    esac
done

while (($#)); do
    mkdir -p "$(dirname "$guest/$2")"
    cp -rL "$1" "$guest/$2"
    shift 2
done

(cd "$guest" && find . | LC_ALL=C sort | "$busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$out"
