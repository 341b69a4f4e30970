# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# For scripts that fetch Debian packages of another architecture or suite: apt on a state folder of its own. The
# system's sources, lists, packages and caches are only read. Sourced with $state (the folder), $architecture and $suite
# set, and a function skip that says why and ends.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

for tool in apt-get apt-config dpkg-deb tar; do
	command -v $tool >/dev/null || skip "this machine has no $tool"
done
[ -r "$keyring" ] || skip "$keyring is not there (package debian-archive-keyring)"

# Makes the state folder.
private_apt_open() {
	mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/parts"
	: >"$state/status"
	# Take over the system's settings for fetching (proxies, timeouts), but not its hooks and lists.
	apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv[46]|Check-Valid-Until)' >"$state/fetch.conf" || true
	cat >"$state/apt.conf" <<-END
	APT::Architecture "$architecture";
	APT::Architectures { "$architecture"; };
	APT::Install-Recommends "false";
	APT::Sandbox::User "$(id -un)";
	APT::Get::AllowUnauthenticated "false";
	Acquire::AllowInsecureRepositories "false";
	Acquire::AllowDowngradeToInsecureRepositories "false";
	Acquire::Languages "none";
	Acquire::GzipIndexes "true";
	Acquire::Retries "1";
	Acquire::http::Timeout "10";
	Acquire::https::Timeout "10";
	Dir::Etc::main "/dev/null";
	Dir::Etc::parts "$state/parts";
	Dir::Etc::sourcelist "$state/debian.sources";
	Dir::Etc::sourceparts "$state/parts";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "$state/parts";
	Dir::Etc::trusted "/dev/null";
	Dir::Etc::trustedparts "$state/parts";
	Dir::State "$state";
	Dir::State::lists "$state/lists";
	Dir::State::status "$state/status";
	Dir::Cache "$state";
	Dir::Cache::archives "$state/archives";
	Dir::Log "$state";
	#include "$state/fetch.conf";
	END
}

apt_private() {
	APT_CONFIG=$state/apt.conf apt-get -q -q "$@"
}

# Finds the first configured source that publishes the suite, signed by Debian.
find_mirror() {
	local uri

	for uri in $(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | awk '!seen[$0]++'); do
		cat >"$state/debian.sources" <<-END
			Types: deb
			URIs: $uri
			Suites: $suite
			Components: main
			Architectures: $architecture
			Signed-By: $keyring
		END
		if apt_private update --error-on=any >"$state/log" 2>&1; then
			return 0
		fi
	done
	return 1
}

# Unpacks the archives of the state folder into $1, once each. Debian has merged /bin, /sbin and /lib into /usr; packages
# may still name the old places.
private_apt_unpack() {
	local into=$1 folder archive

	mkdir -p "$into"/usr/{bin,sbin,lib} "$into"/{etc,tmp,root}
	for folder in bin sbin lib; do
		[ -L "$into/$folder" ] || ln -s "usr/$folder" "$into/$folder"
	done
	touch "$into/.unpacked"
	for archive in "$state"/archives/*.deb; do
		grep -qxF "${archive##*/}" "$into/.unpacked" && continue
		dpkg-deb --fsys-tarfile "$archive" |
			tar -x --no-same-owner --no-same-permissions --keep-directory-symlink -C "$into" ||
			die 1 "cannot unpack $archive; delete it and run again"
		echo "${archive##*/}" >>"$into/.unpacked"
	done
}
