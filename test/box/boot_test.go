package box

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A box is a booted Debian.
type box struct {
	t           *testing.T
	pid         int    // of its systemd, as seen from here
	root        string // its files
	addr, addr6 string // its addresses
	done        int    // commands and files of pages, so far
}

// prepare makes this namespace the clients' host: every address of the networks
// for documentation is its own.
func prepare(t *testing.T) {
	t.Helper()
	must(t, "sh", "-euc", `mount --make-rprivate /
		mount -t proc proc /proc
		mount -t tmpfs box "$0"
		ip link set lo up
		ip route add local 203.0.113.0/24 dev lo
		ip route add local 198.51.100.0/24 dev lo
		ip -6 route add local 2001:db8:1::/48 dev lo`, filepath.Join(os.Getenv(inside), "live"))
}

// must runs a program of this machine.
func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// started is what becomes systemd. $0 is the minimal Debian, $1 a folder for the
// box, $2 its cgroup. It joins the cgroup before it takes a namespace of cgroups,
// so that this is the root that systemd sees.
const started = `echo 0 >"$2/cgroup.procs"
exec unshare --cgroup sh -euc '
mkdir -p "$1/upper" "$1/work" "$1/root"
mount --make-rprivate /
mount -t overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" box "$1/root"
cd "$1/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do
	: >dev/$node
	mount --bind /dev/$node dev/$node
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
echo box >/proc/sys/kernel/hostname
mkdir old
pivot_root . old
exec chroot . /bin/sh -c "umount -l /old && rmdir /old && exec env -i container=other /lib/systemd/systemd"
' "$0" "$1"`

var boxes atomic.Int32

// boot boots a box, and returns when systemd has started everything.
func boot(t *testing.T) *box {
	t.Helper()
	number := strconv.Itoa(int(boxes.Add(1)))
	dir, group := filepath.Join(os.Getenv(inside), "live", number), filepath.Join(os.Getenv(groups), number)
	for _, folder := range []string{dir, group} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	minimal, err := filepath.EvalSymlinks(filepath.Join(os.Getenv(inside), "root"))
	if err != nil {
		t.Fatal(err)
	}
	pid1 := exec.Command("sh", "-euc", started, minimal, dir, group)
	pid1.SysProcAttr = &syscall.SysProcAttr{Cloneflags: alone | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC, Setsid: true}
	said := new(strings.Builder)
	pid1.Stdout, pid1.Stderr = said, said
	pid1.WaitDelay = time.Second
	if err := pid1.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pid1.Process.Kill()
		_ = pid1.Wait()
		if t.Failed() {
			t.Logf("systemd: %s", tail(said.String(), 20))
		}
	})
	b := &box{t: t, pid: pid1.Process.Pid, root: filepath.Join(dir, "root")}
	b.connect(number)
	b.until("the system is up", func() bool {
		out, _ := b.try("systemctl is-system-running")
		return out == "running" || out == "degraded"
	})
	if failed := b.run("systemctl --failed --plain --no-legend"); failed != "" {
		t.Errorf("units failed at the start: %s", failed)
	}
	t.Cleanup(b.explain)
	b.install()
	return b
}

// connect puts a wire between the box and this namespace.
func (b *box) connect(number string) {
	b.t.Helper()
	n, _ := strconv.Atoi(number)
	b.addr, b.addr6 = fmt.Sprintf("192.0.2.%d", 4*n+1), fmt.Sprintf("2001:db8:ff:%d::1", n)
	must(b.t, "sh", "-euc", `ip link add "box$0" type veth peer name eth0 netns "$1"
		ip addr add "192.0.2.$((4*$0+2))/30" dev "box$0"
		ip -6 addr add "2001:db8:ff:$0::2/64" dev "box$0" nodad
		ip link set "box$0" up`, number, strconv.Itoa(b.pid))
	must(b.t, "sh", "-euc", `nsenter --net -t "$1" sh -euc '
		ip link set lo up
		ip addr add "192.0.2.$((4*$0+1))/30" dev eth0
		ip -6 addr add "2001:db8:ff:$0::1/64" dev eth0 nodad
		ip link set eth0 up
		ip route add default via "192.0.2.$((4*$0+2))"
		ip -6 route add default via "2001:db8:ff:$0::2"' "$0"`, number, strconv.Itoa(b.pid))
}

// patience bounds a command and a wait: the first may hang, what the other is for may never
// come. Nothing is measured by it.
const patience = 10 * time.Minute

// try runs commands in the box, as root after a login, and returns what they
// print.
func (b *box) try(commands string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "nsenter", "-a", "-t", strconv.Itoa(b.pid), "env", "-i", "HOME=/root", "TERM=dumb", "LANG=C.UTF-8",
		"DEBIAN_FRONTEND=noninteractive", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"bash", "-euo", "pipefail", "-c", "cd; "+commands)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run runs commands in the box that must work.
func (b *box) run(commands string) string {
	b.t.Helper()
	out, err := b.try(commands)
	if err != nil {
		b.t.Fatalf("in the box: %s: %v\n%s", commands, err, out)
	}
	return out
}

// write writes a file in the box.
func (b *box) write(path, text string) {
	b.t.Helper()
	c := exec.CommandContext(b.t.Context(), "nsenter", "-a", "-t", strconv.Itoa(b.pid), "sh", "-euc", `mkdir -p "$(dirname "$0")"; cat >"$0"`, path)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("in the box: %s: %v\n%s", path, err, out)
	}
}

// until waits for a state.
func (b *box) until(what string, holds func() bool) {
	b.t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > patience {
			b.t.Fatalf("for %v it was not so: %s", patience, what)
		}
	}
}

// explain shows what the box's programs said, if the test failed.
func (b *box) explain() {
	if !b.t.Failed() {
		return
	}
	out, _ := b.try(`systemctl --failed --plain --no-legend || true
		journalctl --no-pager -o cat -n 60
		edgeguard blocks || true
		edgeguard doctor || true`)
	b.t.Logf("in the box:\n%s", out)
}

// install installs the package.
func (b *box) install() {
	b.t.Helper()
	deb, err := os.ReadFile(filepath.Join(os.Getenv(inside), "edgeguard.deb"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("/root/edgeguard_1.0_"+runtime.GOARCH+".deb", string(deb))
}
