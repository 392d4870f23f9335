package evidence

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// site is a log: readers, and what attackers send.
func site(paths ...string) *Book {
	b := NewBook(0)
	add := func(addr [4]byte, method, path string, status uint16) {
		b.Add(&edgeguard.Event{Time: time.Unix(1780000000, 0), Addr: netip.AddrFrom4(addr), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
			Known: edgeguard.FieldAgent | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
			Agent: "Mozilla/5.0 Firefox/139.0", Method: method, Path: path, Status: status})
	}
	for i := range byte(30) {
		for n := range 20 {
			add([4]byte{192, 0, 2, i}, "GET", fmt.Sprintf("/a%d.png", n), 200)
		}
		add([4]byte{192, 0, 2, i}, "POST", "/search", 200)
	}
	for i, path := range paths {
		for n := range 40 {
			add([4]byte{203, 0, 113, byte(i)}, "POST", path, 200)
			_ = n
		}
	}
	return b
}

// tally counts the attackers so high, and readers once.
func tally(attackers int, peak uint32) *tuning.Tally {
	t := tuning.NewTally(tuning.Config{})
	for i := range byte(30) {
		t.RecordPeak(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 32)}, 1)
	}
	for i := range attackers {
		t.RecordPeak(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 32)}, peak)
	}
	return t
}

func TestGuessedPath(t *testing.T) {
	b := site("/wp-login.php", "/wp-login.php", "/wp-login.php", "/wp-login.php")
	drafts := Drafts(b, []rules.Spec{{Name: "wp-login", Threshold: 2000}})
	if len(drafts) != 1 {
		t.Fatalf("%+v", drafts)
	}
	specs := drafts[0].Specs()
	if _, problems := rules.Compile(specs); len(problems) > 0 || specs[1].Window != time.Hour {
		t.Fatalf("%v %+v", problems, specs)
	}
	rule, ok := drafts[0].Choose([]Counted{{Tally: tally(3, 40)}, {Tally: tally(4, 40)}}, b)
	if !ok || rule.Spec.Window != time.Hour || rule.Suggestion.Above.Hostile != 4 || rule.Spec.Name != "wp-login-2" {
		t.Fatalf("%v %+v", ok, rule)
	}
	want := "84 % of POSTs go to /wp-login.php, from 4 addresses of which 4 look hostile: this rule would catch 4 of them and none that looks like a customer"
	if rule.Says != want {
		t.Errorf("%s", rule.Says)
	}
	if rule, _ := drafts[0].Choose([]Counted{{Tally: tally(4, 40)}, {Tally: tally(4, 40)}}, b); rule.Spec.Window != 5*time.Minute {
		t.Errorf("a longer window that catches no more: %+v", rule)
	}
	if rule, ok := drafts[0].Choose([]Counted{{tally(4, 40), 60}, {tally(4, 40), 60}}, b); ok {
		t.Errorf("on a normal day customers count more: %+v", rule)
	}
}

// What a rule counts already, and what only readers send, asks for no rule.
func TestNothingToPropose(t *testing.T) {
	login := rules.Spec{Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login*"}}}
	if d := Drafts(site("/wp-login.php", "/wp-login.php", "/wp-login.php"), []rules.Spec{login}); len(d) > 0 {
		t.Errorf("%+v", d)
	}
	if d := Drafts(site(), nil); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// A path of a log is written so that YAML and the rule read nothing else of it, and the
// rule matches the path.
func TestHostilePaths(t *testing.T) {
	for _, path := range []string{
		"/login\"]\n  - name: evil", "/login'#{}: \u202e*", "/login/%2e%2e*?x", "/login\x00\x1b[31m", "/login\\\"", "/lögin-login", "/login: [a, b]", "/index.php/login&x=1",
	} {
		b := site(path, path, path)
		drafts := Drafts(b, nil)
		if len(drafts) != 1 {
			t.Errorf("%q: %d drafts", path, len(drafts))
			continue
		}
		rule, ok := drafts[0].Choose([]Counted{{Tally: tally(3, 40)}, {Tally: tally(3, 40)}}, b)
		if !ok {
			t.Errorf("%q: no rule", path)
			continue
		}
		text := "rules:\n" + rule.RuleText()
		if i := strings.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' }); i >= 0 {
			t.Errorf("%q: byte %d of %q", path, i, text)
		}
		c, err := config.Parse("test.yaml", []byte(text))
		if err != nil || len(c.Specs) != 1 {
			t.Errorf("%q: %v\n%s", path, err, text)
			continue
		}
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldMethod | edgeguard.FieldPath, Method: "POST", Path: path}
		if _, ok := c.Rules.Meters[0].Match(&ev); !ok {
			t.Errorf("%q: the rule does not match: %s", path, text)
		}
	}
}

// A path where no rule looks has the room that people have where one counts what is sent: 50 in an hour
// here, and none is proposed below half as many again.
func TestPeopleWhoSend(t *testing.T) {
	b := site("/logon.do", "/logon.do", "/logon.do", "/logon.do")
	login := rules.Spec{Name: "login", Threshold: 400, Guard: "1", Cost: 4, Window: time.Hour, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login"}}, People: rules.People{Count: 200, Scene: "office"}}
	for _, c := range []struct {
		have []rules.Spec
		peak uint32
		ok   bool
	}{{nil, 60, true}, {[]rules.Spec{login}, 60, false}, {[]rules.Spec{login}, 200, true}} {
		drafts := Drafts(b, c.have)
		if len(drafts) != 1 {
			t.Fatalf("%+v", drafts)
		}
		rule, ok := drafts[0].Choose([]Counted{{Tally: tally(0, 0)}, {Tally: tally(4, c.peak)}}, b)
		if ok != c.ok || ok && len(c.have) > 0 && rule.Suggestion.Limit < 75 {
			t.Errorf("%d rules, a peak of %d: %v, over %d", len(c.have), c.peak, ok, rule.Suggestion.Limit)
		}
	}
}
