package checks

import (
	"strings"
	"testing"
	"time"

	"edgeguard/logline/scan"
)

// offBy is what so many lines are off that began after a while.
func offBy(hours int64, lines int, after time.Duration) scan.Off {
	return scan.Off{Seconds: hours * 3600, Lines: lines, Since: testBegin.Add(after).Unix()}
}

func TestSilence(t *testing.T) {
	type look struct {
		after    time.Duration
		progress Progress
		want     string // a part of what is said; "" for nothing
	}
	for _, test := range []struct {
		name  string
		looks []look
	}{
		{"a fresh node without a request", []look{{0, Progress{Empty: true}, ""}, {24 * time.Hour, Progress{Empty: true}, ""}}},
		{"a quiet site's log beside a busy one", []look{{0, Progress{}, ""}, {24 * time.Hour, Progress{Others: 1e6}, ""}}},
		{"a socket beside a busy source", []look{
			{0, Progress{Empty: true, Others: 5000}, ""},
			{silentFor - time.Second, Progress{Empty: true, Others: 1e6}, ""},
			{silentFor, Progress{Empty: true, Others: 5000 + leastOthers - 1}, ""},
			{silentFor, Progress{Empty: true, Others: 5000 + leastOthers}, "delivered nothing"},
			{silentFor + time.Second, Progress{Empty: true, Events: 1, Lines: 1, Others: 1e6}, ""},
			{24 * time.Hour, Progress{Empty: true, Events: 1, Lines: 1, Others: 1e9}, ""},
		}},
		{"lines of another format", []look{
			{0, Progress{}, ""},
			{growsFor - time.Second, Progress{Lines: 1000}, ""},
			{growsFor, Progress{Lines: leastGrowth - 1}, ""},
			{growsFor, Progress{Lines: leastGrowth, Example: "a line"}, "10 lines were read and none counted, such as \"a line\": check"},
			{growsFor + time.Second, Progress{Lines: leastGrowth + 1, Events: 1}, ""},
			{growsFor + 2*time.Second, Progress{Lines: 1000, Events: 1}, ""},
			{2*growsFor + time.Second, Progress{Lines: 1000, Events: 1}, "989 lines were read"},
		}},
		{"one program of two", []look{
			{0, Progress{Events: 7, Lines: 7}, ""},
			{1, Progress{Events: 9, Lines: 9, Unread: []scan.Unread{{Program: "dovecot", Lines: 20, Example: "a line"}}}, "20 or more lines of dovecot"},
			{2, Progress{Events: 9, Lines: 9}, ""},
		}},
		{"a file that is not read on", []look{
			{0, Progress{Behind: 10}, ""},
			{growsFor, Progress{Behind: 20}, "20 bytes are unread"},
			{growsFor + 1, Progress{Events: 1, Lines: 1, Behind: 20}, ""},
		}},
		{"times of another zone", []look{
			{0, Progress{Events: 1, Lines: 1}, ""},
			{time.Second, Progress{Events: 6, Lines: 6, Zone: time.UTC, Off: offBy(-5, 5, time.Second)}, ""},
			{4 * time.Second, Progress{Events: 6, Lines: 6, Zone: time.UTC, Off: offBy(-5, 5, time.Second)}, "5 lines name no zone and are 5 h behind"},
			{4 * time.Second, Progress{Events: 7, Lines: 7, Zone: time.FixedZone("", 3600), Off: offBy(-6, 6, time.Second)}, "America/Chicago, or \"-05:00\""},
			{5 * time.Second, Progress{Events: 8, Lines: 8, Behind: 70, Zone: time.UTC, Off: offBy(-5, 7, time.Second)}, ""},
			{9 * time.Second, Progress{Events: 8, Lines: 8, Zone: time.UTC, Off: offBy(-5, 4, time.Second)}, ""},
			{10 * time.Second, Progress{Events: 9, Lines: 9}, ""},
		}},
		{"a source that was started again", []look{{0, Progress{Events: 7, Lines: 7}, ""}, {growsFor, Progress{Empty: true}, ""}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w Silence
			for i, l := range test.looks {
				got := w.Look(testBegin.Add(l.after), l.progress)
				if l.want == "" && got != "" || !strings.Contains(got, l.want) {
					t.Errorf("look %d: %q, want %q", i, got, l.want)
				}
			}
		})
	}
}
