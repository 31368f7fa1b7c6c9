#!/usr/bin/env bash
# guest.sh TREE: makes the guest of TREE (of tools/kernel/fetch.sh) ready: siw.ko from the kernel's own source, the test's
# program for it, and an initramfs that mounts TREE. Without root: what has to run inside TREE does so in a user namespace.
#
#   linux-source ──► siw ─── make, gcc of TREE ──► siw.ko ──► modules of TREE ──► depmod
#   guest/*.c ──────────────── gcc of TREE ──► usr/local/bin of TREE
#   busybox, modules for 9p and virtio ──► TREE/initramfs.gz
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$1
root=$tree/root
key=$(cat "${BASH_SOURCE[0]}" "$here"/guest/* | sha256sum | cut -c1-16)
[[ ! -e $tree/ready-$key ]] || exit 0

say() { printf 'interop test: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
unshare --user --map-root-user true 2>/dev/null || fail "user namespaces are not allowed here: enable them, or run as root"

kernel=$(find "$root/boot" -name 'vmlinuz-*' -print -quit)
release=${kernel##*/vmlinuz-}
build=$root/build
say "building siw for $release: once"

# The distribution's packages name some programs by scripts that have not run here.
for link in gcc:gcc-14 awk:mawk sh:dash; do
    [[ -e $root/usr/bin/${link%:*} ]] || ln -s "${link#*:}" "$root/usr/bin/${link%:*}"
done
mkdir -p "$root"/{mnt,tmp,run,proc,sys,dev,root}
rm -rf "$build" && mkdir "$build"
source=$(find "$root/usr/src" -name 'linux-source-*.tar.xz' -print -quit)
[[ -n $source ]] || fail "there is no kernel source in $root/usr/src"
tar -xJf "$source" -C "$build" --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw'
printf 'obj-m := siw.o\nsiw-y := %s\n' \
    "siw_cm.o siw_cq.o siw_main.o siw_mem.o siw_qp.o siw_qp_rx.o siw_qp_tx.o siw_verbs.o" >"$build/Kbuild"
rm -f "$build/Makefile"
mkdir -p "$build/guest" && cp "$here"/guest/*.c "$build/guest/"

# shellcheck disable=SC2016 # the inner shell expands these
unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c '
    mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
    exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin HOME=/ release="$2" sh -ec "
        # Without type information for BPF, which needs the kernel image.
        make -s -C /lib/modules/\$release/build M=/build CONFIG_DEBUG_INFO_BTF_MODULES= modules
        mkdir -p /usr/lib/modules/\$release/updates /usr/local/bin
        cp /build/siw.ko /usr/lib/modules/\$release/updates/
        depmod \$release
        for program in /build/guest/*.c; do
            name=\${program##*/}
            gcc -O2 -Wall -Werror -o /usr/local/bin/\${name%.c} \$program -lrdmacm -libverbs
        done"' sh "$root" "$release" >&2 || fail "siw could not be built for $release"

start=$(mktemp -d)
trap 'rm -rf "$start"' EXIT
mkdir -p "$start"/{bin,dev,modules,proc,sys,root}
busybox=$root/usr/bin/busybox
cp "$busybox" "$start/bin/busybox"
for applet in sh mount insmod poweroff chroot sync cat; do ln -s busybox "$start/bin/$applet"; done
order=10
for module in 9p 9pnet_virtio virtio_net virtio_pci; do
    unshare --user --map-root-user chroot "$root" /usr/sbin/modprobe -S "$release" -D "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
    name=${module##*/}
    "$busybox" xz -dc "$root/$module" >"$start/modules/$order-${name%.xz}"
    order=$((order + 1))
done
cp "$here/init" "$start/init"
(cd "$start" && find . | LC_ALL=C sort | "$busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$tree/initramfs.gz.new"
mv "$tree/initramfs.gz.new" "$tree/initramfs.gz"
rm -rf "$build"
rm -f "$tree"/ready-*
: >"$tree/ready-$key"
