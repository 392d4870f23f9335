package neighbours

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
	"edgeguard/notify"
)

// notifyBench is the notifiers of a node of a test.
type notifyBench struct {
	unpaced bool // webhooks wait for no pace
	t       *testing.T
	n       *Notifiers
	clock   *clockguard.Clock
	alarms  *alarm.Tracker
	log     *logged
}

// logged is the log of a test.
type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newBench(t *testing.T) *notifyBench {
	b := &notifyBench{t: t, log: new(logged)}
	b.clock = clockguard.New(clockguard.Read(), clockguard.Config{Align: 5 * time.Second})
	b.alarms = alarm.New(func(edgeguard.Alarm) {}, func(string, string) {})
	b.n = &Notifiers{
		Group:      supervisor.Group[*NotifyReceiver]{Config: supervisor.Config{Alarms: b.alarms, Now: b.clock.Now}},
		NotifyDeps: NotifyDeps{Clock: b.clock, Log: slog.New(slog.NewTextHandler(b.log, nil)), Run: "0a1b2c3d", Version: "1", Settled: func() bool { return true }},
	}
	t.Cleanup(b.n.Stop)
	return b
}

// settle puts a section in force.
func (b *notifyBench) settle(section string) {
	b.t.Helper()
	c, err := config.Parse("test", []byte("node: edge-1\nnotify: "+section+"\n"))
	if err != nil {
		b.t.Fatal(err)
	}
	if b.unpaced {
		for i := range c.Notify.Webhooks {
			c.Notify.Webhooks[i].Every = time.Nanosecond
		}
	}
	b.n.Settle(b.t.Context(), c)
}

// block makes a block, which begins an attack.
func (b *notifyBench) block(i int, origin string) {
	now := b.clock.Now()
	addr := netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
	one := &edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: "login", Origin: origin, Count: 121, Limit: 100, Since: now, Until: now.Add(10 * time.Minute)}
	b.n.Changed(now, one)
	b.n.Attacked(now, one, "login_"+addr.String()+"_20260301T120000Z")
}

// figures returns those of a receiver.
func (b *notifyBench) figures(name string) notify.Figures {
	var s admin.Stats
	b.n.Report(&s)
	for _, r := range s.Notified {
		if r.Name == name {
			return r
		}
	}
	b.t.Fatalf("no receiver %s", name)
	return notify.Figures{}
}

// until waits for a state.
func (b *notifyBench) until(what string, is func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited for: %s\n%s", what, b.log)
		}
	}
}

// notifyServer is a receiver that keeps what it was sent.
type notifyServer struct {
	*httptest.Server
	mu     sync.Mutex // guards what is below
	got    []notify.Batch
	header []http.Header
	status func(i int) int // of the answer to the i-th post; nil for 200
}

func newServer(t *testing.T, status func(int) int) *notifyServer {
	s := &notifyServer{status: status}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b notify.Batch
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &b)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.status != nil {
			w.WriteHeader(s.status(len(s.got)))
		}
		s.got, s.header = append(s.got, b), append(s.header, r.Header)
	}))
	t.Cleanup(s.Close)
	return s
}

