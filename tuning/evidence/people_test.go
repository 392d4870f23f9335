package evidence

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/tuning"
)

var (
	wordpress = rules.Spec{Name: "failed", Threshold: 100, Window: time.Hour, Match: rules.Match{Method: []string{"POST"}, Path: []string{"*/wp-login.php*"}, Not: &rules.Match{Status: []string{"301", "302", "303"}}}}
	refused   = rules.Spec{Name: "refused", Threshold: 100, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}, Status: []string{"4xx"}}}
	attempts  = rules.Spec{Name: "attempts", Threshold: 100, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}}}
	tokens    = rules.Spec{Name: "tokens", Threshold: 100, Match: rules.Match{Path: []string{"/api/*"}, Status: []string{"401"}}}
	gone      = rules.Spec{Name: "gone", Threshold: 100, Match: rules.Match{Status: []string{"403", "404"}}, Distinct: "path"}
	whole     = rules.Spec{Name: "site", Threshold: 2000}
	logins    = rules.Spec{Name: "ssh", Threshold: 100, Match: rules.Match{Kind: []string{"auth_failure"}}}
)

// What a log must show depends on what the rule counts.
func TestNeeds(t *testing.T) {
	forms := gone
	forms.Match.Method, forms.Match.Path = []string{"POST"}, []string{"*.php"}
	for _, test := range []struct {
		spec rules.Spec
		want need
	}{{wordpress, needSuccesses}, {refused, needSuccesses}, {attempts, needSuccesses}, {tokens, needSuccesses}, {gone, needPeople}, {forms, needPeople}, {whole, needPeople}, {logins, needOther}} {
		if got := newWatched(&test.spec).need; got != test.want {
			t.Errorf("%s: need %d, want %d", test.spec.Name, got, test.want)
		}
	}
}

// A success is an answer below 400 that the rule does not count, to what it would count
// else, of an address that does not look hostile.
func TestSuccesses(t *testing.T) {
	specs := []rules.Spec{wordpress, refused, attempts, tokens}
	for _, test := range []struct {
		name, method, path string
		status             uint16
		times              int
		want               [4]int
	}{
		{"a login of WordPress", "POST", "/wp-login.php", 302, 1, [4]int{1, 0, 0, 0}},
		{"one that fails", "POST", "/wp-login.php", 200, 1, [4]int{}},
		{"the form", "GET", "/wp-login.php", 302, 1, [4]int{}},
		{"another login", "POST", "/login", 200, 1, [4]int{0, 1, 1, 0}},
		{"one that is refused", "POST", "/login", 401, 1, [4]int{}},
		{"a server that fails", "POST", "/login", 502, 1, [4]int{}},
		{"a call", "GET", "/api/items", 200, 1, [4]int{0, 0, 0, 1}},
		{"somebody who guesses until he is in", "POST", "/login", 302, 30, [4]int{}},
	} {
		book := NewBook(0)
		book.Watch(specs)
		readers(book)
		v := visitor{book: book, addr: netip.MustParseAddr("198.51.100.9"), agent: chrome, now: time.Unix(1780000000, 0)}
		for range test.times {
			v.asks(test.method, test.path, test.status)
		}
		for i, want := range test.want {
			if got := book.successes(i); got != want {
				t.Errorf("%s: %d had a success by %s, want %d", test.name, got, specs[i].Name, want)
			}
		}
		book.Reset()
		if got := book.successes(1); got != 0 {
			t.Errorf("%s: %d after a reset", test.name, got)
		}
	}
}

// A form that redirects after a success shows itself again after a failure.
func TestRedirectsAreSuccesses(t *testing.T) {
	book := NewBook(0)
	book.Watch([]rules.Spec{attempts})
	readers(book)
	for i := range 9 {
		v := visitor{book: book, addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), agent: chrome, now: time.Unix(1780000000, 0)}
		v.asks("POST", "/login", 200)
		if i == 8 {
			if got := book.successes(0); got != 9 {
				t.Errorf("without a redirect %d, want 9", got)
			}
			v.asks("POST", "/login", 302)
		}
	}
	if got := book.successes(0); got != 1 {
		t.Errorf("with one redirect %d, want 1", got)
	}
}

// asked is a log of people who log in, and of guessers, and its answer for a rule.
func asked(spec rules.Spec, people, members int, status uint16, guesses uint32) (*Book, Question) {
	spec.People = rules.People{Count: 12, Scene: "office"}
	set, _ := rules.Compile([]rules.Spec{spec})
	book := NewBook(0)
	book.Watch([]rules.Spec{spec})
	q := Question{Rule: &set.Rules[0], Tally: tuning.NewTally(tuning.ConfigOf(&set.Meters[0]))}
	count := func(addr netip.Addr, n uint32) {
		q.Tally.RecordPeak(edgeguard.Key{Prefix: netip.PrefixFrom(addr, 32)}, n)
		q.Tally.Events.AddN(n, uint64(n))
	}
	for i := range people {
		v := visitor{book: book, addr: netip.AddrFrom4([4]byte{192, 0, byte(2 + i/250), byte(i % 250)}), agent: chrome, now: time.Unix(1780000000, 0)}
		v.reads(3)
		if i < members {
			v.asks("POST", "/login", status)
		}
		count(v.addr, 1+uint32(i%3))
	}
	for i := range 6 {
		v := visitor{book: book, addr: netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), agent: chrome, now: time.Unix(1780000000, 0)}
		for range guesses {
			v.asks("POST", "/login", 401)
		}
		count(v.addr, guesses)
	}
	return book, q
}

