package crawlers

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// three are a crawler that is known by its addresses, one by its names, and one by
// both.
func three(t *testing.T, dns bool) *Crawlers {
	t.Helper()
	c, err := New([]Spec{
		{Name: "googlebot", Agents: []string{"Googlebot"}, Ranges: []string{"/g.json"}},
		{Name: "yandex", Agents: []string{"YandexBot", "YandexImages"}, DNS: []string{"yandex.ru", "yandex.com"}},
		{Name: "bingbot", Agents: []string{"bingbot"}, Ranges: []string{"/b.json"}, DNS: []string{"search.msn.com"}},
	}, dns)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func prefixes(texts ...string) *Ranges {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return NewRanges(all)
}

// mark returns who the client is, and whether that may change soon.
func mark(c *Crawlers, now time.Time, addr, agent string) string {
	ev := edgeguard.Event{Addr: netip.MustParseAddr(addr), Agent: agent, Known: edgeguard.FieldAgent}
	c.MarkClient(now, &ev)
	if ev.Known&edgeguard.FieldCrawler == 0 {
		return "not known"
	}
	if ev.Awaited {
		return ev.Crawler + " awaited"
	}
	return ev.Crawler
}

const (
	google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	yandex = "Mozilla/5.0 (compatible; YandexBot/3.0)"
	bing   = "mozilla/5.0 (compatible; BINGBOT/2.0)"
)

func TestByRanges(t *testing.T) {
	c := three(t, false)
	if got := mark(c, begin, "66.249.64.1", google); got != "unknown" {
		t.Errorf("before the file was read: %s", got)
	}
	c.SetRanges(0, prefixes("66.249.64.0/27", "2001:4860:4801:10::/64"))
	for _, test := range []struct{ addr, agent, want string }{
		{"66.249.64.1", google, "verified googlebot"},
		{"66.249.64.31", google, "verified googlebot"},
		{"66.249.64.32", google, "impostor"},
		{"66.249.63.255", google, "impostor"},
		{"2001:4860:4801:10::5", google, "verified googlebot"},
		{"2001:4860:4801:11::5", google, "impostor"},
		{"66.249.64.1", "curl/8.0", "none"},
		{"66.249.64.1", "", "none"},
		{"192.0.2.1", "googleBOT", "impostor"},
		{"66.249.64.1", bing + google, "verified googlebot"}, // one true claim suffices
		{"192.0.2.1", bing + google, "unknown"},              // bingbot could only be known by DNS
		{"192.0.2.1", yandex, "unknown"},
		{"192.0.2.1", strings.Repeat("x", mostAgent-8) + "Googlebot", "none"},
		{"192.0.2.1", strings.Repeat("x", mostAgent-9) + "Googlebot", "impostor"},
	} {
		if got := mark(c, begin, test.addr, test.agent); got != test.want {
			t.Errorf("%s %.40q: %s, want %s", test.addr, test.agent, got, test.want)
		}
	}
	if _, ok := c.NextQuestion(); ok {
		t.Error("a question without DNS")
	}
}

// A source that does not know the agent, or whose client had it cut off, reports no
// claim: a rule for all but verified crawlers counts it.
func TestNoAgent(t *testing.T) {
	c := three(t, true)
	ev := edgeguard.Event{Addr: netip.MustParseAddr("192.0.2.1"), Agent: google, Awaited: true}
	if c.MarkClient(begin, &ev); ev.Crawler != "none" || ev.Awaited || ev.Known != edgeguard.FieldCrawler {
		t.Errorf("%+v", ev)
	}
	ev = edgeguard.Event{}
	if (*Crawlers)(nil).MarkClient(begin, &ev); ev.Known != 0 {
		t.Error("nil crawlers say something")
	}
}

func TestByDNS(t *testing.T) {
	c := three(t, true)
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	check := func(now time.Time, addr, agent, want string) {
		t.Helper()
		if got := mark(c, now, addr, agent); got != want {
			t.Errorf("after %v, %s: %s, want %s", now.Sub(begin), addr, got, want)
		}
	}
	check(at(0), "192.0.2.1", yandex, "unknown awaited")
	check(at(1999*time.Millisecond), "192.0.2.1", yandex, "unknown awaited")
	check(at(2*time.Second), "192.0.2.1", yandex, "unknown") // its block waits no longer
	if a, ok := c.NextQuestion(); !ok || a.String() != "192.0.2.1" {
		t.Fatalf("asked about %v %v", a, ok)
	}
	if _, ok := c.NextQuestion(); ok {
		t.Error("asked twice about one address")
	}
	check(at(3*time.Second), "192.0.2.1", yandex, "unknown")
	c.Answer(at(4*time.Second), netip.MustParseAddr("192.0.2.1"), c.Domain("a.spider.YANDEX.com."), true)
	check(at(5*time.Second), "192.0.2.1", yandex, "verified yandex")
	check(at(5*time.Second), "192.0.2.1", bing, "unknown") // its file was not read, and yet: DNS says it has no such name
	check(at(23*time.Hour), "192.0.2.1", yandex, "verified yandex")

	check(at(0), "192.0.2.2", yandex, "unknown awaited")
	c.NextQuestion()
	c.Answer(at(time.Second), netip.MustParseAddr("192.0.2.2"), 0, false) // a time-out
	check(at(2*time.Second), "192.0.2.2", yandex, "unknown")
	if _, ok := c.NextQuestion(); ok {
		t.Error("asked again immediately after a failure")
	}
	check(at(2*time.Minute), "192.0.2.2", yandex, "unknown awaited")
	c.NextQuestion()
	c.Answer(at(2*time.Minute), netip.MustParseAddr("192.0.2.2"), 0, true)
	check(at(2*time.Minute), "192.0.2.2", yandex, "impostor")
	check(at(2*time.Minute+refusedFor), "192.0.2.2", yandex, "unknown awaited")

	// Confirmed yesterday, and DNS is away today: it stays what it was.
	check(at(25*time.Hour), "192.0.2.1", yandex, "unknown awaited")
	c.Answer(at(25*time.Hour), netip.MustParseAddr("192.0.2.1"), 0, false)
	check(at(25*time.Hour+time.Second), "192.0.2.1", yandex, "verified yandex")
	if f := c.Figures(); f.Verified != 3 || f.Impostors != 1 || f.Asked != 4 || f.Failed != 2 || f.Unknown == 0 {
		t.Errorf("%+v", f)
	}
}

// Who rotates addresses of one network leaves room for others, and who rotates
// networks costs neither memory nor questions without bound.
func TestRotation(t *testing.T) {
	c := three(t, true)
	for i := range 10_000 {
		mark(c, begin, fmt.Sprintf("2001:db8:0:%x::%x", i%1000, i), yandex)
		mark(c, begin, fmt.Sprintf("198.51.100.%d", i%256), yandex)
	}
	if n := len(c.queue.waiting); n != 2*mostOfNetwork {
		t.Errorf("%d addresses of two networks wait", n)
	}
	if got := mark(c, begin, "192.0.2.1", yandex); got != "unknown awaited" {
		t.Errorf("another's: %s", got)
	}
	for i := range 10_000 {
		mark(c, begin, fmt.Sprintf("10.%d.%d.1", i/256, i%256), yandex)
	}
	if n := len(c.queue.waiting); n != mostWaiting || len(c.queue.order) != mostWaiting {
		t.Errorf("%d wait, %d are to be asked about", n, len(c.queue.order))
	}
	if got := mark(c, begin, "192.0.3.1", yandex); got != "unknown" {
		t.Errorf("where the queue is full a block waits for nothing: %s", got)
	}
	for {
		addr, ok := c.NextQuestion()
		if !ok {
			break
		}
		c.Answer(begin, addr, 0, true)
	}
	if len(c.queue.waiting) != 0 || len(c.queue.networks) != 0 || len(c.queue.order) != 0 {
		t.Error("answered questions are remembered")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := newAnswers()
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range 100 {
		s.putAnswer(begin, addr(i), 1, true)
	}
	for i := range 3 * mostAnswers {
		s.putAnswer(begin.Add(time.Duration(i)*time.Second), addr(100+i), 0, true)
	}
	if len(s.others) > mostAnswers || len(s.confirmed) != 100 {
		t.Errorf("%d confirmed, %d others", len(s.confirmed), len(s.others))
	}
	for i := range 2 * mostAnswers {
		s.putAnswer(begin, addr(i), 1, true)
	}
	if len(s.confirmed) > mostAnswers {
		t.Errorf("%d confirmed", len(s.confirmed))
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		name, domain string
		want         bool
	}{
		{"crawl-66-249-64-1.googlebot.com.", "googlebot.com", true},
		{"CRAWL.GoogleBot.COM", "googlebot.com", true},
		{"googlebot.com.", "googlebot.com", true},
		{"evilgooglebot.com.", "googlebot.com", false},
		{"googlebot.com.evil.example.", "googlebot.com", false},
		{"googlebot.com..", "googlebot.com", false},
		{".googlebot.com", "googlebot.com", true},
		{"bot.com", "googlebot.com", false},
		{"", "googlebot.com", false},
		{".", "googlebot.com", false},
	} {
		if got := within(test.name, test.domain); got != test.want {
			t.Errorf("%q in %q: %v", test.name, test.domain, got)
		}
	}
}

func TestSpecs(t *testing.T) {
	good := Spec{Name: "a", Agents: []string{"abot"}, DNS: []string{"a.example"}}
	for _, test := range []struct {
		change func(*Spec)
		want   string // "" for none
	}{
		{func(*Spec) {}, ""},
		{func(s *Spec) { s.Name = "" }, "name"},
		{func(s *Spec) { s.Name = "A" }, "name"},
		{func(s *Spec) { s.Name = "verified" }, "name"},
		{func(s *Spec) { s.Name = strings.Repeat("a", 33) }, "name"},
		{func(s *Spec) { s.Agents = nil }, "agent"},
		{func(s *Spec) { s.Agents = []string{"ab"} }, "agent"},
		{func(s *Spec) { s.Agents = []string{"ab\x1bc"} }, "agent"},
		{func(s *Spec) { s.DNS = nil }, "ranges"},
		{func(s *Spec) { s.Ranges = []string{"a.json"} }, "ranges"},
		{func(s *Spec) { s.Ranges = []string{"/etc/user-triggered-fetchers.json"} }, "ranges"},
		{func(s *Spec) { s.DNS = []string{"*.a.example"} }, "dns"},
		{func(s *Spec) { s.DNS = []string{".a.example"} }, "dns"},
		{func(s *Spec) { s.DNS = []string{"a.example."} }, "dns"},
		{func(s *Spec) { s.DNS = []string{"com"} }, "dns"},
		{func(s *Spec) { s.DNS = []string{"GoogleBot.com"} }, ""},
		{func(s *Spec) { s.DNS = []string{"bc.googleusercontent.com"} }, "dns"},
		{func(s *Spec) { s.DNS = []string{"amazonaws.com"} }, "dns"},
	} {
		s := good
		test.change(&s)
		if field, err := s.Check(); field != test.want || (err == nil) != (test.want == "") {
			t.Errorf("%+v: %q, %v; want %q", s, field, err, test.want)
		}
	}
	if _, err := New([]Spec{good, good}, true); err == nil {
		t.Error("two of one name")
	}
}

func TestParseRanges(t *testing.T) {
	for _, test := range []struct {
		text, want string // want: the prefixes, or a part of the error
	}{
		{`{"creationTime":"2026-01-01T00:00:00","prefixes":[{"ipv4Prefix":"66.249.64.0/27"},{"ipv6Prefix":"2001:4860:4801:10::/64"}]}`, "66.249.64.0/27 2001:4860:4801:10::/64"},
		{`{"prefixes":[{"ipv4Prefix":"66.249.64.5/27"}]}`, "66.249.64.0/27"},
		{`{"prefixes":[{"ipv4Prefix":"34.1.208.0/20","service":"Google Cloud","scope":"africa-south1"}]}`, "the list of a cloud"},
		{`{"prefixes":[{"ipv4Prefix":"34.64.0.0/10"}]}`, "wider than a crawler's"},
		{`{"prefixes":[{"ipv6Prefix":"2600:1900::/28"}]}`, "wider than a crawler's"},
		{`{"prefixes":[{"ipv4Prefix":"0.0.0.0/0"}]}`, "wider than a crawler's"},
		{`{"prefixes":[{"ipv4Prefix":"10.0.0.0/24"}]}`, "not an address on the internet"},
		{`{"prefixes":[{"ip_prefix":"3.5.140.0/22","region":"ap-northeast-2"}]}`, "exactly one of"},
		{`{"prefixes":[{"ipv4Prefix":"2001:db8::/64"}]}`, "invalid prefix"},
		{`{"prefixes":[{"ipv6Prefix":"::ffff:192.0.2.0/120"}]}`, "invalid prefix"},
		{`{"prefixes":[{"ipv4Prefix":"66.249.64.0"}]}`, "prefixes[0]: invalid prefix"},
		{`{"prefixes":[]}`, "has no prefixes"},
		{`{}`, "has no prefixes"},
		{`<html>`, "not a range file"},
		{`{"prefixes":[{"ipv4Prefix":"66.249.64.0/27"}`, "not a range file"},
		{``, "not a range file"},
		{`[` + strings.Repeat("[", 100_000), "not a range file"},
		{`{"prefixes":[` + strings.Repeat(`{"ipv4Prefix":"66.249.64.0/27"},`, mostPrefixes) + `{}]}`, "not the list of a crawler"},
	} {
		got, err := ParseRanges([]byte(test.text))
		switch text := strings.Trim(fmt.Sprint(got), "[]"); {
		case err == nil && text != test.want:
			t.Errorf("%.60s: %s", test.text, text)
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%.60s: %v", test.text, err)
		}
	}
}

// TestRangesAgainstTwin compares the search with a look at every prefix.
func TestRangesAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	random4 := func() netip.Addr {
		return netip.AddrFrom4([4]byte{66, 249, byte(random.IntN(3)), byte(random.IntN(256))})
	}
	random6 := func() netip.Addr {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 5: byte(random.IntN(3)), 7: byte(random.IntN(256))})
	}
	inside := 0
	for range 300 {
		var all []netip.Prefix
		for range 1 + random.IntN(20) {
			p, _ := random4().Prefix(20 + random.IntN(13))
			q, _ := random6().Prefix(40 + random.IntN(89))
			all = append(all, p, q)
		}
		r := NewRanges(all)
		for range 200 {
			addr := random4()
			if random.IntN(2) == 0 {
				addr = random6()
			}
			want := slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(addr) })
			if want {
				inside++
			}
			if got := r.Contains(addr); got != want {
				t.Fatalf("%v in %v: %v", addr, all, got)
			}
		}
	}
	if inside < 1000 {
		t.Errorf("only %d addresses were inside: the test shows little", inside)
	}
}

