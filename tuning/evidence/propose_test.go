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
		t.Key(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 32)}, 1)
	}
	for i := range attackers {
		t.Key(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 32)}, peak)
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
		text := "rules:\n" + rule.YAML()
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

// Every draft can be pasted: those for what is missing too.
func TestMissing(t *testing.T) {
	b := site()
	for i := range byte(4) {
		for n := range 30 {
			b.Add(&edgeguard.Event{Time: time.Unix(1780000000, 0), Addr: netip.AddrFrom4([4]byte{203, 0, 113, i}), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
				Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus, Method: "GET", Path: fmt.Sprintf("/x%d.php", n), Status: 404})
		}
	}
	drafts := Drafts(b, nil)
	if len(drafts) != 2 {
		t.Fatalf("%+v", drafts)
	}
	for i := range drafts {
		rule, ok := drafts[i].Choose([]Counted{{Tally: tally(4, 30)}, {Tally: tally(4, 30)}}, b)
		if !ok {
			t.Fatalf("%+v", drafts[i])
		}
		c, err := config.Parse("test.yaml", []byte("rules:\n"+rule.YAML()))
		if err != nil || c.Rules.Rules[0].Threshold != rule.Spec.Threshold || c.Rules.Rules[0].Action != edgeguard.ActionShadow {
			t.Errorf("%v\n%s", err, rule.YAML())
		}
	}
	probing := rules.Spec{Name: "probing", Threshold: 60, Match: rules.Match{Status: []string{"404"}}}
	if d := Drafts(b, []rules.Spec{probing}); len(d) != 2 {
		t.Errorf("a rule that counts pictures too is no reason to propose nothing: %+v", d)
	}
	probing.Match.Not, probing.Match.Path = &rules.Match{Path: []string{"*.png", "*.gif"}}, []string{"/*"}
	if d := Drafts(b, []rules.Spec{probing}); len(d) != 0 {
		t.Errorf("%+v", d)
	}
}
