#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/setup.sh with a fake dpkg-query and a fake apt-get: what it prints, does and does not do.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/bin"
echo ID=debian >"$tmp/debian"
echo ID=plan9 >"$tmp/plan9"
# The fake dpkg-query knows every package except those in $tmp/missing.
cat >"$tmp/bin/dpkg-query" <<END
#!/bin/sh
for word; do
	case \$word in
	-*) ;;
	*) if grep -qx "\$word" "$tmp/missing"; then bad=1; else echo "installed \$word"; fi ;;
	esac
done
[ -z "\$bad" ]
END
cat >"$tmp/bin/apt-get" <<END
#!/bin/sh
echo "\$@" >>"$tmp/apt"
[ ! -e "$tmp/apt-fails" ]
END
cat >"$tmp/bin/id" <<END
#!/bin/sh
echo \${FAKE_UID:-0}
END
cat >"$tmp/bin/sudo" <<END
#!/bin/sh
echo sudo >>"$tmp/apt"
exec "\$@"
END
chmod +x "$tmp"/bin/*

setup() {
	rm -f "$tmp/apt"
	touch "$tmp/missing" "$tmp/apt"
	status=0
	PATH="$tmp/bin:$PATH" OS_RELEASE=${os:-$tmp/debian} "$ROOT/scripts/setup.sh" "$@" \
		>"$tmp/out" 2>"$tmp/err" || status=$?
}

test_nothing_missing_is_silent_and_touches_nothing() {
	: >"$tmp/missing"
	setup
	status_is 0
	[ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ] && [ ! -s "$tmp/apt" ]
}

test_what_is_missing_is_named_with_its_reason_and_installed() {
	printf 'meson\nqemu-user\n' >"$tmp/missing"
	setup
	status_is 0
	grep -qE '^  meson +[a-z]' "$tmp/out"
	grep -qE '^  qemu-user +[a-z]' "$tmp/out"
	[ "$(grep -c '^  ' "$tmp/out")" = 2 ]
	grep -qE ' update$' "$tmp/apt"
	grep -qE ' install .*meson qemu-user$' "$tmp/apt"
	! grep -q sudo "$tmp/apt"
}

test_only_what_the_need_asks_for_is_installed() {
	printf 'meson\nqemu-user\ncppcheck\n' >"$tmp/missing"
	setup build lint
	grep -qE ' install .*meson cppcheck$' "$tmp/apt"
}

test_a_user_goes_through_sudo() {
	echo meson >"$tmp/missing"
	FAKE_UID=1000 setup
	status_is 0
	grep -qx sudo "$tmp/apt"
}

test_a_failed_install_fails() {
	echo meson >"$tmp/missing"
	touch "$tmp/apt-fails"
	setup
	rm "$tmp/apt-fails"
	status_is 1
	err_has "could not install"
}

test_1560_a_child_of_debian_is_served_and_what_it_lacks_is_named() {
	printf 'ID=ubuntu\nID_LIKE=debian\n' >"$tmp/ubuntu"
	printf '#!/bin/sh\n[ "$2" != qemu-user ]\n' >"$tmp/bin/apt-cache"
	chmod +x "$tmp/bin/apt-cache"
	printf 'meson\nqemu-user\n' >"$tmp/missing"
	os=$tmp/ubuntu setup
	status_is 0
	err_has "ubuntu has no package of this name: qemu-user"
	grep -qE ' install .*meson$' "$tmp/apt"
}

test_off_debian_the_list_is_printed_and_it_fails() {
	os=$tmp/plan9 setup build
	status_is 1
	err_has "not Debian (plan9)"
	grep -qE '^  meson +[a-z]' "$tmp/err"
	[ ! -s "$tmp/apt" ]
}

test_an_unknown_need_is_refused() {
	setup biuld
	status_is 2
	err_has "'biuld'"
}

test_every_package_has_a_need_and_a_reason() {
	! awk '/^[^#]/ && (NF < 3 || $2 !~ /^(build|demo|test|slow|lint|bench)(,(build|demo|test|slow|lint|bench))*$/)' \
		"$ROOT/scripts/packages.txt" | grep .
}

run_tests
