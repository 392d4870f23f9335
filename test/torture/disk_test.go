package torture

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const diskConfig = `
node: test
state: $DIR/disk/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: request}], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/logs/access.log, format: combined, emit: request}]}
rules: [{name: site, threshold: 5, guard: 1, window: 1h, block_for: 2h}]
enforce: {files: [{file: $DIR/disk/deny.txt, format: plain, every: 1s}]}
`

// decides wants it to decide as ever: five requests of a client pass, and the
// sixth is refused. The block is new to the list.
func (n *node) decides(ask *asker, client string) {
	n.t.Helper()
	for i := range 6 {
		refused, err := ask.nginx(client)
		if err != nil || refused != (i == 5) {
			n.t.Fatalf("request %d of %s: refused: %t, %v", i+1, client, refused, err)
		}
	}
}

// trouble returns what the node says is wrong now.
func (n *node) trouble() string {
	n.t.Helper()
	s, texts := n.status(), []string{}
	for _, a := range s.Alarms() {
		texts = append(texts, a.Text)
	}
	return strings.Join(texts, "; ")
}

// kept reports whether a block is in the state file, which must be whole.
func (n *node) kept(client string) bool {
	n.t.Helper()
	addr := netip.MustParseAddr(client)
	return slices.Contains(n.savedIn("disk/state", time.Now()).blocks, netip.PrefixFrom(addr, addr.BitLen()))
}

func (n *node) shell(command string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %v: %v: %s", command, args, err, out)
	}
}

// fill writes until the disk takes no more.
func (n *node) fill() {
	n.t.Helper()
	f, err := os.Create(n.Path("disk/filler"))
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	for size := 4096; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			n.t.Fatal(err)
		}
	}
}

