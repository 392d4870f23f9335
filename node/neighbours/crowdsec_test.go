package neighbours

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/crowdsec/lapitest"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
)

// bench is the services of a node that has nothing else.
type bench struct {
	*CrowdSecClient
	t      *testing.T
	own    *blocklist.List
	folder string
	stop   context.CancelFunc
}

// run starts the services by a config's section, with what the folder has.
func run(t *testing.T, folder, section string) *bench {
	t.Helper()
	c, err := config.Parse("f", []byte("rules: []\ncrowdsec: "+section))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, folder: folder, own: blocklist.New(blocklist.Config{Retention: time.Hour})}
	b.CrowdSecClient = NewCrowdSecClient(CrowdSecDeps{
		Set: imported.New(imported.Config{Own: b.own, Node: "n1"}), Clock: clockguard.New(clockguard.Read(), clockguard.Config{}),
		Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Log: slog.New(slog.DiscardHandler), State: folder, Node: "n1", Version: "test", Unit: unit,
	})
	b.own.OnChange(b.Changed)
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = func() { cancel(); b.Stop() }
	t.Cleanup(b.stop)
	b.Settle(ctx, c)
	return b
}

// unit is that of all rules here.
func unit(string, string) words.Measure {
	return words.Measure{Each: 1, One: "request", Many: "requests"}
}

func (b *bench) figures() *crowdsec.Figures {
	var s admin.Stats
	b.Report(&s)
	return s.CrowdSec
}

// until waits for a state.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f := b.figures()
			b.t.Fatalf("not %s: %+v %+v, alarms %v", what, f.Decisions, f.Alerts, b.Alarms.Lasting())
		}
	}
}

// blocks reports whether the set denies an address.
func (b *bench) blocks(addr string) bool {
	standing, _ := b.Set.FindHit(b.Clock.Now(), netip.MustParseAddr(addr))
	return standing == blocklist.Blocked
}

// alarms reports whether an alarm about this side lasts, with such a text.
func (b *bench) alarmed(text string) bool {
	for _, a := range b.Alarms.Lasting() {
		if a.Kind == alarm.CrowdSec && strings.Contains(a.Text, text) {
			return true
		}
	}
	return false
}

func secret(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func decisionsOf(t *testing.T, url, more string) string {
	return fmt.Sprintf("{decisions: {url: %q, key_file: %s, every: 1s%s}", url, secret(t, lapitest.Key+"\n"), more)
}

// Debian's CrowdSec: its decisions are held, also while it is away and over a restart, and what
// this node reports to it does not come back.
func TestCrowdSec(t *testing.T) {
	t.Parallel()
	s := lapitest.Start(t)
	s.Cscli("decisions", "add", "-i", "192.0.2.77", "-d", "1h")
	s.Cscli("decisions", "add", "-r", "198.51.100.0/24", "-d", "1h")
	s.Cscli("decisions", "add", "-r", "203.0.113.0/24", "-d", "1h", "-t", "captcha")
	s.Cscli("decisions", "add", "-r", "10.0.0.0/8", "-d", "1h")
	folder := t.TempDir()
	section := decisionsOf(t, s.URL, "") + fmt.Sprintf(", alerts: {url: %q, machine_id: %s, password_file: %s}}", s.URL, lapitest.Machine, secret(t, lapitest.Password))
	b := run(t, folder, section)
	b.until("held", func() bool { return b.blocks("192.0.2.77") && b.blocks("198.51.100.9") })
	if b.blocks("203.0.113.9") || b.blocks("10.1.2.3") {
		t.Error("a captcha, or a /8, blocks")
	}
	if all := b.Feeds(); len(all) != 1 || all[0].Name != crowdSecSource || all[0].State != admin.ImportOK || all[0].Good.IsZero() {
		t.Errorf("shown as %+v", all)
	}
	s.Cscli("decisions", "delete", "-i", "192.0.2.77")
	s.Cscli("decisions", "add", "-i", "2001:db8::9", "-d", "1h")
	b.until("changed", func() bool { return !b.blocks("192.0.2.77") && b.blocks("2001:db8::9") })

	now := b.Clock.Now()
	for prefix, change := range map[string]func(*edgeguard.Block){
		"192.0.2.1/32": func(*edgeguard.Block) {},
		"192.0.2.2/32": func(one *edgeguard.Block) { one.Origin = "n2" },
		"192.0.2.3/32": func(one *edgeguard.Block) { one.Rule = edgeguard.ManualRule },
		"192.0.2.4/32": func(one *edgeguard.Block) { one.Rule = edgeguard.OwnerRule("fail2ban") },
	} {
		one := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Origin: "n1", Reason: "secret words", Count: 61, Limit: 60, Since: now, Until: now.Add(time.Hour)}
		change(&one)
		if _, changed, err := b.own.Add(one, false, now); err != nil || !changed {
			t.Fatal(prefix, err)
		}
	}
	b.until("reported", func() bool { return b.figures().Alerts.Sent == 1 })
	list := s.Cscli("alerts", "list", "--all")
	if !strings.Contains(list, `"192.0.2.1"`) || strings.Contains(list, `"192.0.2.2"`) || strings.Contains(list, `"192.0.2.3"`) || strings.Contains(list, `"192.0.2.4"`) || strings.Contains(list, "secret words") {
		t.Error(list)
	}
	b.until("skipped", func() bool { return b.figures().Decisions.Skipped.Ours == 1 })
	if b.blocks("192.0.2.1") {
		t.Error("what this node reported came back")
	}

	b.stop()
	s.Stop()
	b = run(t, folder, section)
	b.until("held without a LAPI", func() bool { return b.blocks("198.51.100.9") && b.blocks("2001:db8::9") })
	b.until("alarmed", func() bool {
		return b.alarmed("nothing listens there; the 2 decisions that are held stay in force until their ends")
	})
	s.Launch()
	s.Cscli("decisions", "delete", "-r", "198.51.100.0/24")
	b.until("read again", func() bool {
		return !b.blocks("198.51.100.9") && b.blocks("2001:db8::9") && !b.alarmed("decisions that are held")
	})
	if b.blocks("192.0.2.1") {
		t.Error("what this node reported came back")
	}
	b.until("logged in again", func() bool { return !b.alarmed("alerts wait") })
}

