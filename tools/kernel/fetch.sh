#!/usr/bin/env bash
# fetch.sh LIST: gets QEMU and a distribution kernel, without root and without touching the system.
#
#   LIST ──► apt with a state of its own ──► .deb files, checked by apt ──► dpkg-deb -x ──► CACHE/kernel/KEY/root
#
# Prints the folder. It is there whole or not at all: the work is done beside it and renamed. KEY goes by the content of
# LIST and of this script, so that a second run finds the folder and needs no network.
set -euo pipefail

list=$1
cache=${WARPLINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/warpline}/kernel
key=$(cat "$list" "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
tree=$cache/$key

say() { printf 'kernel test: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

if [[ -e $tree ]]; then
    printf '%s\n' "$tree"
    exit
fi

for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || fail "$tool is missing: QEMU and the kernel come as Debian packages"
done

packages=$(sed 's/#.*//' "$list" | awk 'NF == 2')
mapfile -t suites < <(awk '{ print $2 }' <<<"$packages" | sort -u)

# The machine's own source of Debian packages: where its release comes from, the rest of the archive is as well.
# shellcheck source=/dev/null
release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
# shellcheck disable=SC2016 # apt fills in these
archive=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$release" '$2 == release && $3 == "main" && !found { print $1; found = 1 }')
[[ -n $archive ]] || fail "apt knows no source for ${release:-this system}, so there is none for QEMU either"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -e $keyring ]] || fail "$keyring is missing: install debian-archive-keyring"

mkdir -p "$cache"
find "$cache" -maxdepth 1 -name '.fetch-*' -mmin +120 -exec rm -rf {} + # of runs that were killed
work=$(mktemp -d "$cache/.fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,archives/partial,tree/root}
: >"$work/status"
: >"$work/preferences"
for suite in "${suites[@]}"; do
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$archive" "$suite"
done >"$work/sources.list"

# The machine's settings (proxies, time-outs) hold; its sources, its pins and what it runs after an update do not.
cat >"$work/apt.conf" <<CONF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "$work/preferences";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$work/state";
Dir::State::Status "$work/status";
Dir::Cache "$work";
Dir::Cache::Archives "$work/archives";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
APT::Update::Error-Mode "any"; # a list that was not had is an error
CONF
apt() { "apt-$1" -c "$work/apt.conf" -qq "${@:2}"; }

say "fetching QEMU and a kernel from ${suites[*]}: once, some 140 MB"
apt get update >&2 || fail "there are no package lists for ${suites[*]}"
while read -r package suite; do
    case $package in
        linux-image-*) # the image that this meta package stands for today
            image=$(apt cache depends "$package" | awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2 }')
            (cd "$work/archives" && apt get --target-release "$suite" download "${image:-$package}" >&2)
            ;;
        *) apt get --target-release "$suite" --yes --download-only install "$package" >&2 ;;
    esac || fail "$package cannot be had from $suite"
done <<<"$packages"

for deb in "$work"/archives/*.deb; do
    # shellcheck disable=SC2016 # dpkg fills in these
    dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb" >>"$work/tree/versions"
    dpkg-deb --extract "$deb" "$work/tree/root"
done

# Another run may have been faster; then its folder is as good.
mv --no-target-directory "$work/tree" "$tree" 2>/dev/null || [[ -e $tree ]]
say "$(grep -E '^(qemu-system-x86|linux-image-[^ ]*) ' "$tree/versions" | paste -sd, | sed 's/,/, /g')"
printf '%s\n' "$tree"