// Fault 32: the disk of state and lists is full, and then read-only. The node
// goes on deciding, what was saved stays whole, one alarm each says so, and all
// recovers without a restart.
func TestDiskFullAndReadOnly(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNode(t, diskConfig)
	disk := n.Path("disk")
	for _, folder := range []string{disk, n.Path("logs")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.shell("mount", "-t", "tmpfs", "-o", "size=256k", "none", disk)
	defer n.shell("umount", "-l", disk)
	n.start()
	ask := n.asker()
	n.decides(ask, "198.51.100.1")
	n.Until("it is saved", func() bool { return n.kept("198.51.100.1") })

	for i, fault := range []struct {
		name        string
		begin, mend func()
	}{
		{"full", n.fill, func() { _ = os.Remove(n.Path("disk/filler")) }},
		// A mount above the disk: the disk itself is kept writable by the files of what happened, which are open.
		{"read-only", func() {
			n.shell("mount", "--bind", disk, disk)
			n.shell("mount", "-o", "remount,bind,ro", disk)
		}, func() { n.shell("umount", "-l", disk) }},
	} {
		before := strings.Count(n.Said(), "alarm=state")
		fault.begin()
		during, after := fmt.Sprintf("198.51.100.%d", 10+i), fmt.Sprintf("198.51.100.%d", 20+i)
		n.decides(ask, during)
		n.Until(fault.name+": the state's alarm", func() bool { return strings.Contains(n.trouble(), "the state was not saved") })
		if fault.name == "read-only" { // a list of one line may fit on a full disk
			n.Until(fault.name+": the list's alarm", func() bool { return strings.Contains(n.trouble(), "deny.txt") })
		}
		if !n.kept("198.51.100.1") || n.kept(during) {
			t.Errorf("%s: the state is not what was saved before", fault.name)
		}
		told := func() int { return strings.Count(n.Said(), "alarm=state") - before }
		n.Until(fault.name+": it is told", func() bool { return told() > 0 })
		if n := told(); n != 1 {
			t.Errorf("%s: told %d times", fault.name, n)
		}
		fault.mend()
		n.decides(ask, after) // a new block has the state saved soon
		n.Until(fault.name+": all is well", func() bool { return n.trouble() == "" || strings.HasSuffix(n.trouble(), "waiting for it") })
		n.Until(fault.name+": what it missed is saved", func() bool { return n.kept(during) && n.kept(after) })
		n.Until(fault.name+": the list is whole", func() bool {
			text, err := os.ReadFile(n.Path("disk/deny.txt"))
			return err == nil && strings.Contains(string(text), during) && strings.Contains(string(text), after)
		})
	}
}

// Fault 32: a log and the folder of the state may not be entered.
func TestNotAllowed(t *testing.T) {
	n := newNode(t, diskConfig)
	for _, folder := range []string{n.Path("disk"), n.Path("logs")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.unprivileged()
	n.start()
	ask := n.asker()
	n.decides(ask, "198.51.100.1")
	n.Until("it is saved", func() bool { return n.kept("198.51.100.1") })

	log := n.Path("logs/access.log")
	n.chmod(0, "disk", "disk/state")
	line := new(liner).line(nil, time.Now(), netip.MustParseAddr("198.51.100.30"), "GET", "/", 200)
	if err := os.WriteFile(log, line, 0); err != nil {
		t.Fatal(err)
	}
	n.decides(ask, "198.51.100.10")
	n.Until("both alarms", func() bool {
		return strings.Contains(n.trouble(), "the state was not saved") && strings.Contains(n.trouble(), "cannot follow the log")
	})
	n.chmod(0o755, "disk", "disk/state")
	n.chmod(0o644, "logs/access.log")
	n.decides(ask, "198.51.100.20")
	n.Until("all is well", func() bool { return n.trouble() == "" })
	n.Until("it is saved", func() bool { return n.kept("198.51.100.10") && n.kept("198.51.100.20") })
	n.Until("the log is read", func() bool { return n.count(netip.MustParseAddr("198.51.100.30")) == 1 })
}

// unprivileged has the program run as nobody where the tests run as root, whom
// no mode keeps out.
func (n *node) unprivileged() {
	n.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	n.As = &syscall.Credential{Uid: nobody, Gid: nobody}
	for _, name := range []string{"", "disk", "logs", "config.yaml"} {
		if err := os.Chown(n.Path(name), nobody, nobody); err != nil {
			n.t.Skipf("cannot run as another user: %v", err)
		}
	}
}

func (n *node) chmod(mode os.FileMode, names ...string) {
	n.t.Helper()
	if mode == 0 {
		slices.Reverse(names) // the inner first, while it can be reached
	}
	for _, name := range names {
		if err := os.Chmod(n.Path(name), mode); err != nil {
			n.t.Fatal(err)
		}
	}
}

// Fault 32: no descriptor is left. Who is connected is answered; who comes then,
// the state, and a log that is rotated wait until some are free.
func TestNoDescriptors(t *testing.T) {
	n := newNode(t, diskConfig)
	for _, folder := range []string{n.Path("disk"), n.Path("logs")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log := n.Path("logs/access.log")
	var liner liner
	write := func(client string) {
		t.Helper()
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(liner.line(nil, time.Now(), netip.MustParseAddr(client), "GET", "/", 200)); err != nil {
			t.Fatal(err)
		}
	}
	write("198.51.100.30")
	n.start()
	ask := n.asker()
	n.decides(ask, "198.51.100.1")
	n.Until("it is saved", func() bool { return n.kept("198.51.100.1") })
	write("198.51.100.31")
	n.Until("the log is read", func() bool { return n.count(netip.MustParseAddr("198.51.100.31")) == 1 })

	files := func(most string) {
		t.Helper()
		n.shell("prlimit", "--pid", strconv.Itoa(n.PID()), "--nofile="+most+":")
	}
	files("3")
	client := 100
	n.Until("the state cannot be saved", func() bool {
		if err := os.Rename(log, log+".1"); err == nil {
			write("198.51.100.32")
		}
		n.decides(ask, fmt.Sprintf("198.51.100.%d", client))
		client++
		time.Sleep(time.Second)
		return strings.Contains(n.Said(), "too many open files")
	})
	files("1024")
	n.decides(n.asker(), "198.51.100.20")
	n.Until("it is saved", func() bool { return n.kept("198.51.100.20") })
	n.Until("the log is read", func() bool { return n.count(netip.MustParseAddr("198.51.100.32")) == 1 })
	n.Until("all is well", func() bool { return n.trouble() == "" })
}