func TestSuggestNeedsPeople(t *testing.T) {
	for _, test := range []struct {
		name            string
		spec            rules.Spec
		people, members int
		threshold       uint32
		reason          string
	}{
		{"people who log in", refused, 200, 40, 40, "the gap between 3 and 80 attempts"},
		{"nobody logs in", refused, 200, 0, 0, "nobody logged in in this log, so it does not show how often people mistype: the limit stays"},
		{"one logs in", refused, 200, 1, 0, "only 1 address logged in in this log, and it takes 10 to show"},
		{"nine log in", attempts, 200, 9, 0, "only 9 addresses logged in in this log"},
		{"visitors", whole, 200, 0, 40, "the gap between 3 and 80 requests"},
		{"few visitors", gone, 99, 0, 0, "only 99 addresses look like a customer in this log, and it takes 100"},
		{"a log of refusals", logins, 200, 0, 0, "the log has only what was refused"},
	} {
		spec := test.spec
		if spec.Distinct != "" {
			spec.Distinct = ""
		}
		book, q := asked(spec, test.people, test.members, 302, 80)
		s := book.Suggest(q)
		if s.Threshold != test.threshold || !strings.HasPrefix(s.Reason, test.reason) || s.Brief == "" {
			t.Errorf("%s: threshold %d: %s (%s)", test.name, s.Threshold, s.Reason, s.Brief)
		}
	}
}

// Another log of a normal day shows people as well.
func TestSuggestWithNormalDay(t *testing.T) {
	book, q := asked(refused, 200, 2, 302, 80)
	other, of := asked(refused, 200, 40, 302, 80)
	q.Normal = NormalOf(of.Tally, other)
	if s := book.Suggest(q); s.Threshold != 40 {
		t.Errorf("%+v", s)
	}
}

// What is chosen by two thirds is tried on the rest.
func TestCheck(t *testing.T) {
	book, q := asked(refused, 200, 40, 302, 80)
	answer := book.Suggest(q)
	part := func(people, members int, guesses uint32, high ...uint32) Portion {
		b, of := asked(refused, people, members, 302, guesses)
		for i, n := range high {
			addr := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})
			v := visitor{book: b, addr: addr, agent: chrome, now: time.Unix(1780000000, 0)}
			v.reads(9)
			of.Tally.RecordPeak(edgeguard.Key{Prefix: netip.PrefixFrom(addr, 32)}, n)
		}
		return Portion{of.Tally, b}
	}
	for _, test := range []struct {
		name        string
		first, last Portion
		threshold   uint32
		withdrawn   bool
		says        string
	}{
		{"it holds", part(200, 40, 80), part(200, 40, 80), 40, false, "in the last third it catches 6 addresses, of which 6 look hostile and 0 like customers (the rule as it is: 0 and 0)"},
		{"customers in the last third", part(200, 40, 80), part(200, 40, 80, 60, 70), 0, true, "withdrawn: a limit of 38 attempts, chosen by the first two thirds of the log, refuses 2 addresses that look like customers in the rest: the limit stays"},
		{"customers whom the rule refuses, too", part(200, 40, 80), part(200, 40, 80, 260, 270), 40, false, "in the last third it catches 8 addresses, of which 6 look hostile and 2 like customers (the rule as it is: 0 and 2)"},
		{"the attack is in the last third", part(200, 40, 0), part(200, 40, 80), answer.Threshold, false, answer.Reason},
		{"nobody logged in before", part(200, 0, 80), part(200, 40, 80), answer.Threshold, false, answer.Reason},
	} {
		s := book.Check(q, answer, test.first, test.last)
		if s.Threshold != test.threshold || s.Holdout == nil || s.Holdout.Withdrawn != test.withdrawn || !strings.Contains(s.Reason, test.says) {
			t.Errorf("%s: %d %+v: %s", test.name, s.Threshold, s.Holdout, s.Reason)
		}
	}
}

func TestSplit(t *testing.T) {
	first := time.Unix(1780000000, 0)
	for _, test := range []struct {
		length, window time.Duration
		want           bool
	}{
		{72 * time.Hour, time.Hour, true}, {71 * time.Hour, time.Minute, false}, {9 * 24 * time.Hour, 24 * time.Hour, true}, {8 * 24 * time.Hour, 24 * time.Hour, false},
	} {
		at, ok := Split(first, first.Add(test.length), test.window)
		if ok != test.want || at.Sub(first) != test.length-test.length/3 {
			t.Errorf("%v of windows of %v: %v after %v", test.length, test.window, ok, at.Sub(first))
		}
	}
	if got := TooShort(24 * time.Hour); !strings.HasSuffix(got, "3d") || strings.Contains(TooShort(time.Minute), "3m") {
		t.Errorf("%s; %s", got, TooShort(time.Minute))
	}
}

// A book knows of the first addresses only who had a success.
func TestManySuccesses(t *testing.T) {
	book := NewBook(0)
	book.Watch(slices.Repeat([]rules.Spec{attempts}, 2))
	for i := range 2 * mostWatched {
		v := visitor{book: book, addr: netip.MustParseAddr(fmt.Sprintf("100.%d.%d.9", 64+i>>8, i&255)), agent: chrome}
		v.asks("POST", "/login", 200+uint16(i%2)*102)
	}
	if n := len(book.watched[1].succeeded) + len(book.watched[1].redirected); n != mostWatched {
		t.Errorf("%d are known", n)
	}
}
