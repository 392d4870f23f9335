package neighbours

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/feed"
	"edgeguard/internal/program"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

func TestMain(m *testing.M) {
	program.Parallel(8)
	goleak.VerifyTestMain(m)
}

// rig is a node around one list, with a source that the test plays.
type rig struct {
	t        *testing.T
	set      *imported.Set
	services *Subscriptions
	alarms   *alarm.Tracker
	config   config.BlocklistSource
	state    string

	mu     sync.Mutex // guards what follows
	text   string
	err    error
	marked bool // answers 304 to the mark of text
	asked  []time.Time
	marks  []feed.Marks
	forgot int
	told   []string
	// fetched is what came of each time that it was asked.
	fetched []fetched
}

type fetched struct {
	at        time.Time
	text      string
	err, same bool
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, state: t.TempDir(), config: config.BlocklistSource{Name: "drop", URL: "https://lists.example.org/drop", Every: time.Hour, Stale: 7 * 24 * time.Hour, Most: 100}}
	r.set = imported.New(imported.Config{Own: blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("9.9.9.9/32")}}), Node: "test"})
	r.alarms = alarm.New(func(a edgeguard.Alarm) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, a.Kind+": "+a.Text)
	}, func(kind, about string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, kind+" recovered")
	})
	return r
}

func (r *rig) get(_ context.Context, had feed.Marks) (feed.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.marks = append(r.asked, time.Now()), append(r.marks, had)
	r.fetched = append(r.fetched, fetched{at: time.Now(), text: r.text, err: r.err != nil})
	if r.err != nil {
		return feed.Answer{}, r.err
	}
	m := feed.Marks{}
	if r.marked {
		m.ETag = fmt.Sprintf("%q", r.text)
	}
	if had.ETag != "" && had == m {
		r.fetched[len(r.fetched)-1].same = true
		return feed.Answer{Same: true, Marks: had}, nil
	}
	return feed.Answer{Data: []byte(r.text), Marks: m}, nil
}

func (r *rig) forget() { r.forgot++ }

func (r *rig) hide(text []byte) ([]byte, bool) {
	hidden := bytes.ReplaceAll(text, []byte("s3cret"), []byte("…"))
	return hidden, !bytes.Equal(hidden, text)
}

// play sets what the source answers from now on.
func (r *rig) play(text string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text, r.err = text, err
}

// start runs the service, and stop ends it, as a node that starts and ends.
func (r *rig) start() (stop func()) {
	same := func(t time.Time) time.Time { return t }
	d := BlocklistDeps{Set: r.set, Epoch: same, Local: same, Log: slog.New(slog.DiscardHandler), State: r.state}
	sub := newSubscription(d, supervisor.Config{Alarms: r.alarms, Now: time.Now}, r.config)
	sub.from = r
	r.services = &Subscriptions{Group: supervisor.Group[*Subscription]{Config: supervisor.Config{Alarms: r.alarms, Now: time.Now}}, BlocklistDeps: d}
	r.services.Group.Settle(r.t.Context(), []*Subscription{sub})
	synctest.Wait()
	return r.services.Stop
}

// blocked returns the prefixes of the list that are blocked.
func (r *rig) blocked() string {
	var all []string
	now := time.Now()
	if l := r.set.Blocks(); l != nil {
		for b := range l.Records() {
			if !b.Until.After(now) || b.Lifted {
				continue
			}
			all = append(all, b.Prefix.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (r *rig) want(blocked string, kinds ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.blocked(); got != blocked {
		r.t.Errorf("blocked: %s, want %s", got, blocked)
	}
	var lasting []string
	for _, a := range r.alarms.Lasting() {
		lasting = append(lasting, a.Kind)
	}
	slices.Sort(lasting)
	if !slices.Equal(lasting, kinds) {
		r.t.Errorf("alarms: %v, want %v", r.alarms.Lasting(), kinds)
	}
}

func (r *rig) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// until waits until the source was asked so many times.
func (r *rig) until(asked int) {
	for ; r.count() < asked; synctest.Wait() {
		time.Sleep(time.Second)
	}
}

// list returns the text of a list of n addresses from 5.0.0.from on.
func list(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "5.0.0.%d ; x\n", from+i)
	}
	return b.String()
}

func prefixesOf(from, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("5.0.0.%d/32", from+i))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A list is taken in, followed, and kept over a restart without its source.
func TestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 4)+"9.9.9.9\n10.0.0.0/8\n", nil)
		stop := r.start()
		time.Sleep(firstWithin)
		r.want(prefixesOf(0, 4) + " 9.9.9.9/32") // an allowance sleeps on it: the set's business
		r.play(list(1, 4)+"9.9.9.9\n", nil)
		time.Sleep(67 * time.Minute)
		r.want(prefixesOf(1, 4) + " 9.9.9.9/32")
		stop()

		r.set.DropSource("drop", time.Now())
		r.play("", errors.New("no network"))
		asked := len(r.asked)
		stop = r.start()
		time.Sleep(time.Millisecond)
		r.want(prefixesOf(1, 4) + " 9.9.9.9/32")
		if time.Sleep(50 * time.Minute); len(r.asked) != asked {
			t.Errorf("asked %d times within the hour after a restart", len(r.asked)-asked)
		}
		stop()
	})
}

