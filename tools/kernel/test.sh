#!/usr/bin/env bash
# The kernel test: boots a distribution kernel with an IOMMU and lets its VFIO have a device.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree=$("$here/fetch.sh" "$here/packages-vfio-user") || tree=$("$here/fetch.sh" "$here/packages-edu")
"$here/initramfs.sh" "$tree" "$work/initramfs"
"$here/boot.sh" "$tree" "$work/initramfs" 120 -device edu,addr=0x5