// TestAgentsAgainstTwin compares the automaton with a search for each text.
func TestAgentsAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcABC"[random.IntN(6)]
		}
		return string(b)
	}
	found := 0
	for range 500 {
		var a automaton
		var texts []string
		for i := range 1 + random.IntN(10) {
			texts = append(texts, text(3+random.IntN(4)))
			a.addText(texts[i], 1<<i)
		}
		a.finish()
		for range 50 {
			agent := text(random.IntN(60))
			var want uint64
			for i := range texts {
				if strings.Contains(strings.ToLower(agent), strings.ToLower(texts[i])) {
					want |= 1 << i
					found++
				}
			}
			if got := a.claimsOf(agent); got != want {
				t.Fatalf("%q in %q: %b, want %b", texts, agent, got, want)
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d texts were found: the test shows little", found)
	}
}

func FuzzParseRanges(f *testing.F) {
	f.Add([]byte(`{"prefixes":[{"ipv4Prefix":"66.249.64.0/27"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseRanges(data)
		if err != nil {
			return
		}
		r := NewRanges(all)
		for _, p := range all {
			if !r.Contains(p.Addr()) || !r.Contains(last(p)) {
				t.Errorf("%v is not in its own ranges", p)
			}
		}
	})
}

// BenchmarkMark is what crawlers cost the event of an ordinary browser.
func BenchmarkMark(b *testing.B) {
	var specs []Spec
	for _, name := range []string{"googlebot", "bingbot", "applebot", "duckduckbot", "gptbot", "yandexbot"} {
		specs = append(specs, Spec{Name: name, Agents: []string{name}, DNS: []string{name + ".example"}})
	}
	c, err := New(specs, true)
	if err != nil {
		b.Fatal(err)
	}
	ev := edgeguard.Event{Known: edgeguard.FieldAgent, Addr: netip.MustParseAddr("192.0.2.1"),
		Agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"}
	b.ReportAllocs()
	for b.Loop() {
		c.MarkClient(begin, &ev)
	}
}
