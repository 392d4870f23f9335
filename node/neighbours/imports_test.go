package neighbours

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/node/alarm"
)

var begin = time.Unix(1_800_000_000, 0).UTC()

// feeder is a service with lists of these names, of which one awaits confirmation.
type feeder struct {
	names  []string
	awaits string
}

func (f *feeder) Feeds() (all []admin.ImportFeed) {
	for _, name := range f.names {
		feed := admin.ImportFeed{Name: name, Kind: "blocklist", State: admin.ImportOK, InForce: 99}
		if name == f.awaits {
			feed.State, feed.Awaits = admin.ImportWaiting, &admin.ImportPending{Why: "it is empty"}
		}
		all = append(all, feed)
	}
	return all
}

func (f *feeder) Confirm(name string) error {
	if name != f.awaits {
		return errors.New("nothing awaits")
	}
	f.awaits = ""
	return nil
}

// Feeds are shown with what the set has of them, in the order of their names and each once;
// what awaits confirmation is confirmed by the service that has it.
func TestSummaryAndConfirm(t *testing.T) {
	set := imported.New(imported.Config{Own: blocklist.New(blocklist.Config{}), Most: 2})
	var alarms []string
	i := &ImportedLists{
		Set: set, Most: func() int { return 2 }, Epoch: func(at time.Time) time.Time { return at.Add(time.Hour) },
		Alarms:  alarm.New(func(a edgeguard.Alarm) { alarms = append(alarms, a.Text) }, func(string, string) { alarms = append(alarms, "ends") }),
		Feeders: []admin.ImportFeeder{&feeder{names: []string{"drop", "b"}}, &feeder{names: []string{"drop", "a"}, awaits: "a"}},
	}
	entry := func(text string) imported.Entry {
		return imported.Entry{Prefix: netip.MustParsePrefix(text), Until: begin.Add(time.Hour)}
	}
	set.Replace("drop", []imported.Entry{entry("192.0.2.1/32"), entry("192.0.2.2/32"), entry("192.0.2.3/32"), entry("::/0")}, begin)
	s := i.Summary()
	var names []string
	for _, f := range s.Feeds {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "a b drop" || s.Blocks != 2 || s.Most != 2 {
		t.Errorf("%s, %+v", got, s)
	}
	if f := s.Feeds[2]; f.InForce != 2 || f.Refused.NoRoom != 1 || f.Refused.TooWide != 1 || !f.Changed.Equal(begin.Add(time.Hour)) || f.Kind != "blocklist" {
		t.Errorf("%+v", f)
	}
	if f := s.Feeds[0]; f.InForce != 0 || f.Awaits == nil {
		t.Errorf("%+v", f)
	}
	if p := i.ConfirmImport("a"); p != nil {
		t.Error(p)
	}
	for _, name := range []string{"b", "gone"} {
		if p := i.ConfirmImport(name); p == nil || p.Status != http.StatusConflict {
			t.Errorf("%s: %v", name, p)
		}
	}
	i.Check(begin)
	set.Replace("drop", nil, begin)
	i.Check(begin.Add(time.Minute))
	if len(alarms) == 0 || !strings.Contains(alarms[0], "1 entries of 1 imported lists are not blocked: max_imported (2) is reached") {
		t.Errorf("%q", alarms)
	}
	if lasting := i.Alarms.Lasting(); len(lasting) != 0 {
		t.Errorf("%v", lasting)
	}
}
