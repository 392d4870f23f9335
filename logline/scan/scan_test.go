package scan

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// The slow twins of the hand-written readers are the standard library's.

func TestCLFAgainstTimeParse(t *testing.T) {
	const layout = "02/Jan/2006:15:04:05 -0700"
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 2))
	c := Clock{Zone: time.UTC}
	for range 20_000 {
		zone := time.FixedZone("", (rng.IntN(27*4)-13*4)*900)
		want := time.Unix(rng.Int64N(maxSec/60)*60+rng.Int64N(60), 0).In(zone)
		s := want.Format(layout)
		for range 3 { // the second is of a minute that is kept
			got, n, ok := c.CLF([]byte(s + "] "))
			if !ok || n != len(s) || got.sec != want.Unix() || got.nsec != 0 {
				t.Fatalf("seed %d: %s: %v %d %v, want %d", seed, s, got, n, ok, want.Unix())
			}
			want = want.Add(time.Second)
			s = want.Format(layout)
		}
		bad := []byte(s)
		bad[rng.IntN(20)] = "0123456789/: +-Jabcx"[rng.IntN(20)]
		parsed, err := time.Parse(layout, string(bad))
		valid := err == nil && parsed.Format(layout) == string(bad) // it takes "aug", too
		got, n, ok := c.CLF(bad)
		if whole := ok && n == len(bad); whole != valid && !strings.Contains(string(bad), ":60") || whole && valid && parsed.Unix() != got.sec {
			t.Fatalf("seed %d: %q: %v %v, time.Parse %v %v", seed, bad, got, whole, parsed, err)
		}
	}
}

// The days of every month of the first and the last years, against time.Date.
func TestDaysSince1970(t *testing.T) {
	for _, first := range []int{0, 399, 1599, 1899, 1968, 1999, 2099, 9990} {
		for year := first; year < first+9; year++ {
			for month := 1; month <= 12; month++ {
				want := time.Date(year, time.Month(month), 28, 0, 0, 0, 0, time.UTC).Unix() / 86400
				if got := daysSince1970(year, month, 28); got != want {
					t.Errorf("%04d-%02d-28: day %d, want %d", year, month, got, want)
				}
			}
		}
	}
}

func TestISOAgainstTimeParse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 3))
	c := Clock{Zone: time.UTC}
	for range 20_000 {
		zone := time.FixedZone("", (rng.IntN(27*4)-13*4)*900)
		want := time.Unix(rng.Int64N(maxSec), rng.Int64N(1e9)).In(zone)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00", "2006-01-02 15:04:05-0700", time.RFC3339} {
			s := want.Format(layout)
			parsed, err := time.Parse(layout, s)
			got, n, ok := c.ISO([]byte(s))
			if err != nil || !ok || n != len(s) || !got.Time().Equal(parsed) {
				t.Fatalf("seed %d: %s: %v %d %v, want %v", seed, s, got, n, ok, parsed)
			}
		}
	}
}