// testLAPI is a server of answers that change.
type testLAPI struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int32
}

func newLAPI(t *testing.T) *testLAPI {
	l := new(testLAPI)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		(*l.answer.Load())(w, r)
	}))
	t.Cleanup(l.Close)
	l.says(200, decisionsList(1))
	return l
}

func (l *testLAPI) says(status int, body string) {
	l.does(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func (l *testLAPI) does(f http.HandlerFunc) { l.answer.Store(&f) }

// decisionsList is a whole answer of so many decisions.
func decisionsList(n int) string {
	var text strings.Builder
	text.WriteString(`{"new":[`)
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"origin":"CAPI","type":"ban","scope":"Ip","value":"198.%d.%d.%d","duration":"4h","scenario":"ssh"}`, 18+i>>16, i>>8&255, i&255)
	}
	return text.String() + `],"deleted":[]}`
}

// Whatever a LAPI does wrong, one alarm says it, and what was held stays.
func TestLastGoodStays(t *testing.T) {
	for _, row := range []struct {
		name string
		does http.HandlerFunc
		want string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "it answers 403 Forbidden; write the key that `cscli bouncers add NAME` prints into /"},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "unexpected '<'; the 300 decisions that are held stay"},
		{"redirected", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "where the key must not go"},
		{"cut short", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, decisionsList(300)[:9000]) }, "it ends in the middle"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newLAPI(t)
			l.says(200, decisionsList(300))
			b := run(t, "", decisionsOf(t, l.URL, "")+"}")
			b.until("held", func() bool { return b.figures().Decisions.InForce == 300 })
			l.does(row.does)
			b.until("alarmed "+row.want, func() bool { return b.alarmed(row.want) })
			if f := b.figures().Decisions; f.InForce != 300 || f.Error == "" || f.Failures == 0 {
				t.Errorf("%+v", f)
			}
			l.says(200, decisionsList(300))
			b.until("well", func() bool { return len(b.Alarms.Lasting()) == 0 && b.figures().Decisions.Error == "" })
		})
	}
}

// A list that is suddenly empty is believed when it is said twice.
func TestAllDeleted(t *testing.T) {
	t.Parallel()
	l := newLAPI(t)
	l.says(200, decisionsList(300))
	b := run(t, "", decisionsOf(t, l.URL, "")+"}")
	b.until("held", func() bool { return b.figures().Decisions.InForce == 300 })
	var times atomic.Int32
	l.does(func(w http.ResponseWriter, r *http.Request) {
		text := strings.Replace(strings.Replace(decisionsList(300), `"new":`, `"x":`, 1), `"deleted":[]`, `"new":[],"deleted":[]`, 1)
		if times.Add(1) == 1 {
			text = strings.Replace(strings.Replace(decisionsList(300), `"new":`, `"gone":`, 1), `"deleted":[]`, `"new":null`, 1)
			text = strings.Replace(text, `"gone":`, `"deleted":`, 1)
		} else if r.URL.RawQuery != "startup=true" {
			t.Error("not asked for the whole list: ", r.URL)
		}
		if held := b.figures().Decisions.InForce; held != 300 {
			t.Errorf("%d held when it is asked again", held)
		}
		_, _ = io.WriteString(w, text)
	})
	b.until("lifted", func() bool { return b.figures().Decisions.InForce == 0 })
	if n := times.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// More than is allowed is not in force, and an alarm says so until there is less.
func TestMost(t *testing.T) {
	l := newLAPI(t)
	l.says(200, decisionsList(300))
	b := run(t, "", decisionsOf(t, l.URL, ", most: 200")+"}")
	b.until("alarmed", func() bool {
		return b.alarmed("has 100 decisions more than the 200 that crowdsec.decisions.most allows")
	})
	if held := b.figures().Decisions.InForce; held != 200 {
		t.Errorf("%d held", held)
	}
}

// Changes add no more than is allowed either, and what is held may still get another end.
func TestMostOfChanges(t *testing.T) {
	t.Parallel()
	l := newLAPI(t)
	l.says(200, decisionsList(150))
	b := run(t, "", decisionsOf(t, l.URL, ", most: 200")+"}")
	b.until("held", func() bool { return b.figures().Decisions.InForce == 150 })
	l.does(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.ReplaceAll(strings.ReplaceAll(decisionsList(190), "198.18.", "198.19."), "198.19.0.0", "198.18.0.0"))
	})
	answers := b.figures().Decisions.Answers
	b.until("asked", func() bool { return b.figures().Decisions.Answers > answers+1 })
	if f := b.figures().Decisions; f.InForce != 200 || f.Skipped.NoRoom == 0 {
		t.Errorf("%+v", f)
	}
}

// Deletions of what is not held here take back nothing: a filter may have left it out.
func TestDeletionsOfOthers(t *testing.T) {
	t.Parallel()
	l := newLAPI(t)
	l.says(200, decisionsList(150))
	b := run(t, "", decisionsOf(t, l.URL, "")+"}")
	b.until("held", func() bool { return b.figures().Decisions.InForce == 150 })
	l.does(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			t.Error("deletions of others are in doubt: " + r.URL.String())
		}
		text := strings.Replace(strings.ReplaceAll(decisionsList(150), "198.18.", "198.19."), `"new":`, `"gone":`, 1)
		text = strings.Replace(text, `"deleted":[]`, `"new":null`, 1)
		_, _ = io.WriteString(w, strings.Replace(text, `"gone":`, `"deleted":`, 1))
	})
	answers := b.figures().Decisions.Answers
	b.until("asked", func() bool { return b.figures().Decisions.Answers > answers+1 })
	if held := b.figures().Decisions.InForce; held != 150 {
		t.Errorf("%d held", held)
	}
}

// A LAPI that says how long it wants to be left alone is left alone.
func TestPauseAsAsked(t *testing.T) {
	const every = 10 * time.Second
	busy := func(d time.Duration) error {
		return fmt.Errorf("asked: %w", &crowdsec.RefusedError{Status: 503, After: d})
	}
	for _, one := range []struct {
		failed int
		err    error
		want   time.Duration
	}{
		{0, nil, every}, {1, io.EOF, 2 * every}, {9, io.EOF, slowest}, {1, busy(0), 2 * every},
		{1, busy(time.Second), 2 * every}, {1, busy(5 * time.Minute), 5 * time.Minute}, {9, busy(5 * time.Minute), 5 * time.Minute},
	} {
		if got := (&health{failed: one.failed}).pause(every, one.err); got != one.want {
			t.Errorf("after %d failures, %v: %v, want %v", one.failed, one.err, got, one.want)
		}
	}
}

// Without the section nothing is held any more.
func TestLeavesConfig(t *testing.T) {
	l := newLAPI(t)
	b := run(t, t.TempDir(), decisionsOf(t, l.URL, "")+"}")
	b.until("held", func() bool { return b.figures().Decisions.InForce == 1 })
	c, err := config.Parse("f", []byte("rules: []"))
	if err != nil {
		t.Fatal(err)
	}
	b.Settle(t.Context(), c)
	if b.blocks("198.18.0.0") || b.figures() != nil {
		t.Error("it is held without a config that says so")
	}
}

// A file that is broken is renamed, and the node goes on without it.
func TestBrokenFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, fileName), []byte("no snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLAPI(t)
	b := run(t, folder, decisionsOf(t, l.URL, "")+"}")
	b.until("held", func() bool { return b.figures().Decisions.InForce == 1 })
}

// FuzzKept holds that no note makes the file's reader panic, and that a good one is read back.
func FuzzKept(f *testing.F) {
	f.Add("1790000000 192.0.2.1/32 CAPI: ssh")
	f.Add("1 x")
	f.Fuzz(func(t *testing.T, note string) {
		e, ok := parse(note)
		if !ok {
			return
		}
		kept := &decisionsFile{deps: CrowdSecDeps{Clock: clockguard.New(clockguard.Read(), clockguard.Config{})}}
		again, ok := parse(string(kept.text(nil, &e)))
		if !ok || again.Prefix != e.Prefix || again.Reason != e.Reason {
			t.Fatalf("%+v, %+v", e, again)
		}
	})
}
