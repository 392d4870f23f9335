package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"edgeguard"
	"edgeguard/logline"
)

// bareLogs are logs whose programs write the time without its zone, and one that has it.
var bareLogs = []struct {
	format string
	line   func(t time.Time) string
}{
	{"haproxy", func(t time.Time) string {
		return t.Format("Jan _2 15:04:05") + " lb haproxy[23]: 192.0.2.1:4711 [" + t.Format("02/Jan/2006:15:04:05.000") + `] fe be/s1 0/0/0/4/4 404 825 - - ---- 1/1/0/0/0 0/0 "GET /t HTTP/1.1"`
	}},
	{"nginx-error", func(t time.Time) string {
		return t.Format("2006/01/02 15:04:05") + ` [error] 21#21: *1 limiting requests, excess: 5.4 by zone "z", client: 192.0.2.1, server: a.example.org, request: "GET /l HTTP/1.1", host: "a.example.org"`
	}},
	{"apache-error", func(t time.Time) string {
		return t.Format("[Mon Jan 02 15:04:05.000000 2006]") + " [auth_basic:error] [pid 3:tid 1] [client 192.0.2.1:3592] AH01618: user bob not found: /a"
	}},
	{"postfix", func(t time.Time) string {
		return t.Format("Jan _2 15:04:05") + " mx postfix/smtpd[17]: warning: unknown[192.0.2.1]: SASL LOGIN authentication failed: x"
	}},
	{"sshd", func(t time.Time) string {
		return t.Format("Jan _2 15:04:05") + " web sshd[17]: Failed password for root from 192.0.2.1 port 47 ssh2"
	}},
	{"vaultwarden", func(t time.Time) string {
		return t.Format("[2006-01-02 15:04:05.000]") + "[vaultwarden::api::identity][ERROR] Username or password is incorrect. Try again. IP: 192.0.2.1. Username: b@example.org."
	}},
	{"combined", func(t time.Time) string {
		return "192.0.2.1 - - [" + t.Format("02/Jan/2006:15:04:05 -0700") + `] "GET / HTTP/1.1" 404 1 "-" "-"`
	}},
}

// TestZones follows and replays seven logs on hosts of three zones over the changes of summer
// time. Their programs write the host's time or, as containers do, UTC. Every line must have its
// own instant.
func TestZones(t *testing.T) {
	host := time.Local
	defer func() { time.Local = host }()
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Asia/Kolkata"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = zone
		for _, writer := range []*time.Location{zone, time.UTC} {
			for _, from := range []time.Time{
				time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC), time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC),
				time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 16, 0, 0, 0, time.UTC),
			} {
				right := 0
				for _, l := range bareLogs {
					if zonesLive(t, l.format, l.line, from, writer) && zonesReplayed(t, l.format, l.line, from, writer) {
						right++
					}
				}
				if right != len(bareLogs) {
					t.Errorf("a host in %s, written in %s from %s: %d of %d logs", name, writer, from, right, len(bareLogs))
				}
			}
		}
	}
}

const zonesFor, zonesEach = 5 * time.Hour, 127 * time.Second

func zonesLive(t *testing.T, format string, line func(time.Time) string, from time.Time, writer *time.Location) bool {
	var now time.Time
	in := newInlet(&Live{Format: formatNamed(t, format), Now: func() time.Time { return now }, Late: defaultLate}, "log")
	for at := from; at.Before(from.Add(zonesFor)); at = at.Add(zonesEach) {
		now = at.Add(1500 * time.Millisecond)
		p := &page{}
		p.Text = []byte(line(at.In(writer)) + "\n")
		if _, events := in.parse(p); len(events) != 1 || !events[0].Time.Equal(at) {
			t.Errorf("%s, live: %s is %v", format, p.Text, times(events))
			return false
		}
	}
	return true
}

func zonesReplayed(t *testing.T, format string, line func(time.Time) string, from time.Time, writer *time.Location) bool {
	var text strings.Builder
	var last time.Time
	for at := from; at.Before(from.Add(zonesFor)); at = at.Add(zonesEach) {
		fmt.Fprintln(&text, line(at.In(writer)))
		last = at
	}
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, last, last); err != nil {
		t.Fatal(err)
	}
	r, err := Open(file, formatNamed(t, format), Options{Zone: writer})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := from
	for events := []edgeguard.Event(nil); err == nil; events, err = r.Next() {
		for i := range events {
			if !events[i].Time.Equal(at) {
				t.Errorf("%s, replayed: %s instead of %s", format, events[i].Time, at)
				return false
			}
			at = at.Add(zonesEach)
		}
	}
	if bare := r.Stats().Bare; bare != (format != "combined") {
		t.Errorf("%s: without a zone: %v", format, bare)
	}
	return !at.Before(last)
}

func times(events []edgeguard.Event) (all []time.Time) {
	for i := range events {
		all = append(all, events[i].Time)
	}
	return all
}

func formatNamed(t *testing.T, name string) *logline.Format {
	f, err := logline.ParseFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
