#!/usr/bin/env bash
# Unpacks a Debian source package: fetch_debian_source.sh PACKAGE FOLDER
#
# Uses the machine's own package sources with "deb" read as "deb-src", in a private list folder, so
# that it needs neither root nor a change to the system; apt verifies the signatures.
set -euo pipefail

package=$1
folder=$2

for tool in apt-get dpkg-source; do
  if ! command -v "$tool" >/dev/null; then
    echo "cannot fetch the sources of $package: no $tool on this machine" >&2
    exit 1
  fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources.d" "$work/lists/partial" "$work/cache/archives/partial"
shopt -s nullglob
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -f "$file" ] && sed -n 's/^deb /deb-src /p' "$file" >"$work/sources.d/$(basename "$file" .list).list"
done
for file in /etc/apt/sources.list.d/*.sources; do
  sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/sources.d/$(basename "$file")"
done

apt() {
  apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources.d" \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= \
    -o Debug::NoLocking=1 "$@"
}

cd "$work"
# Of the other sources on the machine some may have no source packages: only the download decides.
apt update >update.log 2>&1 || true
if ! apt source --download-only "$package" >source.log 2>&1; then
  cat update.log source.log >&2
  exit 1
fi
dpkg-source --no-check -x "$package"_*.dsc unpacked >unpack.log 2>&1 || { cat unpack.log >&2; exit 1; }
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv unpacked "$folder"
