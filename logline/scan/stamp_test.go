package scan

import (
	"testing"
	"time"
)

// TestStamp reads the layouts of logs.
func TestStamp(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	latest := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		in, want string // want is empty where there is no stamp
		rest     string
	}{
		{"2026-02-03T04:05:06.5+01:00 x", "2026-02-03T03:05:06.5Z", " x"},
		{"2026/02/03 04:05:06 [error]", "2026-02-03T02:05:06Z", " [error]"},
		{"2026.02.03 04:05:06", "2026-02-03T02:05:06Z", ""},
		{"2026:02:03-04:05:06: x", "2026-02-03T02:05:06Z", ": x"},
		{"2026-02-03 04:05:06,123 UTC x", "2026-02-03T04:05:06.123Z", " x"},
		{"2026-02-03 04:05:06 -0500 x", "2026-02-03T09:05:06Z", " -0500 x"[6:]},
		{"2026-02-03 04:05:06 - x", "2026-02-03T02:05:06Z", " - x"},
		{"2026-02-03 04:05:06 Z", "2026-02-03T02:05:06Z", " Z"},
		{"[2026-02-03 04:05:06] x", "2026-02-03T02:05:06Z", " x"},
		{"[2026-02-03 04:05:06][x", "2026-02-03T02:05:06Z", "[x"},
		{"[2026-02-03 04:05:06 x]", "", ""},
		{"[", "", ""},
		{"Tue 2026-02-03 04:05:06 UTC web-1 x", "2026-02-03T04:05:06Z", " web-1 x"},
		{"Tue, 03 Feb 2026 04:05:06 +0100 x", "2026-02-03T03:05:06Z", " x"},
		{"03/Feb/2026 04:05:06 x", "2026-02-03T02:05:06Z", " x"},
		{"02/03/2026, 04:05:06 PM x", "2026-02-03T14:05:06Z", " x"},
		{"02/03/2026, 4:05:06 AM x", "2026-02-03T02:05:06Z", " x"},
		{"02/03/2026, 12:05:06 AM x", "2026-02-02T22:05:06Z", " x"},
		{"02/03/2026, 16:05:06 PM x", "", ""},
		{"03/02/2026, 04:05:06 am x", "", ""},
		{"03/Feb/2026:04:05:06 +0000 x", "2026-02-03T04:05:06Z", " x"},
		{"03-Feb-2026 04:05:06 +0200: x", "2026-02-03T02:05:06Z", ": x"},
		{"Feb  3 04:05:06 host", "2026-02-03T02:05:06Z", " host"},
		{"Feb 3 04:05:06.25 host", "2026-02-03T02:05:06.25Z", " host"},
		{"Feb 03 2025 04:05:06 host", "2025-02-03T02:05:06Z", " host"},
		{"Tue Feb 03 04:05:06.123456 2026] x", "2026-02-03T02:05:06.123456Z", "] x"},
		{"Tue Feb  3 04:05:06 2024 x", "2024-02-03T02:05:06Z", " x"},
		{"Feb  3 04:05:06 1234.example.org", "2026-02-03T02:05:06Z", " 1234.example.org"},
		{"Feb  3 04:05:06 2024x", "2026-02-03T02:05:06Z", " 2024x"},
		{"Mar  2 13:59:59 x", "2026-03-02T11:59:59Z", " x"}, // within a day
		{"Mar  2 14:00:01 x", "2025-03-02T12:00:01Z", " x"},
		{"Dec 31 23:59:59 x", "2025-12-31T21:59:59Z", " x"},
		{"Feb 29 04:05:06 x", "2024-02-29T02:05:06Z", " x"},
		{"Feb 30 04:05:06 x", "", ""},
		{"260203  4:05:06 x", "2026-02-03T02:05:06Z", " x"},
		{"260203 14:05:06", "2026-02-03T12:05:06Z", ""},
		{"2026-02-03  4:05:06 8 x", "2026-02-03T02:05:06Z", " 8 x"},
		{"2026/02/03 - 04:05:06 | x", "2026-02-03T02:05:06Z", " | x"},
		{"1770091506.25 x", "2026-02-03T04:05:06.25Z", " x"},
		{"03/02/2026 04:05:06", "", ""},
		{"2026-02/03 04:05:06", "", ""},
		{"2026-13-03 04:05:06", "", ""},
		{"2026-02-03 04:65:06", "", ""},
		{"Feb", "", ""},
		{"Tue Feb  3", "", ""},
		{"Feb  3 04:05:0", "", ""},
	} {
		c := Clock{Zone: zone, Latest: latest}
		at, n, ok := c.Stamp([]byte(test.in))
		if ok != (test.want != "") {
			t.Errorf("%q: %v", test.in, ok)
		}
		if ok && (at.Time().Format(time.RFC3339Nano) != test.want || test.in[n:] != test.rest) {
			t.Errorf("%q: %s, rest %q; want %s, %q", test.in, at.Time().Format(time.RFC3339Nano), test.in[n:], test.want, test.rest)
		}
	}
	c := Clock{Zone: time.UTC}
	if _, _, ok := c.Stamp([]byte("Feb  3 04:05:06 host")); ok {
		t.Error("a stamp without a year is read, and nobody said which year it is")
	}
}

// FuzzStamp holds that no text makes it panic or read more than there is.
func FuzzStamp(f *testing.F) {
	for _, seed := range []string{"[2026-02-03 04:05:06 +01:00]", "Tue Feb 03 04:05:06.1 2026", "03-Feb-2026 04:05:06 ", "Feb  3 04:05:06 2", "1.5", "03/Feb/2026:04:05:06 +0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Clock{Zone: time.UTC, Latest: time.Unix(1<<31, 0)}
		if _, n, ok := c.Stamp(text); n > len(text) || ok != (n > 0) {
			t.Fatalf("%d of %d bytes, %v", n, len(text), ok)
		}
	})
}