// Each fetch is later than every, and by a different time.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 4), nil)
		r.marked = true
		defer r.start()()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		pauses := map[time.Duration]bool{}
		for i := 1; i < len(r.asked); i++ {
			pause := r.asked[i].Sub(r.asked[i-1])
			if pauses[pause] = true; pause < time.Hour || pause > 66*time.Minute {
				t.Errorf("asked after %v", pause)
			}
			if r.marks[i].ETag == "" {
				t.Errorf("asked without the mark")
			}
		}
		if len(r.asked) < 22 || len(pauses) < 10 {
			t.Errorf("asked %d times, with %d pauses", len(r.asked), len(pauses))
		}
	})
}

// What fails changes nothing, is tried again later and later, and is an alarm after
// three times.
func TestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 4), nil)
		defer r.start()()
		time.Sleep(firstWithin)
		r.want(prefixesOf(0, 4))
		r.play("<html>\n<h1>Sign in to the network</h1>\n</html>\n", nil)
		r.until(3)
		r.want(prefixesOf(0, 4))
		r.until(4)
		r.want(prefixesOf(0, 4), alarm.Blocklist)
		if text := r.alarms.Lasting()[0].Text; !strings.HasPrefix(text, `list drop: lists.example.org: is not a list: 3 of 3 lines are no address; line 1 is "<html>"; the list of `) {
			t.Errorf("%s", text)
		}
		r.play("", &feed.Busy{Status: 429, For: 3 * time.Hour})
		time.Sleep(time.Hour)
		before := r.count()
		time.Sleep(2 * time.Hour)
		if synctest.Wait(); r.count() != before {
			t.Errorf("asked %d times while the server wants to be left alone", r.count()-before)
		}
		r.play(list(0, 5), nil)
		time.Sleep(90 * time.Minute)
		r.want(prefixesOf(0, 5))
	})
}

// A first failure is an alarm where nothing is in force.
// A list that is looked at each minute and does not change is written to disk once an hour.
func TestRarelyWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.config.Every, r.marked = time.Minute, true
		r.play(list(0, 4), nil)
		defer r.start()()
		one := func() time.Time {
			s := r.services.All()[0]
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.state.saved
		}
		r.until(1)
		first := one()
		r.until(40)
		if again := one(); !again.Equal(first) || first.IsZero() {
			t.Errorf("written at %v and %v", first, again)
		}
		r.until(80)
		if again := one(); again.Equal(first) {
			t.Error("not written again within an hour")
		}
	})
}

// Who confirms while the list leaves the config puts nothing in force that stays.
func TestConfirmedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 200), nil)
		stop := r.start()
		r.until(1)
		one := r.services.All()[0]
		if one.shown().Awaits == nil {
			t.Fatal("nothing awaits confirmation")
		}
		stop()
		r.set.DropSource("drop", time.Now())
		if err := one.confirm(); err == nil || r.blocked() != "" {
			t.Errorf("%v, blocked: %s", err, r.blocked())
		}
	})
}

// A server that names the secret that it refuses has it in no alarm and on no page.
func TestSecretIsHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play("forbidden: the key s3cret is unknown\n", nil)
		defer r.start()()
		r.until(1)
		told := strings.Join(r.told, "\n") + r.services.Feeds()[0].Error
		if !strings.Contains(told, "forbidden: the key … is unknown") || strings.Contains(told, "s3cret") {
			t.Error(told)
		}
	})
}

func TestFailsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play("", errors.New("x509: unknown\x1b authority"))
		defer r.start()()
		time.Sleep(firstWithin)
		r.want("", alarm.Blocklist)
		if text := r.alarms.Lasting()[0].Text; text != "list drop: lists.example.org: x509: unknown? authority; nothing of it is in force" {
			t.Error(text)
		}
	})
}

// A list that is empty, over its size or moved by half waits, and the last good one
// stays; an operator confirms it, or its source takes it back.
func TestWaits(t *testing.T) {
	for name, text := range map[string]string{"empty": "# none\n", "moved": list(3, 4), "too many": list(0, 101)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.play(list(0, 4), nil)
				defer r.start()()
				time.Sleep(firstWithin)
				if err := r.services.Confirm("drop"); err == nil || !strings.Contains(err.Error(), "nothing of list drop awaits") {
					t.Errorf("nothing waits: %v", err)
				}
				if err := r.services.Confirm("other"); err == nil || !strings.Contains(err.Error(), "not one of the lists") {
					t.Errorf("another list: %v", err)
				}
				r.play(text, nil)
				time.Sleep(67 * time.Minute)
				r.want(prefixesOf(0, 4), alarm.BlocklistWaits)
				r.play(list(0, 5), nil)
				time.Sleep(67 * time.Minute)
				r.want(prefixesOf(0, 5))
				r.play(text, nil)
				time.Sleep(67 * time.Minute)
				r.want(prefixesOf(0, 5), alarm.BlocklistWaits)
				if err := r.services.Confirm("drop"); err != nil {
					t.Fatal(err)
				}
				confirmed := map[string]string{"empty": "", "moved": prefixesOf(3, 4), "too many": prefixesOf(0, 101)}[name]
				r.want(confirmed)
				time.Sleep(67 * time.Minute) // and it is not asked about again
				r.want(confirmed)
			})
		})
	}
}

// A first list is not moved; but empty, or over its size, it waits too.
func TestWaitsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 101), nil)
		defer r.start()()
		time.Sleep(firstWithin)
		r.want("", alarm.BlocklistWaits)
		if text := r.alarms.Lasting()[0].Text; text != "list drop of lists.example.org has 101 entries, more than the 100 of `most`, and awaits confirmation: "+
			"nothing of it is in force; if that is right, run 'edgeguard blocklists confirm drop'" {
			t.Error(text)
		}
	})
}

// Operators see what a list is doing, in the words of the API.
func TestFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 4)+strings.Repeat("10.0.0.0/8\n", 3)+"8.0.0.0/9\nwhat\n", nil)
		defer r.start()()
		shown := func(state string) admin.ImportFeed {
			t.Helper()
			synctest.Wait()
			f := r.services.Feeds()[0]
			if f.Name != "drop" || f.Kind != "blocklist" || f.State != state || f.Next.IsZero() || (f.Awaits != nil) != (state == admin.ImportWaiting) || (f.Error != "") != (state == admin.ImportFailing) {
				t.Errorf("%+v, want it %s", f, state)
			}
			return f
		}
		shown(admin.ImportStarting)
		r.until(1)
		if f := shown(admin.ImportOK); f.Refused != (admin.ImportRefusals{TooWide: 1, Invalid: 4}) || f.Good.IsZero() {
			t.Errorf("%+v", f)
		}
		r.play("", errors.New("no route"))
		r.until(2)
		shown(admin.ImportFailing)
		r.play(list(100, 9), nil)
		r.until(3)
		if f := shown(admin.ImportWaiting); f.Awaits != nil && (f.Awaits.Entries != 9 || !strings.HasPrefix(f.Awaits.Why, "it has moved") || f.Awaits.Since.IsZero()) {
			t.Errorf("%+v", f.Awaits)
		}
		if err := r.services.Confirm("drop"); err != nil {
			t.Fatal(err)
		}
		shown(admin.ImportOK)
	})
}

