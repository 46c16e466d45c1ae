#!/usr/bin/env bash
# The image of config/Containerfile: its last stage is built by buildah, with this machine's release as the program that
# the first stage would build, and on a bare system of this machine's release as the base, pinned by its digest. So no
# registry of images is needed. The gateway in it serves as an unprivileged user, the health check sees it, and SIGTERM
# ends it with 0. Status 77: such an image cannot be made here.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$0")
. "$folder/bare_system.sh"

# Own storage, without overlays and user namespaces, which a container often lacks.
in_storage() {
  local command=$1
  shift
  case $command in
  from | run | build) set -- --isolation chroot "$@" ;;
  esac
  buildah --root "$work/images" --runroot "$work/containers" --storage-driver vfs "$command" "$@"
}

# The arguments before the first stage, and the last stage.
last_stage() {
  awk '/^FROM / { stage++; text = "" } !stage { print } stage { text = text $0 "\n" } END { printf "%s", text }' \
    "$root/config/Containerfile"
}

# The image localhost/base.
commit_base() {
  local container
  container=$(in_storage from scratch) &&
    in_storage add --quiet "$container" "$work/base.tar" / >/dev/null &&
    in_storage commit --quiet "$container" localhost/base >/dev/null
}

# config FILTER: a part of the image's configuration, as JSON.
config() { in_storage inspect --type image localhost/chirrup | jq --compact-output ".Docker.config | $1"; }

# The process of the gateway, which buildah's own processes have started.
gateway_process() {
  local pid=$1 child
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != chirrup ] || { printf '%s\n' "$pid"; return; }
  for child in $(pgrep --parent "$pid"); do gateway_process "$child"; done
}

is_healthy() {
  local health
  readarray -t health < <(config '.Healthcheck.Test[1:][]' | jq --raw-output .)
  in_storage run --env "CHIRRUP_ADMIN_LISTEN=127.0.0.1:$admin_port" "$container" -- "${health[@]}" 2>>"$log"
}

is_unhealthy() { ! is_healthy; }

new_folder
command -v buildah >/dev/null || not_here "there is no buildah (apt-get install --no-install-recommends buildah)"
make_system tar "$work/base.tar"
commit_base 2>"$work/base.log" || not_here "buildah makes no image here: $(tail -n 3 "$work/base.log")"
digest=$(in_storage inspect --type image --format '{{.FromImageDigest}}' localhost/base)

mkdir -p "$work/program/source/.build/release"
cp "$chirrup" "$work/program/source/.build/release/chirrup"
last_stage >"$work/Containerfile"
check "the image is built on a base that is pinned by its digest" in_storage build --quiet --format docker \
  --build-context "build=$work/program" --build-arg "DEBIAN_IMAGE=localhost/base@$digest" \
  --file "$work/Containerfile" --tag localhost/chirrup "$work/program"
[ $failures = 0 ] || exit 1
check "it has the user chirrup" [ "$(config .User)" = '"chirrup"' ]
check "it ends by SIGTERM" [ "$(config .StopSignal)" = '"SIGTERM"' ]
check "it exposes two ports" [ "$(config '.ExposedPorts | keys')" = '["8080/tcp","9180/tcp"]' ]

create_cluster
container=$(in_storage from localhost/chirrup)
# The socket of this machine's database has a second name in the container.
ln "$cluster/.s.PGSQL.5432" "$(in_storage mount "$container")/tmp/.s.PGSQL.5432"
admin_port=$(free_port)
readarray -t command < <(config '.Entrypoint + .Cmd | .[]' | jq --raw-output .)
check "its health check fails without a gateway" is_unhealthy
in_storage run --env "CHIRRUP_LISTEN=127.0.0.1:$port" --env "CHIRRUP_ADMIN_LISTEN=127.0.0.1:$admin_port" \
  --env "DATABASE_URL=postgresql://chirrup@/postgres?host=/tmp" "$container" -- "${command[@]}" >>"$log" 2>&1 &
gateway_pid=$!
pids+=("$gateway_pid")
check "the gateway responds from there" await 120 "a gateway that is ready" gateway_answers
check "its health check sees it" is_healthy
inside=$(gateway_process "$gateway_pid")
[ -n "$inside" ] || die "the process of the gateway is not found"
check "it is not root" [ "$(awk '/^Uid:/ { print $2 }' "/proc/$inside/status")" != 0 ]
kill -TERM "$inside"
status=0
wait "$gateway_pid" || status=$?
gateway_pid=
check "SIGTERM ends it with 0" [ $status = 0 ]

[ $failures = 0 ]
