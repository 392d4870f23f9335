package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/internal/program"
	"edgeguard/node/status"
)

func TestMain(m *testing.M) {
	program.Parallel(8)
	goleak.VerifyTestMain(m)
}

// patience bounds the wait for something that other goroutines do. Nothing is
// measured by it.
const patience = 60 * time.Second

// logged collects a log. Safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// underTest is a node that a test runs.
type underTest struct {
	*Node
	t      testing.TB
	log    *logged
	folder string
	yaml   string // what a reload reads
	end    context.CancelFunc
	ended  chan error
}

// newNode returns a node of a config in which $DIR is the test's folder.
func newNode(t testing.TB, folder, yaml string) *underTest {
	t.Helper()
	u := &underTest{t: t, log: &logged{}, folder: folder, yaml: yaml}
	c, err := u.load()
	if err != nil {
		t.Fatal(err)
	}
	u.Node, err = New(c, Options{Log: slog.New(slog.NewTextHandler(u.log, nil)), Load: u.load})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *underTest) load() (*config.Config, error) {
	return config.Parse("test.yaml", []byte(strings.ReplaceAll(u.yaml, "$DIR", u.folder)))
}

// start runs the node until stop, or the test's end.
func (u *underTest) start() *underTest {
	u.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u.end, u.ended = cancel, make(chan error, 1)
	go func() { u.ended <- u.Run(ctx) }()
	u.t.Cleanup(u.stop)
	u.eventually("it is ready", func() bool { return u.lifecycle.ready.Load() })
	return u
}

func (u *underTest) stop() {
	u.end()
	if err, ok := <-u.ended; ok && err != nil {
		u.t.Errorf("run: %v", err)
	}
	select {
	case <-u.ended:
	default:
		close(u.ended)
	}
}

func (u *underTest) eventually(what string, f func() bool) {
	u.t.Helper()
	deadline := time.Now().Add(patience)
	for !f() {
		if time.Now().After(deadline) {
			u.t.Fatalf("in %v not seen: %s\n%s", patience, what, u.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// view is the node as the admin API uses it.
type view struct {
	*status.Status
	*operator
}

func (n *Node) view() view { return view{n.admin.status, n.admin.operator} }

// request decides one request.
func (u *underTest) request(addr string) edgeguard.Verdict {
	now := u.clock.Now()
	event := requestOf(addr, now)
	return u.pipeline.Decide(now, &event)
}

func requestOf(addr string, at time.Time) edgeguard.Event {
	return edgeguard.Event{Time: at, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
}

// count is what the address counts for the first rule.
func (u *underTest) count(addr string) int {
	e := u.view().Explain(u.view().Now(), netip.MustParseAddr(addr))
	return int(e.Rules[0].Count)
}

func (u *underTest) blocked(addr string) bool {
	standing, _ := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr))
	return standing == blocklist.Blocked
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// killed returns a folder with the state of a running node, as a kill leaves it. A file that is
// being written when its folder is listed has another name when it is copied.
func (u *underTest) killed() (folder string) {
	u.t.Helper()
	u.eventually("the state is copied", func() bool {
		folder = shortDir(u.t)
		return os.CopyFS(filepath.Join(folder, "state"), os.DirFS(filepath.Join(u.folder, "state"))) == nil
	})
	return folder
}

// writeLog appends lines of a combined log.
func writeLog(t testing.TB, file, addr string, lines int) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for range lines {
		if _, err := fmt.Fprintf(f, "%s - - [%s] \"GET / HTTP/1.1\" 200 5 \"-\" \"test\"\n", addr, time.Now().Format("02/Jan/2006:15:04:05 -0700")); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}
