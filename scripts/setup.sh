#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what scripts/packages.txt lists and this machine lacks, and says what and why. Silent when
# nothing is missing. Children of Debian (ID_LIKE, Ubuntu among them) are taken as Debian; elsewhere it prints
# the list and fails.
#
#   scripts/setup.sh [NEED…]      NEED: build demo test slow lint bench; default: all
#   scripts/setup.sh --list       prints the list
set -euo pipefail

list=$(dirname "$0")/packages.txt

# Prints "package<TAB>why" for every package that serves one of the needs given, or any.
wanted() {
	awk -v needs="$*" '
		BEGIN { n = split(needs, need, " ") }
		/^[[:space:]]*(#|$)/ { next }
		{
			hit = n == 0
			for (i = 1; i <= n; i++)
				if (("," $2 ",") ~ ("," need[i] ",")) hit = 1
			if (!hit) next
			package = $1
			sub(/^[^[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+/, "")
			print package "\t" $0
		}' "$list"
}

show() {
	awk -F'\t' '{ printf "  %-28s %s\n", $1, $2 }'
}

for need in "$@"; do
	case $need in
	build | demo | test | slow | lint | bench) ;;
	--list)
		wanted | show
		exit 0
		;;
	*)
		echo "setup: '$need' is not one of build, demo, test, slow, lint, bench, --list" >&2
		exit 2
		;;
	esac
done

packages=$(wanted "$@")

os=unknown like=
if [ -r "${OS_RELEASE:=/etc/os-release}" ]; then
	os=$(. "$OS_RELEASE" && echo "${ID:-unknown}")
	like=$(. "$OS_RELEASE" && echo "${ID_LIKE:-}")
fi
# Ubuntu and other children of Debian say so in ID_LIKE.
case " $os $like " in
*" debian "*) family=debian ;;
*) family= ;;
esac
if [ -z "$family" ] || ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "setup: this is not Debian ($os); install the equivalents of these packages:" >&2
	show <<<"$packages" >&2
	echo "setup: nothing was installed; once they are there, run make with SETUP=: to skip this step" >&2
	exit 1
fi

names=$(cut -f1 <<<"$packages")
# dpkg-query fails when it does not know a package; its answer then lacks that package.
installed=$(dpkg-query -W -f='${db:Status-Status} ${binary:Package}\n' $names 2>/dev/null |
	awk '$1 == "installed" { sub(/:.*/, "", $2); print $2 }' || true)
missing=$(awk -F'\t' 'NR == FNR { have[$1]; next } !($1 in have)' <(echo "$installed") <(echo "$packages"))
[ -z "$missing" ] && exit 0

if [ "$os" != debian ]; then
	# A child of Debian may lack a package, or have it under another name.
	unknown=$(cut -f1 <<<"$missing" | while read -r name; do apt-cache show "$name" >/dev/null 2>&1 || echo "$name"; done)
	if [ -n "$unknown" ]; then
		echo "setup: $os has no package of this name: $(xargs <<<"$unknown")" >&2
		missing=$(awk -F'\t' 'NR == FNR { lacks[$1]; next } !($1 in lacks)' <(echo "$unknown") <(echo "$missing"))
		[ -n "$missing" ] || exit 1
	fi
fi
echo "setup: installing from $([ "$os" = debian ] && echo Debian || echo "$os"):"
show <<<"$missing"

root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: needs root; run as root: apt-get install $(cut -f1 <<<"$missing" | xargs)" >&2
		exit 1
	fi
	root=sudo
fi
apt() {
	$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}
# An error from one source must not stop the install when the other sources answer.
apt update || echo "setup: apt-get update had errors; trying to install all the same" >&2
if ! apt install -y --no-install-recommends $(cut -f1 <<<"$missing"); then
	echo "setup: apt-get could not install the packages above; see its message" >&2
	exit 1
fi
