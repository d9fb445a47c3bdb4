#!/usr/bin/env bash
# Installs the packages of the named sections of tools/packages.txt that are missing.
set -euo pipefail

list=$(dirname "$0")/packages.txt
missing=()
for section in "$@"; do
  while read -r package; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing+=("$package")
  done < <(awk -v section="[$section]" \
    '/^\[/ { on = ($1 == section); next } on && NF && $1 !~ /^#/ { print $1 }' "$list")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

give_up() {
  echo "$1 These packages are missing: ${missing[*]}" >&2
  echo "Install them with: ${as_root[*]}${as_root:+ }apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
}

command -v apt-get >/dev/null || give_up "This machine has no apt-get."
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || give_up "Not root, and there is no sudo."
  # Without a terminal there is nobody to type a password.
  [ -t 0 ] || sudo -n true 2>/dev/null || give_up "sudo asks for a password."
fi

echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get -q update || give_up "apt-get update failed."
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -q install -y --no-install-recommends "${missing[@]}" || give_up "apt-get install failed."
