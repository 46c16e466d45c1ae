#!/usr/bin/env bash
# The release on another machine: a bare system of this machine's release, made from this machine's own package sources,
# with the packages that README.md names for running it and nothing else. There the program starts as an unprivileged
# user, and a visitor's message is acknowledged. Status 77: such a system cannot be made here.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bare_system.sh"
folder=$(dirname "$0")

# Before a command: as nobody, with an environment of its own. Swift reads a program's arguments in /proc, which is
# mounted for the command only.
in_system=(unshare --mount --propagation private bash -c 'mount -t proc proc "$0/proc" && exec env --ignore-environment \
  PATH=/usr/local/bin:/usr/bin:/bin /usr/sbin/chroot --userspec=65534:65534 --groups= "$0" "$@"')

# All programs and libraries that the gateway has mapped are files of that system.
library_paths() {
  awk -v bare="$bare/" '$2 ~ /x/ && $6 ~ /^\// && index($6, bare) != 1 { print; bad = 1 } END { exit bad }' \
    "/proc/$gateway_pid/maps"
}

new_folder
bare=$work/bare
# shellcheck disable=SC2046
make_system directory "$bare" $(needed_packages)

check "README.md names the packages that it needs" [ -n "$(needed_packages)" ]
check "the system has no Swift" [ -z "$(find "$bare" -iname '*libswift*' -print -quit)" ]
install -m 0755 "$chirrup" "$bare/usr/local/bin/chirrup"
install -D -m 0644 "$root/config/chirrup.yaml" "$bare/etc/chirrup/chirrup.yaml"
check "the program has no symbols" [ -z "$(nm "$chirrup" 2>/dev/null | head -n 1)" ]
# addr2line reads .gnu_debuglink, looks beside the program, and compares the checksum.
main=$(nm "$chirrup.debug" | awk '$3 == "main" { print $1 }')
check "… which are in the file beside it" grep --quiet chirrup/Main.swift \
  <(addr2line --functions --exe "$chirrup" "${main:-0}")

# The database is this machine's; its socket has a second name where the program can reach it.
create_cluster
ln "$cluster/.s.PGSQL.5432" "$bare/tmp/.s.PGSQL.5432"
inside="postgresql://chirrup@/postgres?host=/tmp"
check "the program prints its version there" grep --quiet --extended-regexp '^chirrup [0-9]+\.' \
  <("${in_system[@]}" "$bare" chirrup version)
mkdir -m 0700 "$bare/var/lib/chirrup"
chown 65534:65534 "$bare/var/lib/chirrup"
"${in_system[@]}" "$bare" chirrup serve --demo --config /etc/chirrup/chirrup.yaml --listen "127.0.0.1:$port" \
  --data-dir /var/lib/chirrup --database-url "$inside" >>"$log" 2>&1 &
gateway_pid=$!
pids+=("$gateway_pid")
check "the gateway responds from there" await 120 "a gateway that is ready" gateway_answers
check "… as the user nobody" [ "$(awk '/^Uid:/ { print $2 }' "/proc/$gateway_pid/status")" = 65534 ]
check "… and uses only the system's libraries" library_paths
check "a message is acknowledged" "$python" "$folder/client_websockets.py" "ws://127.0.0.1:$port/api/v1/ws" \
  "$("${in_system[@]}" "$bare" chirrup token visitor --workspace demo --database-url "$inside")" \
  "$("${in_system[@]}" "$bare" chirrup token operator --workspace demo --database-url "$inside")"
check "SIGTERM ends it with 0" stop_gateway
