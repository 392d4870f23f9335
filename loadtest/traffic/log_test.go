package traffic

import (
	"bufio"
	"bytes"
	"net/netip"
	"regexp"
	"testing"
	"time"
)

var combined = regexp.MustCompile(`^(\S+) - - \[([^\]]+)\] "(?:(\S+) (\S+) HTTP/1\.1|[^"]*)" (\d{3}) \d+ "[^"]*" "[^"]*"$`)

func writeLog(t *testing.T, c Log) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLogIsCombinedAndSkewed(t *testing.T) {
	c := Log{Lines: 20_000, Addresses: 1000, Rate: 500, Seed: 1}
	seen := map[string]int{}
	v6, logins, n := 0, 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(writeLog(t, c))); lines.Scan(); n++ {
		m := combined.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("line %d is not a combined log line: %s", n+1, lines.Text())
		}
		at, err := time.Parse(stampLayout, m[2])
		if err != nil || at.Unix() != logStart+int64(n/500) {
			t.Fatalf("line %d is of %s, want second %d (%v)", n+1, m[2], n/500, err)
		}
		seen[m[1]]++
		if netip.MustParseAddr(m[1]).Is6() {
			v6++
		}
		if m[3] == "POST" && m[4] == "/wp-login.php" {
			logins++
		}
	}
	most := 0
	for _, k := range seen {
		most = max(most, k)
	}
	if n != c.Lines || len(seen) > 1000 || len(seen) < 800 {
		t.Errorf("%d lines of %d addresses, want 20,000 of at most 1,000 and at least 800", n, len(seen))
	}
	if most < n/20 || most > n/2 {
		t.Errorf("the first address sends %d of %d lines, want a skew like that of real logs", most, n)
	}
	if v6 == 0 || logins == 0 {
		t.Errorf("%d lines over IPv6 and %d logins, want some of each", v6, logins)
	}
}

func TestLogIsAFunctionOfItsSeed(t *testing.T) {
	first, again := writeLog(t, Log{Lines: 500, Seed: 7}), writeLog(t, Log{Lines: 500, Seed: 7})
	if !bytes.Equal(first, again) {
		t.Error("the same seed gave another log")
	}
	if bytes.Equal(first, writeLog(t, Log{Lines: 500, Seed: 8})) {
		t.Error("another seed gave the same log")
	}
}

func TestClientsAreDistinctUnicastAddresses(t *testing.T) {
	seen := map[netip.Prefix]uint64{}
	for n := range uint64(200_000) {
		addr := client(n)
		if addr.IsUnspecified() || addr.IsMulticast() || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() {
			t.Fatalf("client(%d) is %s", n, addr)
		}
		bits := 32
		if addr.Is6() {
			bits = 64 // each is counted apart only if each has a /64 of its own
		}
		key, _ := addr.Prefix(bits)
		if before, twice := seen[key]; twice {
			t.Fatalf("client(%d) and client(%d) are both %s", before, n, key)
		}
		seen[key] = n
	}
}