// Blocks end when the source was not good for too long, also one that only sends what
// waits, and are back with it.
func TestStale(t *testing.T) {
	for name, text := range map[string]string{"gone": "", "another list": list(100, 50)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.play(list(0, 4), nil)
				stop := r.start()
				time.Sleep(3 * 24 * time.Hour)
				kind := alarm.BlocklistWaits
				if r.play(text, nil); text == "" {
					r.play("", errors.New("no route"))
					kind = alarm.Blocklist
				}
				time.Sleep(7*24*time.Hour - 67*time.Minute)
				r.want(prefixesOf(0, 4), kind)
				time.Sleep(67 * time.Minute)
				both := []string{kind, alarm.BlocklistStale}
				slices.Sort(both)
				r.want("", both...)
				stop()
				stop = r.start() // a restart does not bring them back
				time.Sleep(firstWithin)
				if r.blocked() != "" {
					t.Errorf("after a restart: %s", r.blocked())
				}
				r.play(list(0, 5), nil)
				time.Sleep(67 * time.Minute)
				r.want(prefixesOf(0, 5))
				stop()
			})
		})
	}
}

// Blocks of an enforcer that outlives the node end, and are renewed before they do.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.state = "" // 720 writes to the disk would only take time
		r.play(list(0, 4), nil)
		defer r.start()()
		ends := map[time.Time]bool{}
		for range 30 * 24 {
			time.Sleep(time.Hour)
			b := r.set.BlockOf(time.Now(), netip.MustParsePrefix("5.0.0.1/32"))
			if b == nil {
				t.Fatal("it ended")
			}
			left := time.Until(b.Until)
			if ends[b.Until] = true; left < r.config.Stale-2*time.Hour || left > r.config.Stale*5/4 {
				t.Fatalf("ends in %v", left)
			}
		}
		if len(ends) > 18 {
			t.Errorf("renewed %d times in 30 days", len(ends))
		}
	})
}

// A list of another place is another list, and one that leaves the config leaves
// nothing.
func TestSettle(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	set := newRig(t).set
	path := filepath.Join(t.TempDir(), "list")
	write := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(list(0, 4))
	if err := os.WriteFile(filepath.Join(folder, "blocklist.old"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(t time.Time) time.Time { return t }
	g := &Subscriptions{
		Group:         supervisor.Group[*Subscription]{Config: supervisor.Config{Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Now: time.Now}},
		BlocklistDeps: BlocklistDeps{Set: set, Epoch: same, Local: same, Log: slog.New(slog.DiscardHandler), State: folder},
	}
	defer g.Stop()
	settle := func(lists string) {
		t.Helper()
		c, err := config.Parse("f", []byte("blocklists: ["+lists+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		g.Settle(t.Context(), c)
	}
	held := func(want map[string]int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			got := map[string]int{}
			for _, s := range set.Stats() {
				got[s.Source] = s.InForce
			}
			if maps.Equal(got, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("held %v, want %v", got, want)
			}
		}
	}
	settle("{name: a, file: " + path + "}, {name: b, file: " + path + ", every: 10s}")
	held(map[string]int{"a": 4, "b": 4})
	if _, err := os.Stat(filepath.Join(folder, "blocklist.old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list that is not in the config is kept: %v", err)
	}
	settle("{name: a, file: " + path + "}")
	held(map[string]int{"a": 4})
	for _, name := range []string{"a", "b"} { // a list is kept after it is held
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, err := os.Stat(filepath.Join(folder, "blocklist."+name))
			if (err == nil) == (name == "a") {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s on disk: %v", name, err)
			}
		}
	}
	settle("{name: a, file: /none}")
	held(map[string]int{"a": 0})
	settle("")
	held(map[string]int{})
}

// What is on disk is checked before it blocks anything.
func TestDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play(list(0, 4), nil)
		r.start()()
		time.Sleep(firstWithin)
		stop := r.start()
		time.Sleep(firstWithin)
		r.want(prefixesOf(0, 4))
		stop()
		r.set.DropSource("drop", time.Now())
		file := filepath.Join(r.state, "blocklist.drop")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			b[i] ^= 0x40
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			b[i] ^= 0x40
			if k, err := load(r.state, "drop"); err == nil {
				t.Fatalf("byte %d changed: %+v", i, k)
			}
		}
		r.play("", errors.New("no network"))
		stop = r.start()
		time.Sleep(firstWithin)
		r.want("", alarm.Blocklist)
		stop()
	})
}
