package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRefused: expressions in which a client's text could move the address, and
// what is wrong in other ways.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ expr, why string }{
		{`from (?P<addr>[^ ]+) port`, "not fixed"},
		{`(?P<addr>[^ ]+)`, "not fixed"},
		{`^user .* from (?P<addr>[^ ]+) failed`, "two places"},
		{`^user .*? from (?P<addr>[^ ]+) failed`, "two places"},
		{`^user "(?P<user_agent>.*)" from (?P<addr>[^ ]+)$`, ""}, // from the end
		{`^user "(?P<user_agent>.*)" from (?P<addr>[^ ]+) .*$`, "two places"},
		{`^(?P<agent>.*) (?P<addr>[^ ]+) (?P<path>.*)$`, "two places"},
		{`^(?:(?P<host>.*) )?(?P<addr>[^ ]+) `, "two places"},
		{`^user .* from (?P<addr>[\d.]+)`, "two places"},
		{`^from (?P<addr>[\d.]+)`, "two places"}, // 1.2.3.4 of 1.2.3.45 at will
		{`^from (?P<addr>[\d.]+?)[\d.]*$`, "two places"},
		{`^from (?P<addr>\d+\.\d+\.\d+\.\d+).*`, "two places"},
		{`^from (?P<addr>[^ ]+):\d+$`, ""},
		{`^from (?P<addr>[^ ]+)(?::\d+)?$`, "two places"}, // 2001:db8::1:80
		{`(?i) FROM (?P<addr>\S+)(?: port \d+)?$`, ""},
		{`x(?P<addr>\S+)$`, ""},
		{`a(?P<addr>\S+)$`, "two places"}, // a is a digit of an address
		{`^(?:a|ab)*(?P<addr>[\d.]+)b`, ""},
		{`^\b(?P<addr>[\d.]+)\b`, "two places"}, // assertions are not relied on
		{`(?m)^(?P<addr>[\d.]+) `, "not fixed"},
		{`^((?P<addr>[\d.]+)) `, "inside"},
		{`^(?:(?P<addr>[\d.]+) )?`, "inside"},
		{`^(?:x|(?P<addr>[\d.]+)) `, "inside"},
		{`^x (?P<addr>[\d.]+) |^y `, "inside"},
		{`^x (?P<path>.*)$`, "no group addr"},
		{`^(?P<addr>[^ ]+) (?P<usr>.*)$`, `unknown group "usr"`},
		{`^(?P<addr>[^ ]+) (?P<agent>.*) (?P<user_agent>.*)$`, "twice"},
		{`^(?P<addr>[^ ]+) (`, "missing closing )"},
		{`^(?P<addr>[^ ]+) ` + strings.Repeat("x", maxPattern), "longer than"},
		{`^[^ ]{1,900} [^ ]{1,900} (?P<addr>[^ ]+) `, "intricate"},
		{`{sshd(?P<addr>[^ ]+) `, "no }"},
		{`{ss hd}(?P<addr>[^ ]+) `, "name of a program"},
		{`{(?:a}(?P<addr>[^ ]+) `, "name of a program"},
		{`{}x .* (?P<addr>[^ ]+) `, "two places"},
		{`{a}x .* (?P<addr>[^ ]+) `, "two places"},
		{`{a|b-c/d}x [^ ]* (?P<addr>[^ ]+) `, ""},
	} {
		_, err := CompileExpressions("", test.expr)
		if test.why == "" && err != nil || test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)) {
			t.Errorf("%s: error %v, want %q", test.expr, err, test.why)
		}
	}
	for format, why := range map[string]string{
		"regex": "write regex:", "regex:": "write regex:", "regex[%Y": "write regex:", `regex[%Q]:^(?P<addr>\S+) `: "unsupported %Q",
		`regex[%Y]:^(?P<addr>\S+) `: "no group time", `regex[%d.%m.%y]:^(?P<addr>\S+) (?P<time>.*)$`: "",
	} {
		if _, err := ParseExpressions(format); why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: error %v, want %q", format, err, why)
		}
	}
}

// TestOneWay holds for random expressions: where one is accepted, no line can be
// read with the address at two places, and where it is refused as such, there is a
// line that can. All lines of up to seven characters are tried.
func TestOneWay(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	lines := []string{""}
	for from, n := 0, 0; n < 7; n++ {
		for to := len(lines); from < to; from++ {
			for _, c := range "1x " {
				lines = append(lines, lines[from]+string(c))
			}
		}
	}
	parts := []string{"1", "x", " ", "x ", "[^ ]*", "[^ ]+", "(?:x )?", ".*", "(?:1|x1)", "x*", "(?:x|1)?", ".", `\b`, "(?:1x){0,2}"}
	some := func() (s string) {
		for range rng.IntN(4) {
			s += parts[rng.IntN(len(parts))]
		}
		return s
	}
	accepted, refused, missed := 0, 0, 0
	for range 300 {
		before, after := some(), some()
		addr := []string{"1", "1+", "1*1", "[^ ]+", "(?:11)?1"}[rng.IntN(5)]
		expr := "(?P<addr>" + addr + ")"
		front := rng.IntN(2) == 0
		if back := !front || rng.IntN(2) == 0; back {
			expr += after + "$"
		} else {
			expr, after = expr+after, after+".*"
		}
		if front {
			expr = "^" + before + expr
		} else {
			expr, before = before+expr, ".*"+before
		}
		_, err := CompileExpressions("", expr)
		if err != nil && !strings.Contains(err.Error(), "two places") {
			t.Fatalf("%s: %v", expr, err)
		}
		line := expressionTwoWays(lines, before, strings.ReplaceAll(addr, "[^ ]", "1"), after)
		switch {
		case err == nil && line != "":
			t.Fatalf("seed %d: %s is accepted, and %q can be read in two ways", seed, expr, line)
		case err == nil:
			accepted++
		default:
			if refused++; line == "" {
				missed++ // assertions are taken for true, and longer lines are not tried
			}
		}
	}
	if accepted < 30 || refused < 30 || missed*3 > refused {
		t.Errorf("seed %d: %d accepted, %d refused, %d of them without a line that shows why", seed, accepted, refused, missed)
	}
}

// expressionTwoWays returns a line that can be read with the address at two places, found
// by trying all places; before and after reach the ends of the line.
func expressionTwoWays(lines []string, before, addr, after string) string {
	whole := func(s string) *regexp.Regexp { return regexp.MustCompile(`\A(?:` + s + `)\z`) }
	b, a, r := whole(before), whole(addr), whole(after)
	for _, line := range lines {
		ways := 0
		for i := range len(line) + 1 {
			if !b.MatchString(line[:i]) {
				continue
			}
			for j := i + 1; j <= len(line); j++ {
				if a.MatchString(line[i:j]) && r.MatchString(line[j:]) {
					ways++
				}
			}
		}
		if ways > 1 {
			return line
		}
	}
	return ""
}
