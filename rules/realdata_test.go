package rules_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"testing"
	"time"

	"edgeguard/internal/realdata"
	"edgeguard/rules"
)

// logLine takes address, time, method and target from a combined log. It is
// no parser: sensor/accesslog is.
var logLine = regexp.MustCompile(`^(\S+) .*?\[([^]]+)\] "([A-Z]+) (\S+)[^"]*"`)

// TestWordPressLogins counts the addresses that sent 20 logins in 5 minutes in
// a real log, for each way to write the rule. The figures were found without
// edgeguard.
func TestWordPressLogins(t *testing.T) {
	file := realdata.Path(t, "weblog-wordpress-2016", "access.log.gz")
	rule := func(paths ...string) *rules.Meter {
		return &compile(t, rules.Spec{
			Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: paths},
		}).Meters[0]
	}
	plain, starred := rule("/wp-login.php", "/xmlrpc.php"), rule("/wp-login.php*", "/xmlrpc.php*")
	var asWritten, normalized, withStars slowWindows
	readLog(t, file, func(addr string, slot int64, method, target string) {
		ev := request("", method, target)
		if _, ok := plain.Match(&ev); ok {
			normalized.add(addr, slot)
			if target == "/wp-login.php" || target == "/xmlrpc.php" {
				asWritten.add(addr, slot)
			}
		}
		if _, ok := starred.Match(&ev); ok {
			withStars.add(addr, slot)
		}
	})
	for _, c := range []struct {
		name    string
		windows slowWindows
		want    int
	}{{"as written", asWritten, 9}, {"normalized", normalized, 11}, {"with stars", withStars, 12}} {
		reached := 0
		for addr, slots := range c.windows.slots {
			if peak(slots) >= 20 {
				reached++
				if addr == "173.72.7.96" {
					t.Errorf("%s: the owner", c.name)
				}
			}
		}
		if reached != c.want {
			t.Errorf("%s: %d addresses, want %d", c.name, reached, c.want)
		}
	}
}

// slowWindows counts by address and slot of 5 seconds.
type slowWindows struct{ slots map[string]map[int64]int }

func (w *slowWindows) add(addr string, slot int64) {
	if w.slots == nil {
		w.slots = make(map[string]map[int64]int)
	}
	if w.slots[addr] == nil {
		w.slots[addr] = make(map[int64]int)
	}
	w.slots[addr][slot]++
}

// peak is the greatest sum of 60 slots in a row.
func peak(slots map[int64]int) int {
	best := 0
	for end := range slots {
		sum := 0
		for slot := end - 59; slot <= end; slot++ {
			sum += slots[slot]
		}
		best = max(best, sum)
	}
	return best
}

func readLog(t *testing.T, file string, each func(addr string, slot int64, method, target string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`] "POST `)) {
			continue // the others need no slow look
		}
		m := logLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			continue
		}
		each(m[1], at.Unix()/5, m[3], m[4])
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
