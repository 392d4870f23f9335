package replay_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/realdata"
	"edgeguard/logline"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
	"edgeguard/sensor/packet"
	"edgeguard/shard"
)

// openLog opens a log of the real data.
func openLog(t *testing.T, format string, elem ...string) replay.Source {
	t.Helper()
	f, err := logline.ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	r, err := accesslog.Open(realdata.Path(t, elem...), f, accesslog.Options{Window: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// eventsOf reads a log that is replayed several times.
func eventsOf(t *testing.T, source replay.Source) (all []edgeguard.Event) {
	t.Helper()
	for {
		events, err := source.Next()
		for i := range events {
			events[i].KeepTexts(strings.Clone)
		}
		all = append(all, events...)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// openCapture opens a capture of the real data.
func openCapture(t *testing.T, elem ...string) replay.Source {
	t.Helper()
	r, err := packet.Open(realdata.Path(t, elem...), packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// reaching replays source with a limit of T-1, which blocks (or alarms) exactly
// the keys whose peak reaches T.
func reaching(t *testing.T, source replay.Source, threshold uint32, spec rules.Spec) *replay.Report {
	t.Helper()
	spec.Name, spec.Threshold, spec.Guard = "r", threshold-1, "1"
	set, problems := rules.Compile([]rules.Spec{spec})
	if problems != nil {
		t.Fatal(problems)
	}
	report, err := replay.Run(context.Background(), source, replay.Config{Rules: set, Memory: shard.NewMemory(256 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The exact address, as the counts of the data are made.
var exact = rules.Group{V4: 32, V6: 128}

// shortened leaves one step under the race detector: the others show it the same.
func shortened(steps []step) []step {
	if raceEnabled {
		return steps[:1]
	}
	return steps
}

// step is how many keys reach a threshold.
type step struct {
	threshold uint32
	keys      int
}

// TestLogs holds the replay of every real log against the counts that come
// with it: in the order of the file, with the newest event time as the clock.
func TestLogs(t *testing.T) {
	marx := "csv:time=datetime,addr=src,node=host"
	tests := []struct {
		folder, file, format string
		events, late         uint64
		sort                 bool
		steps                []step
	}{
		{"weblog-wordpress-2016", "access.log.gz", "auto", 206860, 0, false,
			[]step{{20, 1157}, {50, 183}, {100, 49}, {200, 10}, {300, 5}, {500, 0}}},
		{"weblog-joomla-almhuette-2019", "access.log.gz", "auto", 10000, 0, false,
			[]step{{20, 33}, {50, 13}, {100, 8}, {200, 2}, {300, 1}, {500, 1}, {1000, 0}}},
		{"weblog-elastic-apache", "access.log.gz", "auto", 10000, 0, false,
			[]step{{20, 51}, {50, 2}, {100, 1}, {200, 0}}},
		{"weblog-scanner-acunetix", "access.log.gz", "auto", 6539, 5509, false,
			[]step{{20, 1}, {1000, 1}}},
		{"weblog-scanner-acunetix", "access.log.gz", "auto", 6539, 0, true,
			[]step{{1000, 1}, {1863, 1}, {1864, 0}}},
		{"weblog-scanner-netsparker", "access.log.gz", "auto", 7314, 0, false,
			[]step{{20, 1}, {3000, 1}, {7043, 1}, {7044, 0}}},
		{"honeypot-marx-2013a", "marx.csv.gz", marx, 286565, 0, true,
			[]step{{10, 231}, {20, 80}, {50, 19}, {100, 6}, {200, 4}, {300, 3}, {500, 2}, {1000, 1}}},
		{"honeypot-marx-2013a", "marx.csv.gz", marx, 286565, 35329, false,
			[]step{{20, 70}, {50, 16}, {100, 6}, {200, 4}, {300, 3}, {500, 1}, {1000, 1}}},
	}
	for _, test := range tests {
		name := test.folder
		if test.sort {
			name += " sorted"
		}
		t.Run(name, func(t *testing.T) {
			source := openLog(t, test.format, test.folder, test.file)
			if test.sort {
				source = replay.SortByTime(source, 0)
			}
			events := eventsOf(t, source)
			for _, s := range shortened(test.steps) {
				r := reaching(t, &once{slices.Clone(events)}, s.threshold, rules.Spec{Key: exact})
				if got := len(r.Rules[0].Offenders); got != s.keys {
					t.Errorf("T = %d: %d keys, want %d", s.threshold, got, s.keys)
				}
				if r.Events != test.events || r.Late != test.late || r.Early != 0 {
					t.Errorf("T = %d: %d events, %d late, %d early; want %d, %d, 0", s.threshold, r.Events, r.Late, r.Early, test.events, test.late)
				}
			}
		})
	}
}

// TestLoginRule is the rule that found the WordPress log's brute force. The
// paths as they are written miss those who write //xmlrpc.php; normalized they
// are found, and a glob finds the one who writes /wp-login.php/ too. The
// owner is never among them.
func TestLoginRule(t *testing.T) {
	for _, test := range []struct {
		paths []string
		keys  int
	}{
		{[]string{"/wp-login.php", "/xmlrpc.php"}, 11},
		{[]string{"/wp-login.php*", "/xmlrpc.php*"}, 12},
	} {
		source := openLog(t, "combined", "weblog-wordpress-2016", "access.log.gz")
		r := reaching(t, source, 20, rules.Spec{Match: rules.Match{Method: []string{"POST"}, Path: test.paths}})
		if got := len(r.Rules[0].Offenders); got != test.keys {
			t.Errorf("%v: %d addresses, want %d", test.paths, got, test.keys)
		}
		for _, o := range r.Rules[0].Offenders {
			if o.Key.String() == "173.72.7.96" {
				t.Errorf("%v: the owner is blocked", test.paths)
			}
		}
	}
}

// TestSuggestion: on the WordPress log the widest gap is between 264, the
// owner, and 363, the least of five brute-forcers.
func TestSuggestion(t *testing.T) {
	set, _ := rules.Compile([]rules.Spec{{Name: "site", Threshold: 2000, Guard: "1"}})
	source := openLog(t, "combined", "weblog-wordpress-2016", "access.log.gz")
	r, err := replay.Run(context.Background(), source, replay.Config{Rules: set, Memory: shard.NewMemory(64 << 20), Tune: true})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Rules[0].Tally.Suggest(set.Rules[0].Guard.Limit, rules.People{})
	if s.Threshold != 300 || s.Gap.Low != 264 || s.Gap.High != 363 || s.Keys != 5 {
		t.Errorf("suggestion: %+v", s)
	}
}

// TestCaptures holds packet counts per source against the data's: packets of
// both directions, by the exact address. Packets can be forged, so whoever
// goes over alarms and is not blocked.
func TestCaptures(t *testing.T) {
	tests := []struct {
		folder, file string
		events       uint64
		steps        []step
	}{
		{"pcap-ddos-stopddos", "pkt.TCP.synflood.spoofed.pcap.gz", 37841, []step{{2, 218}, {20, 0}}},
		{"pcap-ddos-stopddos", "amp.TCP.reflection.SYNACK.pcap", 7996, []step{{20, 2}, {50, 2}, {100, 0}}},
		{"pcap-ddos-stopddos", "amp.UDP.snmp.src161.pcapng.gz", 4373, []step{{20, 2}, {50, 0}}},
		{"pcap-ipv6-dos-suricata", "sv_denial6-6.pcap.gz", 39838, []step{{20, 1}, {3000, 1}}},
		{"pcap-ppa-sanders", "ppa_synscan.pcapng", 2011, []step{{1000, 1}, {1994, 1}, {1995, 0}}},
		{"pcap-scans-esnet", "masscan_tcp_0_1000_20190821.pcap", 1005, []step{{1005, 1}, {1006, 0}}},
		{"pcap-scans-esnet", "nmap_80_all.pcap", 431, []step{{200, 2}, {227, 1}}},
		{"pcap-slow-and-flood-doup123", "at_slowloris.pcap", 34, []step{{34, 1}, {35, 0}}},
		{"pcap-web-ndpi", "ndpi_http_ipv6.pcap", 193, []step{{20, 3}, {50, 1}, {106, 1}, {107, 0}}},
		{"pcap-zeek-bruteforce", "zeek_ftp_bruteforce.pcap", 606, []step{{200, 2}, {300, 1}, {500, 0}}},
		{"pcap-zeek-bruteforce", "zeek_echo-connections.pcap.gz", 82582, []step{{3000, 1}}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			for _, s := range shortened(test.steps) {
				r := reaching(t, openCapture(t, test.folder, test.file), s.threshold,
					rules.Spec{Match: rules.Match{Kind: []string{"packet"}}, Key: exact})
				if r.Events != test.events {
					t.Errorf("%d packets, want %d", r.Events, test.events)
				}
				if got := len(r.Rules[0].Offenders); got != s.keys {
					t.Errorf("T = %d: %d keys, want %d", s.threshold, got, s.keys)
				}
				for _, o := range r.Rules[0].Offenders {
					if o.Action != edgeguard.ActionAlarm {
						t.Errorf("%s: %v on evidence that can be forged", o.Key, o.Action)
					}
				}
			}
		})
	}
}

// TestDetectionFilter is Suricata's own test of the boundary: eight pings from
// one host and four answers from another; a filter of N fires from the (N+1)th
// on.
func TestDetectionFilter(t *testing.T) {
	for n, over := range map[uint32]uint64{1: 7 + 3, 2: 6 + 2, 4: 4, 7: 1, 8: 0} {
		set, problems := rules.Compile([]rules.Spec{{Name: "r", Threshold: 60000, Guard: "1", Window: time.Hour,
			Match: rules.Match{Kind: []string{"icmp"}}, Candidates: []uint32{n}}})
		if problems != nil {
			t.Fatal(problems)
		}
		source := openCapture(t, "tests-suricata-threshold", "icmp.pcap")
		r, err := replay.Run(context.Background(), source, replay.Config{Rules: set, Memory: shard.NewMemory(8 << 20)})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Rules[0].Candidates[0].Over; r.Events != 12 || got != over {
			t.Errorf("N = %d: %d of %d over, want %d of 12", n, got, r.Events, over)
		}
	}
}
