package traffic

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the shipped sample")

const shipped = "../../docs/sample/attack.log.gz"

// The text is compared, not the archive: another release of Go may compress
// the same text into other bytes.
func TestSampleIsTheShippedFile(t *testing.T) {
	var made bytes.Buffer
	if err := Sample(&made); err != nil {
		t.Fatal(err)
	}
	if *update {
		writeGzip(t, shipped, made.Bytes())
	}
	packed, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, made.Bytes()) {
		t.Errorf("%s is not what Sample makes: run go test ./loadtest/traffic -update", shipped)
	}
	if len(packed) >= 100<<10 {
		t.Errorf("%s has %d bytes, more than 100 KB", shipped, len(packed))
	}
}

func writeGzip(t *testing.T, path string, text []byte) {
	var packed bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	zw.Write(text)
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// entry is a line of the sample, read by a pattern that owes nothing to the
// code that wrote it.
type entry struct {
	at             int64
	addr           netip.Addr
	method, target string
	status         string
}

var combined = regexp.MustCompile(`^(\S+) - - \[([^\]]+)\] "(?:(\S+) (\S+) HTTP/1\.1|[^"]*)" (\d{3}) \d+ "[^"]*" "[^"]*"$`)

func readSample(t *testing.T) []entry {
	t.Helper()
	var text bytes.Buffer
	if err := Sample(&text); err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		m := combined.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("not a combined log line: %s", lines.Text())
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{at.Unix(), netip.MustParseAddr(m[1]), m[3], m[4], m[5]})
	}
	return entries
}

func TestSampleIsOneOrderedHourOfDocumentationAddresses(t *testing.T) {
	var ranges []netip.Prefix
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"} {
		ranges = append(ranges, netip.MustParsePrefix(p))
	}
	entries := readSample(t)
	people, v6 := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for i, e := range entries {
		if i > 0 && e.at < entries[i-1].at {
			t.Fatalf("line %d goes back in time", i+1)
		}
		if !inAny(ranges, e.addr) {
			t.Fatalf("line %d: %s is not for documentation", i+1, e.addr)
		}
		people[e.addr] = true
		if e.addr.Is6() {
			v6[e.addr] = true
		}
	}
	if n := len(entries); n < 5000 || n > 8000 {
		t.Errorf("%d lines, want about 6,000", n)
	}
	if span := entries[len(entries)-1].at - entries[0].at; span < 3500 || span >= 3600 {
		t.Errorf("spans %d s, want an hour", span)
	}
	if len(people) < 130 || len(v6) < 20 {
		t.Errorf("%d addresses, %d of them IPv6; want at least 130 and 20", len(people), len(v6))
	}
}

func inAny(ranges []netip.Prefix, addr netip.Addr) bool {
	for _, p := range ranges {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// peaks counts by hand, the slow way: the greatest number of chosen entries of
// one address (IPv6: /64) in 60 slots of width seconds.
func peaks(entries []entry, width int64, chosen func(entry) bool) map[netip.Addr]int {
	slots := map[netip.Addr][]int64{}
	peak := map[netip.Addr]int{}
	for _, e := range entries {
		if !chosen(e) {
			continue
		}
		key := e.addr
		if key.Is6() {
			p, _ := key.Prefix(64)
			key = p.Addr()
		}
		slots[key] = append(slots[key], e.at/width)
		n := 0
		for _, slot := range slots[key] {
			if slot > e.at/width-60 {
				n++
			}
		}
		peak[key] = max(peak[key], n)
	}
	return peak
}

// Each of the cast is on the side of the limits that docs/sample/README.md
// says.
func TestSampleCast(t *testing.T) {
	entries := readSample(t)
	all := func(entry) bool { return true }
	login := func(e entry) bool {
		return e.method == "POST" && (e.target == "/wp-login.php" || e.target == "//xmlrpc.php")
	}
	probe := func(e entry) bool { return e.status == "404" || e.status == "403" }
	for _, tt := range []struct {
		name   string
		peak   map[netip.Addr]int
		limit  int
		denied string
	}{
		{"2,000 in 5 minutes stops the scraper", peaks(entries, 5, all), 1900, scraperAddr},
		{"250 in 5 minutes stops three", peaks(entries, 5, all), 250, scraperAddr + " " + forcerAddr + " " + proberAddr},
		{"100 in 5 minutes spares everyone else", peaks(entries, 5, all), 100, scraperAddr + " " + forcerAddr + " " + proberAddr},
		{"20 logins in 5 minutes stop the guesser", peaks(entries, 5, login), 19, forcerAddr},
		{"60 misses in a minute stop the prober", peaks(entries, 1, probe), 57, proberAddr},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for addr, n := range tt.peak {
				if want := strings.Contains(" "+tt.denied+" ", " "+addr.String()+" "); (n > tt.limit) != want {
					t.Errorf("%s reaches %d, limit %d: over it should be %v", addr, n, tt.limit, want)
				}
			}
		})
	}
	if n := peaks(entries, 5, all)[netip.MustParseAddr(slowAddr)]; n > 19 {
		t.Errorf("the slow guesser reaches %d", n)
	}
}
