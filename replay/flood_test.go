package replay_test

import (
	"context"
	"io"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/internal/realdata"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/sensor/packet"
	"edgeguard/shard"
)

// flooded replays a source with a rule on SYNs and the default numbers.
func flooded(t *testing.T, source replay.Source) *replay.Report {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "syns", Threshold: 20, Match: rules.Match{Kind: []string{"syn"}}}})
	if problems != nil {
		t.Fatal(problems)
	}
	report, err := replay.Run(context.Background(), source, replay.Config{
		Rules: set, Memory: shard.NewMemory(64 << 20), Flood: detector.FloodConfig{Sources: 1000, Times: 10}, Completions: edgeguard.KindHandshake,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The spoofed floods of the real data are one incident each, and block no address;
// a scan of one address is none.
func TestSpoofedFloods(t *testing.T) {
	for _, c := range []struct {
		folder, file string
		syns         uint64
		floods       int
		sources      uint64
	}{
		{"pcap-ddos-stopddos", "pkt.TCP.synflood.spoofed.pcap.gz", 37841, 1, 37_623},
		{"pcap-ddos-stopddos", "pkt.TCP.DOMINATE.syn.ecn.cwr.pcapng", 9878, 1, 9_697},
		{"pcap-ddos-stopddos", "amp.TCP.syn.optionallyACK.optionallysamePort.pcapng", 0, 0, 0},
		{"pcap-scans-esnet", "nmap_80_all.pcap", 0, 0, 0},
	} {
		r, err := packet.Open(realdata.Path(t, c.folder, c.file), packet.Options{Kinds: edgeguard.KindSYN | edgeguard.KindHandshake})
		if err != nil {
			t.Fatal(err)
		}
		report := flooded(t, r)
		r.Close()
		if len(report.Floods) != c.floods || report.Keys.Blocked > 0 {
			t.Errorf("%s: floods %+v, %d blocked", c.file, report.Floods, report.Keys.Blocked)
			continue
		}
		for _, f := range report.Floods {
			if f.Sources > c.sources || f.Sources < c.sources*98/100 || f.Begin.Before(report.First.Truncate(time.Second)) || f.End.Before(f.PeakAt) {
				t.Errorf("%s: %+v", c.file, f)
			}
		}
		if c.syns > 0 && report.Events > c.syns {
			t.Errorf("%s: %d events, want the %d SYNs at most", c.file, report.Events, c.syns)
		}
	}
}

// newcomers are a flash crowd: from each of ever new addresses a SYN, and a tenth of a
// second later the ACK that completes it.
type newcomers struct {
	at       time.Time
	sent     uint32
	complete bool
}

func (c *newcomers) Next() ([]edgeguard.Event, error) {
	if c.sent >= 100_000 {
		return nil, io.EOF
	}
	addr := func(n uint32) netip.Addr { return netip.AddrFrom4([4]byte{100, byte(n >> 16), byte(n >> 8), byte(n)}) }
	var events []edgeguard.Event
	for range 500 {
		events = append(events, edgeguard.Event{Time: c.at, Addr: addr(c.sent), Kind: edgeguard.KindSYN})
		if c.complete && c.sent >= 500 {
			events = append(events, edgeguard.Event{Time: c.at, Addr: addr(c.sent - 500), Kind: edgeguard.KindHandshake, Verified: edgeguard.KindHandshake})
		}
		c.sent++
	}
	c.at = c.at.Add(100 * time.Millisecond)
	return events, nil
}

// A flash crowd of 5,000 new clients a second is no flood, because they complete
// their handshakes, which no rule counts. Without these it is one.
func TestFlashCrowd(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	report := flooded(t, &newcomers{at: start, complete: true})
	if len(report.Floods) > 0 || report.Events != 100_000 || report.Passed != 100_000 {
		t.Errorf("%+v, %d events, %d passed", report.Floods, report.Events, report.Passed)
	}
	report = flooded(t, &newcomers{at: start})
	if len(report.Floods) != 1 || !report.Floods[0].Begin.Equal(start) || report.Floods[0].Peak < 4950 {
		t.Errorf("%+v", report.Floods)
	}
}
