package node

import (
	"strings"
	"testing"
	"time"
)

func TestSilence(t *testing.T) {
	type look struct {
		after time.Duration
		sound sound
		want  string // a part of what is said; "" for nothing
	}
	for _, test := range []struct {
		name  string
		looks []look
	}{
		{"a fresh node without a request", []look{{0, sound{empty: true}, ""}, {24 * time.Hour, sound{empty: true}, ""}}},
		{"a quiet site's log beside a busy one", []look{{0, sound{}, ""}, {24 * time.Hour, sound{others: 1e6}, ""}}},
		{"a socket beside a busy source", []look{
			{0, sound{empty: true, others: 5000}, ""},
			{silentFor - time.Second, sound{empty: true, others: 1e6}, ""},
			{silentFor, sound{empty: true, others: 5000 + leastOthers - 1}, ""},
			{silentFor, sound{empty: true, others: 5000 + leastOthers}, "delivered nothing"},
			{silentFor + time.Second, sound{empty: true, events: 1, lines: 1, others: 1e6}, ""},
			{24 * time.Hour, sound{empty: true, events: 1, lines: 1, others: 1e9}, ""},
		}},
		{"lines of another format", []look{
			{0, sound{}, ""},
			{growsFor - time.Second, sound{lines: 1000}, ""},
			{growsFor, sound{lines: leastGrowth - 1}, ""},
			{growsFor, sound{lines: leastGrowth}, "10 lines were read"},
			{growsFor + time.Second, sound{lines: leastGrowth + 1, events: 1}, ""},
			{growsFor + 2*time.Second, sound{lines: 1000, events: 1}, ""},
			{2*growsFor + time.Second, sound{lines: 1000, events: 1}, "989 lines were read"},
		}},
		{"a file that is not read on", []look{
			{0, sound{behind: 10}, ""},
			{growsFor, sound{behind: 20}, "20 bytes are unread"},
			{growsFor + 1, sound{events: 1, lines: 1, behind: 20}, ""},
		}},
		{"a source that was started again", []look{{0, sound{events: 7, lines: 7}, ""}, {growsFor, sound{empty: true}, ""}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w silence
			for i, l := range test.looks {
				got := w.look(testBegin.Add(l.after), l.sound)
				if l.want == "" && got != "" || !strings.Contains(got, l.want) {
					t.Errorf("look %d: %q, want %q", i, got, l.want)
				}
			}
		})
	}
}
