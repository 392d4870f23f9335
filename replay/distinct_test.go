package replay_test

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// texts is the slow way to count different values: for each key the texts that it showed,
// and the slot in which each was last seen.
type texts struct {
	last map[netip.Prefix]map[string]uint32
	peak map[netip.Prefix]int
}

func (s *texts) see(m *rules.Meter, ev *edgeguard.Event, now time.Time) {
	value, known := m.Value(ev, nil)
	nowSlot, slot := uint32(now.Unix())/m.Width, uint32(ev.Time.Unix())/m.Width
	if _, ok := m.Match(ev); !ok || !known || slot+60 <= nowSlot {
		return
	}
	key := m.Key(ev.Addr, "").Prefix
	if s.last[key] == nil {
		s.last[key] = make(map[string]uint32)
	}
	seen := s.last[key]
	seen[string([]byte(value))] = max(seen[value], slot)
	for text, last := range seen {
		if last+60 <= nowSlot {
			delete(seen, text)
		}
	}
	s.peak[key] = max(s.peak[key], len(seen))
}

// TestDistinctLogs holds the peaks of every key of real logs against a count by text.
func TestDistinctLogs(t *testing.T) {
	failing := rules.Match{Status: []string{"4xx"}, Not: &rules.Match{Path: []string{"*.css", "*.js", "*.png", "*.jpg", "*.gif", "*.ico", "*.map"}}}
	for _, c := range []struct {
		folder, format, field string
		match                 rules.Match
		crossing, most        int // keys of more than 19 values; the greatest count
	}{
		{"weblog-wordpress-2016", "combined", "path", failing, 45, 169},
		{"weblog-wordpress-2016", "combined", "path", rules.Match{}, 0, 0},
		{"weblog-wordpress-2016", "combined", "agent", rules.Match{}, 0, 0},
		{"weblog-joomla-almhuette-2019", "combined", "path", rules.Match{}, 0, 0},
		{"weblog-elastic-apache", "combined", "path", rules.Match{}, 0, 0},
		{"weblog-scanner-netsparker", "auto", "path", rules.Match{}, 0, 0},
	} {
		t.Run(c.folder+" "+c.field, func(t *testing.T) {
			set, problems := rules.Compile([]rules.Spec{{Name: "r", Distinct: c.field, Match: c.match, Threshold: 20, Wide: rules.WideOff, Action: edgeguard.ActionShadow}})
			if problems != nil {
				t.Fatal(problems)
			}
			d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Peaks: true})
			slow := &texts{make(map[netip.Prefix]map[string]uint32), make(map[netip.Prefix]int)}
			readBoth(t, openLog(t, c.format, c.folder, "access.log.gz"), d, &set.Meters[0], slow)
			got, crossing, most := make(map[netip.Prefix]uint32), 0, uint32(0)
			d.Tables()[0].EachEntry(0, func(e shard.Entry) bool {
				got[e.Key.Prefix], most = e.Peak, max(most, e.Peak)
				if e.Peak > 19 {
					crossing++
				}
				return true
			})
			for key, want := range slow.peak {
				if n := int(got[key]); n > want || n < min(want, shard.MaxDistinct) {
					t.Errorf("%s has %d of %d values", key, n, want)
				}
			}
			if len(got) != len(slow.peak) || c.most > 0 && (crossing != c.crossing || int(most) != c.most) {
				t.Errorf("%d keys, want %d; %d over 19, the greatest %d", len(got), len(slow.peak), crossing, most)
			}
		})
	}
}

// readBoth decides a log and counts it the slow way, on the clock of its own times.
func readBoth(t *testing.T, source replay.Source, d *detector.Detector, m *rules.Meter, slow *texts) {
	t.Helper()
	var now time.Time
	for {
		events, err := source.Next()
		nows := make([]time.Time, len(events))
		for i := range events {
			if events[i].Time.After(now) {
				now = events[i].Time
			}
			nows[i] = now
			slow.see(m, &events[i], now)
		}
		d.DecideBatch(nows, events, make([]edgeguard.Verdict, len(events)))
		d.Sweep(now, 4)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