// batches returns what was sent so far.
func (s *notifyServer) batches() []notify.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *notifyServer) texts() string {
	var all []string
	for _, b := range s.batches() {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

// TestWebhook: blocks of this node and alarms arrive, and those of other nodes where the
// config says so.
func TestWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own, fleet, alarms := newServer(t, nil), newServer(t, nil), newServer(t, nil)
	b.settle(fmt.Sprintf("{webhooks: [{name: own, url: '%s'}, {name: fleet, url: '%s', fleet: true, send: blocks}, {name: alarms, url: '%s', send: [alarms]}]}", own.URL, fleet.URL, alarms.URL))
	b.block(1, "edge-2")
	b.until("another node's block", func() bool { return strings.Contains(fleet.texts(), "192.0.0.1 is blocked") })
	b.block(2, "edge-1")
	b.until("a block", func() bool { return strings.Contains(own.texts(), "192.0.0.2 is blocked") })
	old := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.9/32"), Rule: edgeguard.ManualRule, Origin: "edge-1", Since: b.clock.Now().Add(-time.Minute), Until: b.clock.Now().Add(time.Hour)}
	b.n.Changed(b.clock.Now(), &old)
	b.alarms.Begins(b.clock.Now(), alarm.Log, "/var/log/x", "host=<!channel> cannot be read")
	b.until("an alarm", func() bool { return strings.Contains(alarms.texts(), "Alarm log: host=‹!channel› cannot be read") })
	b.until("an alarm beside blocks", func() bool { return strings.Contains(own.texts(), "Alarm log") })
	if b.figures("own").Waiting != 0 || strings.Contains(own.texts(), "192.0.0.1 ") || strings.Contains(fleet.texts(), "Alarm") || strings.Contains(alarms.texts(), "blocked") {
		t.Errorf("own: %s\nfleet: %s\nalarms: %s", own.texts(), fleet.texts(), alarms.texts())
	}
	b.block(3, "edge-1") // within the minute: it waits, and leaves with the node
	b.n.Stop()
	if !strings.Contains(own.texts(), "192.0.0.3 is blocked") {
		t.Errorf("the end sent nothing: %s", own.texts())
	}
}

// TestBadReceivers: receivers that hang, refuse, redirect or fail delay neither a
// decision nor another receiver, and say in one line what is wrong.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hanging.Close() }()
	good := newServer(t, nil)
	failing := newServer(t, func(i int) int { return []int{500, 500, 200}[min(i, 2)] })
	refusing := newServer(t, func(int) int { return 403 })
	redirecting := newServer(t, nil)
	redirecting.Config.Handler = http.RedirectHandler(good.URL+"/stolen", http.StatusTemporaryRedirect)
	b.settle(fmt.Sprintf("{webhooks: [{name: hanging, url: 'http://%s', timeout: 1m}, {name: failing, url: '%s'}, {name: refusing, url: '%s'}, {name: redirecting, url: '%s/a'}, {name: good, url: '%s'}]}",
		hanging.Addr(), failing.URL, refusing.URL, redirecting.URL, good.URL))
	b.block(1, "edge-1")
	b.until("the good one", func() bool { return b.figures("good").Sent == 1 })
	b.until("the refusals", func() bool { return b.figures("refusing").Dropped == 1 && b.figures("redirecting").Dropped == 1 })
	begun := time.Now()
	for i := range 10_000 {
		b.block(i, "edge-1")
	}
	took := time.Since(begun)
	t.Logf("10,000 blocks to five receivers took those who decide %v", took)
	b.until("the retries", func() bool { return b.figures("failing").Sent == 1 })
	got := failing.batches()
	if len(got) != 3 || got[0].ID != got[2].ID || failing.header[0].Get("Webhook-Id") != "" {
		t.Errorf("%d posts; the same id in each: %q, %q", len(got), got[0].ID, got[2].ID)
	}
	for name, want := range map[string]string{"refusing": "it refuses us: 403 Forbidden", "redirecting": "it redirects to " + good.URL + ", which is not followed"} {
		if f := b.figures(name); !strings.Contains(f.Error, want) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := b.figures("hanging"); f.Sent+f.Failed != 0 || f.Waiting != 10_000 {
		t.Errorf("%+v", f)
	}
	stopping := time.Now()
	b.n.Stop() // bounded, though one hangs
	t.Logf("the end took %v", time.Since(stopping))
	if !strings.Contains(good.texts(), "10,000 attacks since") {
		t.Errorf("the end sent no summary: %s", good.texts())
	}
	if text := b.log.String(); strings.Count(text, "receiver=failing error=") != 1 || !strings.Contains(text, "did not answer before the node ended") {
		t.Error(text)
	}
}

// TestOwnAlarm: a receiver that fails is an alarm for the others, and not for itself.
func TestOwnAlarm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good, bad := newServer(t, nil), newServer(t, nil)
	b.settle(fmt.Sprintf("{webhooks: [{name: good, url: '%s'}, {name: bad, url: '%s'}]}", good.URL, bad.URL))
	b.block(1, "edge-1")
	b.until("both work", func() bool { return b.figures("good").Sent == 1 && b.figures("bad").Sent == 1 })
	b.alarms.Begins(b.clock.Now(), alarm.Notify, "bad", "the receiver bad accepts no notifications: it hangs")
	b.until("the other one", func() bool { return strings.Contains(good.texts(), "the receiver bad accepts no notifications") })
	b.alarms.Begins(b.clock.Now(), alarm.Log, "x", "a later alarm")
	b.until("a later alarm", func() bool { return strings.Contains(bad.texts(), "a later alarm") })
	if strings.Contains(bad.texts(), "accepts no") {
		t.Error(bad.texts())
	}
}

// TestMissingFile: a receiver whose file is missing is named by the alarm and fails in the
// figures.
func TestMissingFile(t *testing.T) {
	b := newBench(t)
	b.settle("{webhooks: {name: team, url: 'http://127.0.0.1:1', ca_file: /none/ca.pem}}")
	b.until("an alarm", func() bool { return len(b.alarms.Lasting()) == 1 })
	if text := b.alarms.Lasting()[0].Text; !strings.Contains(text, "the receiver team is told nothing: ") || !strings.Contains(text, "/none/ca.pem") {
		t.Error(text)
	}
	b.until("the figures have it", func() bool { return strings.Contains(b.figures("team").Error, "/none/ca.pem") })
}

