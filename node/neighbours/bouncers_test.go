package neighbours

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec/lapi"
	"edgeguard/node/alarm"
	"edgeguard/node/lists"
)

// side returns the bouncers of a node that is not one, and its feed.
func side(t *testing.T) (*BouncerService, *bouncerFeed, *[]edgeguard.Alarm) {
	t.Helper()
	c := config.Default()
	var raised []edgeguard.Alarm
	s := NewBouncers(BouncerDeps{
		Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), State: t.TempDir(),
		Alarms: alarm.New(func(a edgeguard.Alarm) { raised = append(raised, a) }, func(string, string) {}),
		Blocks: &lists.InForce{Current: func() *config.Config { return c }, List: blocklist.New(blocklist.Config{}), Protected: func() []netip.Prefix { return nil }},
	})
	s.Load()
	s.begin(true)
	f := &bouncerFeed{BouncerDeps: s.BouncerDeps, backlog: s.BouncerBacklog, journal: s.journal}
	s.Blocks.List.OnChange(func(b edgeguard.Block) { s.Changed(b.Prefix) })
	return s, f, &raised
}

// inForce returns what the journal has, + in force and - ended.
func inForce(j *lapi.Journal) string {
	last, _ := j.Marks()
	all, _, _ := j.Between(0, last, make([]lapi.Change, 0, 100))
	var texts []string
	for _, c := range all {
		texts = append(texts, map[bool]string{true: "+", false: "-"}[c.Live]+c.Prefix.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// TestFeed: the journal has what enforcers have: exempt addresses are cut out, what was
// taken back has ended, also before the start, and in mode monitor everything has.
func TestFeed(t *testing.T) {
	s, f, _ := side(t)
	list, now := s.Blocks.List, s.Clock.Now()
	add := func(prefix string) {
		t.Helper()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Since: now, Until: now.Add(time.Hour)}
		if _, _, err := list.Add(b, false, now); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, want string) {
		t.Helper()
		if got := inForce(s.journal); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	add("203.0.113.5/32")
	add("203.0.113.6/32")
	list.Lift(netip.MustParsePrefix("203.0.113.6/32"), now, "", "n")
	if !f.pass() {
		t.Error("the first pass is not of everything")
	}
	want("at the start", "+203.0.113.5/32 -203.0.113.6/32")
	add("203.0.113.7/32")
	list.Lift(netip.MustParsePrefix("203.0.113.5/32"), now, "", "n")
	if f.pass() {
		t.Error("a change is everything")
	}
	want("after changes", "+203.0.113.7/32 -203.0.113.5/32 -203.0.113.6/32")
	s.Blocks.Current().Allowlist = []netip.Prefix{netip.MustParsePrefix("198.51.100.128/25")}
	list.SetAllow(s.Blocks.Current().Allowlist)
	add("198.51.100.0/24")
	s.Refresh()
	f.pass()
	want("around an allowed network", "+198.51.100.0/25 +203.0.113.7/32 -203.0.113.5/32 -203.0.113.6/32")
	s.Blocks.Current().Monitor = true
	s.Refresh()
	f.pass()
	want("in mode monitor", "-198.51.100.0/24 -198.51.100.0/25 -203.0.113.5/32 -203.0.113.6/32 -203.0.113.7/32")
	add("203.0.113.8/32")
	f.pass()
	if got := inForce(s.journal); strings.Contains(got, "+") {
		t.Errorf("in mode monitor: %s", got)
	}
	if served(crowdSec) || !served("spamhaus-drop") {
		t.Error("what came from CrowdSec is echoed, or other lists are not served")
	}
}

// TestBacklog: with many changes, everything is read again, and without a feed nothing
// is kept.
func TestBacklog(t *testing.T) {
	b := newBacklog()
	b.Changed(netip.MustParsePrefix("192.0.2.1/32"))
	if whole, pending := b.take(); whole || len(pending) > 0 {
		t.Error("changes are kept that nothing reads")
	}
	b.begin(true)
	b.take()
	for i := range mostPending + 10 {
		b.Changed(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32))
	}
	if whole, pending := b.take(); !whole || len(pending) > 0 {
		t.Errorf("%t, %d", whole, len(pending))
	}
}

// TestSilent: a bouncer is silent after ten of its own pauses, and not before 5 minutes.
// One that only asks about addresses never is.
func TestSilent(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		every, ago time.Duration
		want       bool
	}{
		{10 * time.Second, 5 * time.Minute, false}, {10 * time.Second, 5*time.Minute + 1, true}, {time.Minute, 10 * time.Minute, false}, {time.Minute, 10*time.Minute + 1, true},
		{0, time.Hour, false},
	} {
		if got := silent(&lapi.Usage{Every: c.every, Last: now.Add(-c.ago)}, now); got != c.want {
			t.Errorf("every %v, %v ago: %t", c.every, c.ago, got)
		}
	}
}

// TestKeysFile: a damaged file of keys is renamed and raises an alarm, and new keys can
// be made. Without a state folder there are none.
func TestKeysFile(t *testing.T) {
	s, _, raised := side(t)
	if added, p := s.AddBouncer(admin.BouncerRequest{Name: "edge1"}); p != nil || added.Kernel != lapi.Auto {
		t.Fatalf("%+v, %v", added, p)
	}
	path := filepath.Join(s.State, lapi.KeysFile)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Load()
	if len(*raised) != 1 || !strings.Contains((*raised)[0].Text, "edgeguard bouncers add") {
		t.Errorf("%+v", *raised)
	}
	if added, p := s.AddBouncer(admin.BouncerRequest{Name: "edge1", Kernel: lapi.Yes}); p != nil || len(added.Key) != 64 {
		t.Errorf("%+v, %v", added, p)
	}
	if p := s.RemoveBouncer("edge2"); p == nil || p.Status != 404 {
		t.Errorf("%v", p)
	}
	s.State = ""
	s.Load()
	if _, p := s.AddBouncer(admin.BouncerRequest{Name: "edge1"}); p == nil || !strings.Contains(p.Error(), "state") {
		t.Errorf("%v", p)
	}
}
