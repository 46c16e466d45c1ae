#!/usr/bin/env bash
# The Debian package on a fresh system with a running systemd: installed, started by its unit under the unit's
# restrictions, reloaded, upgraded without a refused connection, removed and purged. Status 77: such a system cannot be
# made here.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bare_system.sh"
folder=$(dirname "$0")

inside() { nsenter --target "$systemd" --pid --mount --uts --ipc --net --cgroup --root --wdns=/ -- "$@"; }
as_user() { inside setpriv --reuid=chirrup --regid=chirrup --clear-groups -- "$@"; }
from_outside() { nsenter --target "$systemd" --net -- "$@"; }

# Fast compression: the packages are read once.
build_packages() {
  DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 \
    "$root/scripts/package" --output "$work/packages" >"$work/package.log" 2>&1 || return 1
  dpkg-deb --raw-extract "$work/packages"/chirrup_*.deb "$work/next" &&
    sed --in-place 's/^Version: \(.*\)-1$/Version: \1-2/' "$work/next/DEBIAN/control" &&
    dpkg-deb -Zgzip -z1 --build "$work/next" "$work/packages/next.deb" >/dev/null
}

# Nothing needs its terminals or the message bus of the machine that is booted.
boot() {
  local unit
  for unit in getty.target systemd-logind.service dbus.socket dbus.service postgresql.service; do
    ln --symbolic --force /dev/null "$bare/etc/systemd/system/$unit"
  done
  "$folder/boot_system.sh" "$bare" >"$work/boot.log" 2>&1 &
  booting=$!
  pids+=("$booting")
  await 60 "a system that is booted" has_booted || not_here "systemd does not boot here: $(tail -n 3 "$work/boot.log")"
}
has_booted() {
  systemd=$(pgrep --parent "$booting" --exact systemd) || return 1
  case $(inside systemctl is-system-running) in running | degraded) ;; *) return 1 ;; esac
}

# package ARGUMENT…: dpkg on that system.
package() { inside dpkg "$@" >>"$work/dpkg.log" 2>&1 || { tail -n 5 "$work/dpkg.log"; return 1; }; }
property() { inside systemctl show --property "$1" --value "${2-chirrup.service}"; }
is() { [ "$(property "$1" "${3-chirrup.service}")" = "$2" ]; }
answers() { from_outside curl --silent --fail --max-time 10 --output /dev/null "http://127.0.0.1:8080/readyz"; }
serves() { is ActiveState active && is StatusText serving && answers; }
# restarted PID: another process than that serves.
restarted() { ! is MainPID "$1" && serves; }
process_field() { inside sed -n "s/^$1:\t*//p" "/proc/$(property MainPID)/status"; }
# workspace COMMAND…: the command line as the user of the gateway.
workspace() { as_user chirrup workspace "$@" --data-dir /var/lib/chirrup >>"$work/commands.log"; }
# runs NAME: a process of that name runs on that system.
runs() { pgrep --ns "$systemd" --nslist pid --exact "$1" >/dev/null; }
has_stopped() { ! runs chirrup && ! runs postgres && [ "$(property ActiveState chirrup.socket)" = inactive ]; }
exposure() {
  inside systemd-analyze security --offline=yes --no-pager "/lib/systemd/system/chirrup.service" |
    sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p'
}
# All files but logs and what dpkg remembers of its own work.
files() {
  (cd "$bare" && find . -xdev \( -path ./var/log -o -path ./var/lib/dpkg -o -path ./var/cache \) -prune -o -print | sort)
}

[ "$chirrup" = "$root/.build/release/chirrup" ] || not_here "the packages contain .build/release/chirrup"
new_folder
command -v dpkg-buildpackage dh help2man >/dev/null || not_here "the packages are built with dpkg-dev, debhelper and help2man"
build_packages &
building=$!
pids+=("$building")
bare=$work/bare
# shellcheck disable=SC2046
make_system directory "$bare" $(needed_packages) systemd-sysv postgresql
wait "$building" || die "the packages: $(tail -n 5 "$work/package.log")"
check "the checksums are those of the packages, the components and the licences" \
  bash -c 'cd "$0" && sha256sum --check --quiet --strict SHA256SUMS && [ "$(wc -l <SHA256SUMS)" = 4 ]' "$work/packages"
if command -v lintian >/dev/null; then
  check "lintian finds no error" lintian --allow-root --fail-on error "$work/packages"/chirrup*.deb
fi

boot
cp "$work/packages"/*.deb "$bare/opt"
files >"$work/before"
check "the packages are installed" inside sh -c 'dpkg --install /opt/chirrup*.deb >/var/log/installed 2>&1'
check "… and the unit serves" await 90 "a gateway that serves" serves
first=$(property MainPID)
check "… as the user chirrup" [ "$(inside id -un "$(process_field Uid | cut -f 1)")" = chirrup ]
check "… with the right to bind ports below 1024, and no other" [ "$(process_field CapEff)" = 0000000000000400 ]
check "… under a filter of system calls" [ "$(process_field Seccomp)" = 2 ]
level=$(exposure)
check "systemd-analyze security: $level, at most 2.0" awk -v level="$level" 'BEGIN { exit !(level > 0 && level <= 2.0) }'
check "systemd-analyze finds no fault in the units" inside systemd-analyze verify --man=no chirrup.service \
  chirrup.socket chirrup-https.socket
server=$(inside head -n 1 /var/lib/chirrup/postgres/data/postmaster.pid)
check "… and its PostgreSQL has no right of root's" [ "$(inside sed -n 's/^CapPrm:\t*//p' "/proc/$server/status")" = 0000000000000000 ]
check "the manual names the settings" inside zgrep --quiet -- 'admin..listen' /usr/share/man/man1/chirrup-serve.1.gz
check "bash completes the commands" inside bash -c \
  '. /usr/share/bash-completion/completions/chirrup && complete -p chirrup >/dev/null'
check "the user chirrup creates a workspace" workspace create acme
check "a reload ends as the gateway answers" inside systemctl reload chirrup
check "… in the same process" [ "$(property MainPID)" = "$first" ]

check "the socket unit takes over" inside sh -c 'systemctl stop chirrup && systemctl start chirrup.socket chirrup'
check "… and the unit serves" await 90 "a gateway that serves" serves
first=$(property MainPID)
from_outside "$python" "$folder/activation_clients.py" 8080 "$work/stop" >"$work/clients" 2>&1 &
clients=$!
pids+=("$clients")
await 30 "the first answers" grep --quiet answered "$work/clients"
check "an upgrade to the next revision" package --install /opt/next.deb
check "… restarts the gateway" await 90 "the next gateway" restarted "$first"
touch "$work/stop"
check "… and refuses no connection" wait "$clients"
tail -n 1 "$work/clients"
check "… and keeps the database" workspace origins acme --allow https://example.com

state=$bare/var/lib/chirrup
check "both processes run" eval 'runs chirrup && runs postgres'
check "removing the package" package --remove chirrup-dbgsym chirrup
check "… stops the gateway, its PostgreSQL and its socket" has_stopped
check "… and keeps conversations and settings" [ -d "$state/postgres/data" -a -e "$bare/etc/chirrup/chirrup.yaml" ]
check "purging it" package --purge chirrup-dbgsym chirrup
files >"$work/after"
check "… leaves no file" diff "$work/before" "$work/after"
# SIGTERM does not end the first process of a system.
kill -KILL "$systemd"

[ $failures = 0 ]
