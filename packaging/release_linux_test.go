package packaging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// patience ends a script that hangs. Nothing is measured by it.
const patience = "60"

// readScript returns a script of the packages as it is installed.
func readScript(t *testing.T, name string, swaps ...string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	readers, err2 := os.ReadFile("readers.sh")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(text), "#READERS", string(readers), 1)
	for i := 0; i < len(swaps); i += 2 {
		if !strings.Contains(script, swaps[i]) {
			t.Fatalf("%s has no %q", name, swaps[i])
		}
		script = strings.ReplaceAll(script, swaps[i], swaps[i+1])
	}
	return script
}

// terminal returns both ends of one.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// Who has taken over the user that serves has no way to root when the package is
// removed: what runs as that user has no terminal, no variable of root, no time without
// end, and what it prints moves no cursor.
func TestReleaseListsOfAThief(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, which removes packages")
	}
	for _, program := range []string{"setpriv", "setsid", "timeout"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	folder, err := os.MkdirTemp("", "release") // others may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write("systemctl", "#!/bin/sh\n[ \"$3\" != User ] || echo nobody\n[ \"$1\" = show ]\n")
	write("nginx", "#!/bin/sh\nexec sleep 600\n") // a pipe in place of the list
	write("edgeguard", `#!/bin/sh
if [ "$2" = clear ]; then
	[ "$*" = "enforce clear --all" ] && echo "cleared: the kernel no longer has edgeguard's table x, by $(id -un)"
	exit
fi
[ "$*" = "enforce empty --no-tables" ] || echo "left nftables x: by $*"
id -un
(: </dev/tty) 2>/dev/null && echo it has a terminal
[ ! -t 0 ] && [ ! -t 1 ] && [ ! -t 2 ] || echo it is at a terminal
[ -z "$SECRET" ] || echo it has the secret
printf 'emptied /\033]0;x\a\\033]0;y\n'
sleep 120 & # it keeps the output open
trap '' TERM
while :; do sleep 1; done
`)
	script := readScript(t, "release-lists", "/usr/bin/edgeguard", folder+"/edgeguard", "PATH=/usr/local/sbin:", "PATH="+folder+":/usr/local/sbin:",
		"limit=60", "limit=2", "--kill-after=5", "--kill-after=1", "timeout --kill-after=1 20 nginx", "timeout --kill-after=1 1 nginx")
	master, slave := terminal(t)
	c := exec.Command("timeout", "--foreground", "--kill-after=1", patience, "sh", "-c", script)
	c.Env = append(os.Environ(), "SECRET=1")
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var shown bytes.Buffer
	read := make(chan struct{})
	go func() { _, _ = io.Copy(&shown, master); close(read) }() // its end is an error
	err = c.Run()
	_ = slave.Close()
	<-read
	if err != nil {
		t.Errorf("%v: %q", err, &shown)
	}
	if text := shown.String(); !strings.Contains(text, "nobody") || !strings.Contains(text, "emptied /") || !strings.Contains(text, "by root") || strings.Contains(text, "left nftables") || strings.Contains(text, "it ") || strings.ContainsAny(text, "\a\x1b") {
		t.Errorf("%q", text)
	}
}
