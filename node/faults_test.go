package node

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// conditions are the alarms that last.
func (u *underTest) conditions() string {
	stats := u.view().Stats()
	var all []string
	for _, a := range stats.Alarms() {
		all = append(all, a.Text)
	}
	return strings.Join(all, "\n")
}

// Fault 32: a list, a state and a port that cannot be had are alarms, each
// reported once; decisions go on, and all recovers without a restart.
func TestFaultsAreToldAndMended(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(in("state"), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	yaml := strings.NewReplacer(
		`"unix:$DIR/auth.sock"`, `"unix:$DIR/auth.sock", "`+taken.Addr().String()+`"`,
		"$DIR/deny.conf", "$DIR/lists/deny.conf",
	).Replace(small)
	u := newNode(t, folder, yaml).start()
	for _, want := range []string{"the address is in use", "the state was not saved", "lists/deny.conf", "access.log does not exist"} {
		u.eventually(want, func() bool { return strings.Contains(u.conditions(), want) })
	}
	for range 11 {
		u.request("203.0.113.9")
	}
	if !u.blocked("203.0.113.9") {
		t.Error("it does not decide")
	}
	if err := os.Mkdir(in("lists"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(in("state")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(in("state"), 0o755); err != nil { // unless the node has made it already
		t.Fatal(err)
	}
	_ = taken.Close()
	writeLog(t, in("access.log"), "203.0.113.20", 11)
	u.store.save()
	u.eventually("all is well", func() bool { return u.conditions() == "" })
	u.eventually("both are on the list", func() bool { return read(t, folder, "lists", "deny.conf") == "203.0.113.9\n203.0.113.20\n" })
	if n := strings.Count(u.log.String(), "the address is in use"); n != 1 {
		t.Errorf("%d reports about one port:\n%s", n, u.log)
	}
}

// A node that would see nothing at all does not start, and says why.
func TestNothingToSee(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	u := newNode(t, shortDir(t), `
listen: {auth: ["`+taken.Addr().String()+`"], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
rules: [{name: small, threshold: 10}]
`)
	if err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is edgeguard already running") {
		t.Errorf("it ran, and ended with %v", err)
	}
}

// A damaged state is set aside with a message, and the node starts without it.
func TestDamagedStateIsSetAside(t *testing.T) {
	folder := shortDir(t)
	u := newNode(t, folder, small).start()
	for range 11 {
		u.request("203.0.113.9")
	}
	u.stop()
	file := filepath.Join(folder, "state", stateName)
	state := read(t, file)
	if err := os.WriteFile(file, []byte(state[:len(state)/2]), 0o600); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, folder, small).start()
	u.eventually("it is reported", func() bool { return strings.Contains(u.log.String(), "renamed to") })
	if u.blocked("203.0.113.9") {
		t.Error("half a state was used")
	}
	aside := file + ".aside-1"
	if u.store.save() == 0 {
		t.Error("it does not save")
	}
	u.eventually("it is a condition, whatever was saved since", func() bool { return strings.Contains(u.conditions(), aside) })
	u.stop()
	u = newNode(t, folder, small) // not run: the test is its housekeeping
	named := func(after time.Duration) bool {
		u.store.checkAside(u.clock.Now().Add(after))
		return strings.Contains(u.conditions(), aside)
	}
	if !named(0) {
		t.Error("after a restart it is no condition any more")
	}
	if named(8 * 24 * time.Hour) {
		t.Error("after eight days it is still one")
	}
	if !named(6 * 24 * time.Hour) {
		t.Error("after six days it is no condition any more")
	}
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	if named(0) {
		t.Error("the file is gone, and the condition is still there")
	}
}

// A proxy that has stopped waiting when it is answered is a condition, once it is many.
func TestLateAnswersAreTold(t *testing.T) {
	u := newNode(t, shortDir(t), small).start()
	u.eventually("the late answers are told", func() bool {
		for range 10 {
			c, err := net.Dial("unix", filepath.Join(u.folder, "auth.sock"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 192.0.2.1\r\n\r\n")); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		return strings.Contains(u.conditions(), "were answered after the proxy had stopped waiting")
	})
}
