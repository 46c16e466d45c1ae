#!/usr/bin/env bash
# The files of messages in backup and restore: files that come while the database is copied are in the backup, one that
# is interrupted goes on where it was, unchanged files take no space in the next one, and after a restore each file that
# the database names is downloaded with the same bytes.
. "$(dirname "$0")/lib.sh"
folder=$(cd "$(dirname "$0")" && pwd)

new_folder
backups=$work/backups
start_gateway
token operator >"$work/operator.json"
clients() {
  "$python" "$folder/backup_files_test.py" "$@" --url "$url" --operator "$work/operator.json" --log "$log" \
    --state "$work/files.json"
}
backup() { "$chirrup" backup "$backups" "${place[@]}" "$@"; }
# to FILE COMMAND…: the command, with its output in the file.
to() {
  local file=$1
  shift
  "$@" >"$file"
}
# result MEMBER FILE: of the last object in the file.
result() { grep '^{' "$2" | tail -n 1 | "$python" -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
files() { find "$1" -type f 2>/dev/null | wc -l; }
stored=$data/attachments/stored

check "files are sent" clients send --count 24 --bytes 400000
check "a backup" to "$work/first.json" backup --json --no-verify
first=$(result backup "$work/first.json")
check "… has each of them" test "$(result files "$work/first.json")" = "$(files "$stored")"
check "… and the thumbnails" test "$(find "$first.attachments" -name '*.thumbnail' | wc -l)" = 6
check "… beside the database" test "$(files "$first.attachments")" = "$(files "$stored")"
check "… with the same bytes" diff --recursive --brief "$stored" "$first.attachments"
check "… none is missing" test "$(result files_missing "$work/first.json")" = 0

# At 1 MiB a second the copy of the database takes half a minute: files arrive meanwhile.
"$chirrup" backup "$backups" "${place[@]}" --max-rate 1 >"$work/slow" 2>&1 &
slow=$!
pids+=("$slow")
is_copying() { grep --quiet 'streaming database files: [1-9]' "$work/slow"; }
check "a slow backup copies the database" await 60 "its progress" is_copying
check "files arrive while it does" clients send --count 12 --bytes 900000
has_pool() { [ "$(files "$backups/attachments.unfinished")" -ge 3 ]; }
check "it copies the files after the database" await 180 "copied files" has_pool
kill -KILL "$slow"
wait "$slow" 2>/dev/null || true
pool=$(files "$backups/attachments.unfinished")
check "killed, no complete backup is there but the first" \
  test "$(find "$backups" -maxdepth 1 -name 'chirrup-*Z' | wc -l)" = 1

check "the next backup" to "$work/second.json" backup --json
second=$(result backup "$work/second.json")
check "… goes on with the files of the interrupted one" \
  test "$(result file_bytes_copied "$work/second.json")" -lt "$((13 * 900000 - 2 * 900000))"
printf '%s files were left by the interrupted backup\n' "$pool"
check "… has all files" test "$(files "$second.attachments")" = "$(files "$stored")"
one=$(cd "$first.attachments" && find . -type f | sort | head -n 1)
check "… and the old ones take no space" test "$first.attachments/$one" -ef "$second.attachments/$one"
check "… nothing is left beside it" test ! -e "$backups/attachments.unfinished"
check "only its owner may read it" test -z "$(find "$backups" -perm /077)"

# What a visitor may ask for: the files beside the JSON object.
visitor=$(clients visitor)
exported=$work/exported
export_to() { "$chirrup" visitor export --workspace demo "$visitor" "${place[@]}" --files "$1"; }
check "a visitor's data are exported, with the files" to "$work/visitor.json" export_to "$exported"
check "… with their bytes, those of no one else, and all in the JSON object" \
  clients exported --folder "$exported" --object "$work/visitor.json"
check "… readable by their owner only" test -z "$(find "$exported" -perm /077)"
fails() { ! "$@"; }
check "… never to a folder that exists" fails export_to "$exported" 2>"$work/export.err"
check "… as it says" grep --quiet 'exists already; name another folder' "$work/export.err"

# A file that is removed, as by an erasure, while its row is read is missing, and the backup goes on.
victim=$(cd "$stored" && find . -type f ! -name '*.thumbnail' | sort | head -n 1)
mv "$stored/$victim" "$work/victim"
check "a file that is gone does not stop a backup" to "$work/third.json" backup --json --no-verify --keep 2
check "… which counts it" test "$(result files_missing "$work/third.json")" = 1
third=$(result backup "$work/third.json")
check "… and does not have it" test ! -e "$third.attachments/$victim"
check "--keep removes files with their backup" test ! -e "$first" -a ! -e "$first.attachments"
mv "$work/victim" "$stored/$victim"
check "the gateway stops with status 0" stop_gateway

check "it is restored" to "$work/restore.json" "$chirrup" restore "$second/" --data-dir "$work/restored" --json
check "… with all files" test "$(result files "$work/restore.json")" = "$(files "$stored")"
check "… none is missing" test "$(result files_missing "$work/restore.json")" = 0
check "… readable by the gateway only" test -z "$(find "$work/restored/attachments" -perm /077)"

# As root: the files get the owner of the folder in which the gateway will run.
if [ "$(id -u)" = 0 ]; then
  mkdir "$work/others"
  chmod 755 "$work/others"
  chown nobody: "$work/others"
  check "root restores into another user's folder" "$chirrup" restore "$second" --data-dir "$work/others"
  check "… and all files are that user's" \
    test "$(find "$work/others/attachments" -user nobody | wc -l)" = "$(find "$work/others/attachments" | wc -l)"
fi

# A restore that broke off: half of the files are there, and half a file.
mkdir -p "$work/broken"
cp --archive "$work/restored/attachments" "$work/broken/"
find "$work/broken/attachments" -type f | sort | head -n 10 | xargs rm
short=$(find "$work/broken/attachments" -type f -size +100k | sort | tail -n 1)
truncate --size 1000 "$short"
check "a restore goes on with files that are there" \
  to "$work/broken.json" "$chirrup" restore "$second" --data-dir "$work/broken" --json
check "… copies what is missing" diff --recursive --brief "$stored" "$work/broken/attachments/stored"
check "… and nothing else" test "$(result file_bytes_copied "$work/broken.json")" -lt \
  "$(result file_bytes "$work/broken.json")"

mv "$second.attachments" "$work/elsewhere"
check "a backup without its files is restored" "$chirrup" restore "$second" --data-dir "$work/bare" 2>"$work/bare.err"
check "… and says so" grep --quiet "files of messages are missing in $second.attachments" "$work/bare.err"

data=$work/restored
place=(--data-dir "$data")
start_gateway
check "after the restore each download has the same bytes" clients fetch
check "the gateway on the restored database stops with status 0" stop_gateway

# With a bucket the command leaves the files alone, and says it.
printf 'nobody\n' >"$work/key"
export CHIRRUP_ATTACHMENTS_STORAGE=s3 CHIRRUP_ATTACHMENTS_S3_ENDPOINT=http://127.0.0.1:9 \
  CHIRRUP_ATTACHMENTS_S3_BUCKET=of-files CHIRRUP_ATTACHMENTS_S3_ACCESS_KEY_FILE=$work/key \
  CHIRRUP_ATTACHMENTS_S3_SECRET_KEY_FILE=$work/key
backup --no-verify >"$work/bucket" 2>&1 || fail "a backup with a bucket: $(tail -n 2 "$work/bucket")"
check "with a bucket it says that the files stay there" grep --quiet "are in the bucket of-files" "$work/bucket"
