package replay_test

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/crawlers"
	"edgeguard/crawlers/lookup"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// claimants are requests of a crawler, of an impostor, and of one whom only DNS could
// tell, ten of each.
type claimants struct{ read bool }

func (c *claimants) Next() (events []edgeguard.Event, err error) {
	if c.read {
		return nil, io.EOF
	}
	c.read = true
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 10 {
		for addr, agent := range map[string]string{"192.0.2.1": "Googlebot", "198.51.100.1": "Googlebot", "203.0.113.1": "YandexBot"} {
			events = append(events, edgeguard.Event{Time: at, Addr: netip.MustParseAddr(addr), Agent: agent,
				Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Known: edgeguard.FieldAgent})
		}
	}
	return events, nil
}

// A replay verifies crawlers by their range files, and asks no DNS.
func TestCrawlers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.json")
	specs := []crawlers.Spec{
		{Name: "googlebot", Agents: []string{"Googlebot"}, Ranges: []string{file}},
		{Name: "yandex", Agents: []string{"YandexBot"}, DNS: []string{"yandex.com"}},
	}
	if _, err := lookup.Recorded(specs); err == nil {
		t.Error("no error without the file")
	}
	if err := os.WriteFile(file, []byte(`{"prefixes":[{"ipv4Prefix":"192.0.2.0/28"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := lookup.Recorded(specs)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"verified": "192.0.2.1", "googlebot": "192.0.2.1", "impostor": "198.51.100.1", "unknown": "203.0.113.1"} {
		set, problems := rules.Compile([]rules.Spec{{Name: "a", Threshold: 5, Match: rules.Match{Crawler: []string{value}}}})
		if problems != nil {
			t.Fatal(problems)
		}
		report, err := replay.Run(context.Background(), &claimants{}, replay.Config{Rules: set, Memory: shard.NewMemory(16 << 20), Crawlers: known})
		if err != nil {
			t.Fatal(err)
		}
		if all := report.Rules[0].Offenders; len(all) != 1 || all[0].Key.String() != want {
			t.Errorf("%s: %+v, want %s", value, all, want)
		}
	}
	if known.Figures().Asked != 0 || known.Figures().Unasked == 0 {
		t.Errorf("%+v", known.Figures())
	}
}
