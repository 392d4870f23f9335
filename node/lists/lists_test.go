package lists

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/internal/program"
	"edgeguard/node/alarm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var begin = time.Unix(1_800_000_000, 0)

// testConfig returns what enforcers need, with an empty list and a config in
// which nothing is set.
func testConfig(t *testing.T) Config {
	c, list := &config.Config{}, blocklist.New(blocklist.Config{})
	return Config{
		InForce: &InForce{Current: func() *config.Config { return c }, Protected: func() []netip.Prefix { return nil }, List: list, Imported: imported.New(imported.Config{Own: list})},
		Now:     func() time.Time { return begin },
		Alarms:  alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Log: slog.New(slog.DiscardHandler), State: t.TempDir(),
		Clouds: CloudDeps{
			Lead:  func(context.Context, *redis.Lease, bool) (alone bool, err error) { return true, nil },
			Leave: func(context.Context, *redis.Lease) error { return nil },
		},
	}
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Enforcers get no block of an allowed address, and one of a protected address
// only where that was forced; in mode monitor they get none.
func TestBlocks(t *testing.T) {
	c := testConfig(t)
	protected := prefixes("203.0.113.0/24")
	c.Protected = func() []netip.Prefix { return protected }
	c.Current().Allowlist = prefixes("198.51.100.0/25")
	e := New(c)
	for _, p := range prefixes("192.0.2.1/32", "198.51.100.0/24") {
		if _, _, err := c.List.Add(edgeguard.Block{Prefix: p, Since: begin, Until: begin.Add(time.Hour)}, false, begin); err != nil {
			t.Fatal(err)
		}
	}
	c.List.SetProtected(protected)
	forced := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Since: begin, Until: begin.Add(time.Hour)}
	if _, _, err := c.List.Add(forced, true, begin); err != nil {
		t.Fatal(err)
	}
	got := func() (all []string) {
		for b := range e.config.All(begin, nil) {
			all = append(all, b.Prefix.String())
		}
		slices.Sort(all)
		return all
	}
	if have, want := got(), []string{"192.0.2.1/32", "198.51.100.128/25", "203.0.113.9/32"}; !slices.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
	c.Current().Monitor = true
	if have := got(); have != nil {
		t.Errorf("in mode monitor: %v", have)
	}
}

// Enforcers get no block of another node's address by its signed heartbeat, and a wide
// one without it and without what nodes claim. A claimed address' own block they get.
func TestBlocksAroundPeers(t *testing.T) {
	c := testConfig(t)
	e := New(c)
	c.List.SetPeers(prefixes("198.51.100.7/32", "203.0.113.9/32", "2001:db8::7/128"), prefixes("198.51.100.8/32", "192.0.2.8/32", "2001:db8:0:1::8/128"))
	for _, p := range prefixes("198.51.100.6/31", "198.51.100.8/31", "192.0.2.8/32", "2001:db8:0:1::/64", "2001:db8::/127") {
		if _, _, err := c.List.Add(edgeguard.Block{Prefix: p, Since: begin, Until: begin.Add(time.Hour)}, false, begin); err != nil {
			t.Fatal(err)
		}
	}
	forced := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Since: begin, Until: begin.Add(time.Hour)}
	if _, _, err := c.List.Add(forced, true, begin); err != nil {
		t.Fatal(err)
	}
	var all []string
	for b := range e.config.All(begin, nil) {
		all = append(all, b.Prefix.String())
	}
	slices.Sort(all)
	want := []string{"192.0.2.8/32", "198.51.100.6/32", "198.51.100.9/32", "2001:db8:0:1::/64", "2001:db8::/127", "203.0.113.9/32"}
	if !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// A list that left the config is emptied after a restart, too, and is then off the
// record.
func TestRemovedListIsEmptied(t *testing.T) {
	c := testConfig(t)
	file := filepath.Join(t.TempDir(), "deny.conf")
	with, without := &config.Config{}, &config.Config{}
	with.Enforce.Files = []config.ListFile{{File: file, Format: "plain", Every: time.Millisecond}}
	if _, _, err := c.List.Add(edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Since: begin, Until: begin.Add(time.Hour)}, false, begin); err != nil {
		t.Fatal(err)
	}
	text := func() string {
		b, _ := os.ReadFile(file)
		return string(b)
	}
	first := New(c)
	first.Load()
	first.Settle(t.Context(), with)
	if first.AwaitFirst(t.Context()); text() != "192.0.2.1\n" {
		t.Errorf("who waits for the first list finds %q", text())
	}
	var s admin.Stats
	first.Report(&s)
	if len(s.Enforcers) != 1 || s.Enforcers[0].Name != file {
		t.Errorf("figures %+v", s.Enforcers)
	}
	first.Stop()
	if text() != "192.0.2.1\n" {
		t.Error("a node that ended took its list along")
	}
	second := New(c)
	second.Load()
	second.Settle(t.Context(), without)
	program.Eventually(t, "the list is emptied", func() bool { return text() == "" })
	program.Eventually(t, "it is off the record", func() bool {
		owned, err := enforce.LoadOwned(filepath.Join(c.State, enforce.OwnedName))
		return err == nil && len(owned) == 0
	})
	second.Stop()
}

// A record that cannot be used is renamed, and an alarm; the node goes on with an
// empty one.
func TestUnusableRecord(t *testing.T) {
	c := testConfig(t)
	var raised []edgeguard.Alarm
	c.Alarms = alarm.New(func(a edgeguard.Alarm) { raised = append(raised, a) }, func(string, string) {})
	path := filepath.Join(c.State, enforce.OwnedName)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	New(c).Load()
	if len(raised) != 1 || raised[0].Kind != alarm.State || !strings.Contains(raised[0].Text, path+".aside-1") {
		t.Errorf("%+v", raised)
	}
	if _, err := os.Stat(path + ".aside-1"); err != nil {
		t.Error(err)
	}
}

// A list that cannot be set up is an alarm until a reload has it otherwise: it has no figures that
// would say so.
func TestListThatCannotBeMade(t *testing.T) {
	c := testConfig(t)
	e := New(c)
	defer e.Stop()
	wrong := &config.Config{}
	wrong.Enforce.Files = []config.ListFile{{File: filepath.Join(t.TempDir(), "deny.conf"), Format: "none"}}
	for range 2 {
		e.Settle(t.Context(), wrong)
		if all := c.Alarms.Lasting(); len(all) != 1 || all[0].Kind != alarm.Enforcer || !strings.Contains(all[0].Text, "cannot be set up") {
			t.Errorf("%+v", all)
		}
	}
	e.Settle(t.Context(), &config.Config{})
	if all := c.Alarms.Lasting(); len(all) != 0 {
		t.Errorf("it left the config, and %+v", all)
	}
}
