#!/usr/bin/env bash
# boot_system.sh ROOT: boots systemd on a system's folder, in namespaces of its own for processes, files, names, network
# and control groups, and waits for its end. Only the loopback interface exists there. The first line of the output is the
# process id of that systemd.
set -euo pipefail

if [ "${2-}" != inside ]; then
  # shellcheck disable=SC2016
  exec unshare --fork --pid --kill-child --mount --cgroup --uts --ipc --net "$0" "$1" inside
fi
bare=$1
mount --make-rprivate /
mount --bind "$bare" "$bare"
mount -t proc proc "$bare/proc"
mount -t sysfs sysfs "$bare/sys"
mount -t cgroup2 cgroup2 "$bare/sys/fs/cgroup"
# No device of this machine, such as its console, and nothing that outlives the boot.
for folder in dev run tmp; do mount -t tmpfs tmpfs "$bare/$folder"; done
for device in null zero full random urandom; do
  touch "$bare/dev/$device"
  mount --bind "/dev/$device" "$bare/dev/$device"
done
mkdir "$bare/dev/shm" "$bare/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$bare/dev/pts"
ln -s pts/ptmx "$bare/dev/ptmx"
chmod 1777 "$bare/dev/shm" "$bare/tmp"
ln -s /proc/self/fd "$bare/dev/fd"
ip link set lo up
# systemd prepares the file systems of a unit from the root of its namespace, which a chroot does not change.
cd "$bare"
pivot_root . .
umount --lazy .
exec /usr/bin/env --ignore-environment container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=multi-user.target --show-status=no
