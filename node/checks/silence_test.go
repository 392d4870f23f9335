package checks

import (
	"strings"
	"testing"
	"time"
)

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
			{growsFor, Progress{Lines: leastGrowth}, "10 lines were read"},
			{growsFor + time.Second, Progress{Lines: leastGrowth + 1, Events: 1}, ""},
			{growsFor + 2*time.Second, Progress{Lines: 1000, Events: 1}, ""},
			{2*growsFor + time.Second, Progress{Lines: 1000, Events: 1}, "989 lines were read"},
		}},
		{"a file that is not read on", []look{
			{0, Progress{Behind: 10}, ""},
			{growsFor, Progress{Behind: 20}, "20 bytes are unread"},
			{growsFor + 1, Progress{Events: 1, Lines: 1, Behind: 20}, ""},
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