func TestAnyTime(t *testing.T) {
	for _, test := range []struct {
		in, want string // "" for none
	}{
		{"2016-02-20 00:00:45", "2016-02-20T00:00:45Z"},
		{"2016-02-20 00:00:45,5", "2016-02-20T00:00:45.5Z"},
		{"2016-02-20T00:00:45+02", "2016-02-19T22:00:45Z"},
		{"20/Feb/2016:00:00:45 -0500", "2016-02-20T05:00:45Z"},
		{"[20/Feb/2016:00:00:45 -0500]", "2016-02-20T05:00:45Z"},
		{"1455944445", "2016-02-20T05:00:45Z"},
		{"1455944445.123456789123", "2016-02-20T05:00:45.123456789Z"},
		{"1455944445123", "2016-02-20T05:00:45.123Z"},
		{"1455944445123456", "2016-02-20T05:00:45.123456Z"},
		{"1455944445123456789", "2016-02-20T05:00:45.123456789Z"},
		{"1455944445123.5", "2016-02-20T05:00:45.1235Z"},
		{"14559444451234567890", ""},
		{"2016-02-30 00:00:45", ""},
		{"2016-02-20 00:00:45 x", ""},
		{"yesterday", ""},
		{"", ""},
		{"-1", ""},
	} {
		c := Clock{Zone: time.UTC}
		at, ok := c.Any([]byte(test.in))
		got := ""
		if ok {
			got = at.Time().Format(time.RFC3339Nano)
		}
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}

func TestAddrAgainstNetip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 50_000 {
		var s string
		switch rng.IntN(4) {
		case 0:
			s = netip.AddrFrom4([4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.IntN(12))}).String()
		case 1:
			var a [16]byte
			for i := range a {
				a[i] = byte(rng.Uint32()) * byte(rng.IntN(2))
			}
			s = netip.AddrFrom16(a).String()
		case 2:
			s = "::ffff:192.0.2." + string("0123456789"[rng.IntN(10)])
		default:
			b := make([]byte, rng.IntN(20))
			for i := range b {
				b[i] = "0123456789.:abf"[rng.IntN(15)]
			}
			s = string(b)
		}
		want, err := netip.ParseAddr(s)
		got, n, ok := AddrAt([]byte(s + " - -"))
		if ok = ok && n == len(s); ok != (err == nil) || ok && got != want.Unmap() {
			t.Fatalf("seed %d: %q: %v %v, netip %v %v", seed, s, got, ok, want, err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{``, ``}, {`a`, `a`}, {`\"\\\/\t\n\r\b\f\v`, "\"\\/\t\n\r\b\f\v"}, {`\x41\xzz\x4`, `A\xzz\x4`},
		{`\u00e9\u20ac\ud83d\ude00\ud83d`, "é€😀\uFFFD"}, {`\u12`, `\u12`}, {`a\`, `a\`}, {`\q`, `\q`},
	} {
		if got := string(Unescape([]byte(test.in))); got != test.want {
			t.Errorf("%s: %q, want %q", test.in, got, test.want)
		}
	}
}

// TestUnescapeJSON holds what encoding/json writes.
func TestUnescapeJSON(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 20_000 {
		want := strings.ToValidUTF8(randomText(rng), "?")
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if end := QuoteEnd(b, 1); end != len(b)-1 {
			t.Fatalf("seed %d: %s ends at %d", seed, b, end)
		}
		if got := Unescape(b[1 : len(b)-1]); string(got) != want {
			t.Fatalf("seed %d: %q, want %q", seed, got, want)
		}
	}
}

func TestSyslogPrefix(t *testing.T) {
	for _, test := range []struct{ prefix, rest string }{
		{"<190>Nov 21 09:54:00 web1 nginx: ", "x"},
		{"<190>Nov  1 09:54:00 nginx: ", "x"},
		{"Nov  1 09:54:00 web1 haproxy[760]: ", "x: y"},
		{"2026-11-21T09:54:00.123+01:00 web1 haproxy[760]: ", "x"},
		{"<134>1 2026-11-21T09:54:00Z web1 haproxy 760 - - ", "x"},
		{`<134>1 2026-11-21T09:54:00Z web1 haproxy 760 - [a b="c"] `, "x"},
		{"2026-11-21T09:54:00.123Z stdout F ", "{}"},
		{"", "192.0.2.1 - - nginx: x"},
		{"", "Nov 21 09:54:00 web1 nginx x"},
		{"", "<190"},
		{"", "<134>1 a b"},
	} {
		if got := SyslogPrefix([]byte(test.prefix + test.rest)); got != len(test.prefix) {
			t.Errorf("%q: %d, want %d", test.prefix+test.rest, got, len(test.prefix))
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain é", "plain é"},
		{"\x1b[31m\x00\r\xff", `\x1b[31m\x00\r\xff`},
		{strings.Repeat("a", 300), strings.Repeat("a", MaxPrintable) + "…"},
	} {
		if got := Printable([]byte(test.in)); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}

// randomText joins a few pieces that an encoder escapes, or leaves as they are.
func randomText(rng *rand.Rand) string {
	pieces := []string{`"`, `\`, "/", "\n", "\r", "\t", "\x00", "\x1b[31m", "\xff\xfe", "é", "😀", "\u2028", "<", "&", "'", "a", `\"`, `\u0041`, ""}
	var s strings.Builder
	for range rng.IntN(6) {
		s.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return s.String()
}

// TestSuppressed reads how many lines daemons say they suppressed.
func TestSuppressed(t *testing.T) {
	for _, test := range []struct {
		line string
		want uint64
	}{
		{"Nov 27 10:00:20 web-1 systemd-journald[311]: Suppressed 1234 messages from ssh.service", 1234},
		{"Nov 27 10:00:20 web-1 systemd-journal[311]: Suppressed 7 messages from /system.slice/sshd.service", 7},
		{"2026-11-27T10:00:20+01:00 web-1 rsyslogd-2177: imuxsock lost 50 messages from pid 1234 due to rate-limiting", 50},
		{"Nov 27 10:00:20 web-1 rsyslogd: imuxsock[pid: 12, name: /usr/sbin/sshd]: 51 messages lost due to rate-limiting (20000 allowed within 300 seconds)", 51},
		{"<46>1 2026-11-27T10:00:20Z web-1 rsyslogd - - - imjournal: 3 messages lost due to rate-limiting", 3},
		{"Nov 27 10:00:20 web-1 rsyslogd: imjournal: begin to drop messages due to rate-limiting", 0},
		{"Nov 27 10:00:20 web-1 app: Suppressed 1234 messages from ssh.service", 0},
		{"Nov 27 10:00:20 web-1 systemd-journald[311]: x Suppressed x1 messages from ssh.service", 0},
		{"Nov 27 10:00:20 web-1 systemd-journald[311]: Suppressed 9999999999 messages from ssh.service", 0},
		{"Nov 27 10:00:20 web-1 systemd-journald[311]: Suppressed  messages from ", 0},
	} {
		n := SyslogPrefix([]byte(test.line))
		if got := Suppressed([]byte(test.line[:n]), []byte(test.line[n:])); got != test.want {
			t.Errorf("%s: %d, want %d", test.line, got, test.want)
		}
	}
}