// TestFails: a receiver that fails for a minute is an alarm, until it accepts; tries are
// further and further apart, and an old message is given up.
func TestNotifyFails(t *testing.T) {
	b := newBench(t)
	b.settle("{webhooks: {name: team, url: 'http://127.0.0.1:1'}}")
	r := b.n.All()[0]
	b.n.Group.Stop()
	r.failing = failing{}
	at := b.clock.Now()
	lasting := func() bool { return len(b.alarms.Lasting()) > 0 }
	var pauses []time.Duration
	for !lasting() {
		r.fails(at, &answer{Error: fmt.Errorf("it hangs")})
		pauses = append(pauses, r.failing.next.Sub(at))
		at = r.failing.next
	}
	if got := fmt.Sprint(pauses); got != "[1s 2s 4s 8s 16s 32s 1m0s]" {
		t.Error(got)
	}
	r.fails(at, &answer{Error: fmt.Errorf("it asks to wait"), After: 3 * time.Minute})
	if got := r.failing.next.Sub(at); got != 3*time.Minute {
		t.Errorf("waits %v", got)
	}
	if n := strings.Count(b.log.String(), "was not accepted"); n != 2 {
		t.Errorf("%d lines for two errors:\n%s", n, b.log)
	}
}

// TestFiles: a reload reads the files of a receiver that stays; bad ones change nothing.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.unpaced = true
	s := newServer(t, nil)
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	token, form := write("token", "Bearer one"), write("form", `{"text": {{json .Text}}}`)
	section := fmt.Sprintf("{webhooks: {name: team, url_file: %s, template_file: %s, every: 10s, headers: {name: Authorization, file: %s}}}", write("url", s.URL+"/T0SECRET"), form, token)
	tell := func(i int) string {
		last := len(s.batches())
		b.block(i, "edge-1")
		b.until("a post", func() bool { return len(s.batches()) > last })
		return s.header[last].Get("Authorization")
	}
	b.settle(section)
	if got := tell(1); got != "Bearer one" {
		t.Error(got)
	}
	write("token", "Bearer two")
	b.settle(section)
	if got := tell(2); got != "Bearer two" {
		t.Error(got)
	}
	write("form", `{"text": "{{.Text}}"}`)
	write("token", "Bearer three")
	b.settle(section)
	if got := tell(3); got != "Bearer two" {
		t.Error(got)
	}
	if text := b.log.String(); !strings.Contains(text, "stay in use") || !strings.Contains(text, "does not make JSON") || strings.Contains(text, "Bearer") || strings.Contains(text, "SECRET") {
		t.Error(text)
	}
}

// TestNoStorm: a node that starts or ends tells no alarm that its services raise and end
// by that.
func TestNoStorm(t *testing.T) {
	b := newBench(t)
	var settled sync.Map
	b.n.Settled = func() bool { _, is := settled.Load("yes"); return is }
	s := newServer(t, nil)
	b.settle(fmt.Sprintf("{webhooks: {name: team, url: '%s'}}", s.URL))
	for i := range 100 {
		b.alarms.Begins(b.clock.Now(), alarm.Log, fmt.Sprint(i), "not open yet")
		b.alarms.Ends(alarm.Log, fmt.Sprint(i))
	}
	b.alarms.Begins(b.clock.Now(), alarm.State, "x", "cannot be saved")
	settled.Store("yes", true)
	b.until("what still lasts", func() bool { return len(s.batches()) == 1 })
	settled.Delete("yes")
	b.alarms.Ends(alarm.State, "x")
	b.n.Stop()
	if got := s.texts(); got != "Alarm state: cannot be saved" {
		t.Error(got)
	}
}

// BenchmarkChanged is what a block costs who decides, with two receivers and with none.
func BenchmarkChanged(b *testing.B) {
	for name, receivers := range map[string]int{"none": 0, "two": 2} {
		b.Run(name, func(b *testing.B) {
			n := &Notifiers{NotifyDeps: NotifyDeps{Clock: clockguard.New(clockguard.Read(), clockguard.Config{Align: 5 * time.Second}), Log: slog.New(slog.DiscardHandler), Settled: func() bool { return true }}}
			n.Group.Config = supervisor.Config{Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Now: n.Clock.Now}
			text := "node: edge-1\n"
			if receivers > 0 {
				text += "notify: {webhooks: [{name: a, url: 'http://127.0.0.1:1'}, {name: b, url: 'http://127.0.0.1:1'}]}\n"
			}
			c, err := config.Parse("test", []byte(text))
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			n.Settle(ctx, c)
			defer cancel()
			defer n.Stop()
			now := n.Clock.Now()
			block := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Rule: "login", Origin: "edge-1", Since: now, Until: now.Add(time.Hour)}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n.Changed(now, &block)
				}
			})
		})
	}
}
