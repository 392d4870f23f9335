package accesslog_test

import (
	"io"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/realdata"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
)

// window is a slow twin of the detector's count: one clock, the newest slot
// seen; a slot older than 59 before it is dropped.
type window struct {
	slots   map[netip.Addr]map[int64]int
	peaks   map[netip.Addr]int
	clock   int64
	dropped int
}

func newWindow() *window {
	return &window{slots: map[netip.Addr]map[int64]int{}, peaks: map[netip.Addr]int{}}
}

func (w *window) add(ev *edgeguard.Event) {
	slot := ev.Time.Unix() / 5
	w.clock = max(w.clock, slot)
	if slot <= w.clock-60 {
		w.dropped++
		return
	}
	of := w.slots[ev.Addr]
	if of == nil {
		of = map[int64]int{}
		w.slots[ev.Addr] = of
	}
	of[slot]++
	count := 0
	for s, n := range of {
		if s <= w.clock-60 {
			delete(of, s)
			continue
		}
		count += n
	}
	w.peaks[ev.Addr] = max(w.peaks[ev.Addr], count)
}

func (w *window) reaching(limits ...int) []int {
	counts := make([]int, len(limits))
	for i, limit := range limits {
		for peak := range maps.Values(w.peaks) {
			if peak >= limit {
				counts[i]++
			}
		}
	}
	return counts
}

// TestRealLogs holds the counts of each folder's SOURCE.txt, in file order.
func TestRealLogs(t *testing.T) {
	limits := []int{20, 50, 100, 200, 300, 500, 1000}
	for _, test := range []struct {
		folder, file, format, chosen string
		events, addrs, dropped       int
		reaching                     []int
	}{
		{"weblog-wordpress-2016", "access.log.gz", "auto", "combined", 206860, 8799, 0, []int{1157, 183, 49, 10, 5, 0, 0}},
		{"weblog-elastic-apache", "access.log.gz", "auto", "combined", 10000, 1753, 0, []int{51, 2, 1, 0, 0, 0, 0}},
		{"weblog-joomla-almhuette-2019", "access.log.gz", "auto", "combined", 10000, 456, 0, []int{33, 13, 8, 2, 1, 1, 0}},
		{"weblog-scanner-acunetix", "access.log.gz", "auto", "combined", 6539, 1, 5509, []int{1, 1, 1, 1, 1, 1, 1}},
		{"weblog-scanner-netsparker", "access.log.gz", "auto", "combined", 7314, 1, 0, []int{1, 1, 1, 1, 1, 1, 1}},
		{"honeypot-marx-2013a", "marx.csv.gz", "csv:time=datetime,addr=src,node=host,port=dpt", "csv:time=datetime,addr=src,node=host,port=dpt",
			286565, 49002, 35329, []int{70, 16, 6, 4, 3, 1, 1}},
	} {
		t.Run(test.folder, func(t *testing.T) {
			format, err := logline.ParseFormat(test.format)
			if err != nil {
				t.Fatal(err)
			}
			r, err := accesslog.Open(realdata.Path(t, test.folder, test.file), format, accesslog.Options{Window: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := r.Format().String(); got != test.chosen {
				t.Errorf("format %q, want %q", got, test.chosen)
			}
			w, addrs, events := newWindow(), map[netip.Addr]bool{}, 0
			for {
				batch, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for i := range batch {
					w.add(&batch[i])
					addrs[batch[i].Addr] = true
				}
				events += len(batch)
			}
			if events != test.events || len(addrs) != test.addrs || w.dropped != test.dropped {
				t.Errorf("%d events, %d addresses, %d dropped; want %d, %d, %d", events, len(addrs), w.dropped, test.events, test.addrs, test.dropped)
			}
			if got := w.reaching(limits...); !slices.Equal(got, test.reaching) {
				t.Errorf("addresses that reach %v: %v, want %v", limits, got, test.reaching)
			}
			s := r.Stats()
			if s.Events != uint64(events) || s.Skipped != 0 || s.Read != s.Total {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// TestCrowdSecLogs reads the hub's test logs that are access logs: every line
// must be an event, or skipped for what is said here.
func TestCrowdSecLogs(t *testing.T) {
	for _, test := range []struct {
		file, chosen    string
		events, skipped uint64
	}{
		{"apache-http-probing/apache-http-probing.log", "combined", 77, 0},
		{"apache2-http-sensitive-files/apache2-http-sensitive-files.log", "combined", 13, 0},
		{"caddy-basic-auth-bf/caddy-logs.log", "json", 6, 0},
		{"envoy-http-bad-user-agent/envoy-http-bad-user-agent.log", "json", 2, 0},
		{"http-dos-bypass-cache/http_dos_bypass_cache.log", "combined", 356, 0},
		{"nginx-bad-user-agent/nginx-bad-user-agent.log", "combined", 3, 0},
		{"traefik_base-http-scenario/traefik_base-http-scenario.log", "json", 80, 0},
	} {
		t.Run(test.file, func(t *testing.T) {
			r, err := accesslog.Open(realdata.Path(t, "tests-crowdsec-hub", test.file), nil, accesslog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for err == nil {
				_, err = r.Next()
			}
			if s := r.Stats(); err != io.EOF || s.Events != test.events || s.Skipped != test.skipped || r.Format().String() != test.chosen {
				t.Errorf("%s, %+v, %v; want %s, %d events, %d skipped", r.Format(), s, err, test.chosen, test.events, test.skipped)
			}
		})
	}
}
