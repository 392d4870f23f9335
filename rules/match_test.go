package rules_test

import (
	"math/rand/v2"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

const allFields = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldPort

func TestMatch(t *testing.T) {
	list := func(values ...string) []string { return values }
	answer := edgeguard.Event{
		Kind: edgeguard.KindRequest | edgeguard.KindResponse, Known: allFields,
		Host: "www.Example.org:8080", Method: "POST", Path: "//xmlrpc.php?x=1", Status: 404, Port: 443,
	}
	unknown := answer
	unknown.Known = 0
	odd := answer
	odd.Method, odd.Host = "pOst", "www.example.org."
	slash := answer
	slash.Path = "/x%2Fy/../login?x=1"
	google, impostor := unknown, unknown
	google.Known, google.Crawler = edgeguard.FieldCrawler, "verified googlebot"
	impostor.Known, impostor.Crawler = edgeguard.FieldCrawler, "impostor"
	for _, c := range []struct {
		name  string
		match rules.Match
		event edgeguard.Event
		want  bool
	}{
		{"nothing asked", rules.Match{}, answer, true},
		{"host", rules.Match{Host: list("other.org", "WWW.example.org")}, answer, true},
		{"host pattern", rules.Match{Host: list("*.example.org")}, answer, true},
		{"host pattern without its dot", rules.Match{Host: list("*.www.example.org")}, answer, false},
		{"other host", rules.Match{Host: list("example.org")}, answer, false},
		{"method", rules.Match{Method: list("GET", "POST")}, answer, true},
		{"other method", rules.Match{Method: list("GET")}, answer, false},
		{"method in lower case", rules.Match{Method: list("POST")}, odd, true},
		{"rule's method in lower case", rules.Match{Method: list("get", "post")}, answer, true},
		{"not method in lower case", rules.Match{Not: &rules.Match{Method: list("POST")}}, odd, false},
		{"method of many", rules.Match{Method: list("A", "B", "C", "D", "E", "F", "G", "H", "I", "POST")}, odd, true},
		{"host with its last dot", rules.Match{Host: list("www.example.org")}, odd, true},
		{"host pattern, last dot", rules.Match{Host: list("*.org")}, odd, true},
		{"not host, last dot", rules.Match{Not: &rules.Match{Host: list("www.example.org")}}, odd, false},
		{"path", rules.Match{Path: list("/xmlrpc.php")}, answer, true},
		{"path pattern", rules.Match{Path: list("/xml*.php")}, answer, true},
		{"path behind an escaped slash, as Apache reads it", rules.Match{Path: list("/login")}, slash, true},
		{"the same as nginx reads it", rules.Match{Path: list("/x/login")}, slash, true},
		{"neither reading", rules.Match{Path: list("/y/login")}, slash, false},
		{"not path, which one reading is not", rules.Match{Not: &rules.Match{Path: list("/login")}}, slash, true},
		{"path is not a prefix", rules.Match{Path: list("/xmlrpc")}, answer, false},
		{"status", rules.Match{Status: list("403", "404")}, answer, true},
		{"status class", rules.Match{Status: list("4XX")}, answer, true},
		{"status range", rules.Match{Status: list("400-403")}, answer, false},
		{"port", rules.Match{Port: list("80", "440-450")}, answer, true},
		{"other port", rules.Match{Port: list("80")}, answer, false},
		{"kind", rules.Match{Kind: list("response")}, answer, true},
		{"other kind", rules.Match{Kind: list("syn")}, answer, false},
		{"kind but not that", rules.Match{Kind: list("request"), Not: &rules.Match{Kind: list("response")}}, answer, false},
		{"all terms", rules.Match{Host: list("www.example.org"), Method: list("POST"), Path: list("/xmlrpc.php"), Status: list("404")}, answer, true},
		{"all but one", rules.Match{Host: list("www.example.org"), Method: list("POST"), Path: list("/xmlrpc.php"), Status: list("200")}, answer, false},

		{"any verified crawler", rules.Match{Crawler: list("verified")}, google, true},
		{"that crawler", rules.Match{Crawler: list("googlebot", "bingbot")}, google, true},
		{"another crawler", rules.Match{Crawler: list("bingbot", "google")}, google, false},
		{"verified, of an impostor", rules.Match{Crawler: list("verified")}, impostor, false},
		{"impostor", rules.Match{Crawler: list("impostor")}, impostor, true},
		{"a crawler of a name that a star would match", rules.Match{Crawler: list("goo*")}, google, false},
		{"all but verified ones, of one", rules.Match{Not: &rules.Match{Crawler: list("verified")}}, google, false},
		{"all but verified ones, of an impostor", rules.Match{Not: &rules.Match{Crawler: list("verified")}}, impostor, true},
		{"crawler unknown", rules.Match{Not: &rules.Match{Crawler: list("verified")}}, unknown, false},
		{"not path", rules.Match{Not: &rules.Match{Path: list("/xmlrpc.php")}}, answer, false},
		{"not another path", rules.Match{Not: &rules.Match{Path: list("/other")}}, answer, true},
		{"path but not", rules.Match{Path: list("/*"), Not: &rules.Match{Path: list("*.php")}}, answer, false},
		{"not host", rules.Match{Not: &rules.Match{Host: list("www.example.org")}}, answer, false},
		{"not status", rules.Match{Not: &rules.Match{Status: list("4xx")}}, answer, false},
		{"status but not", rules.Match{Status: list("4xx"), Not: &rules.Match{Status: list("401", "403")}}, answer, true},
		{"either of two nots suffices", rules.Match{Not: &rules.Match{Method: list("GET"), Status: list("404")}}, answer, false},

		{"unknown, nothing asked", rules.Match{}, unknown, true},
		{"unknown path", rules.Match{Path: list("*")}, unknown, false},
		{"unknown not path", rules.Match{Not: &rules.Match{Path: list("/other")}}, unknown, false},
		{"unknown status", rules.Match{Status: list("4xx")}, unknown, false},
		{"unknown not status", rules.Match{Not: &rules.Match{Status: list("200")}}, unknown, false},
		{"unknown not port", rules.Match{Not: &rules.Match{Port: list("80")}}, unknown, false},
		{"unknown not host", rules.Match{Not: &rules.Match{Host: list("a.org")}}, unknown, false},
		{"unknown not method", rules.Match{Not: &rules.Match{Method: list("GET")}}, unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			meter := &compile(t, rules.Spec{Name: "a", Threshold: 1, Match: c.match}).Meters[0]
			if cost, ok := meter.Match(&c.event); ok != c.want || ok && cost != 1 {
				t.Errorf("Match is %d, %v, want %v", cost, ok, c.want)
			}
		})
	}
}

// TestMatchKind holds what a rule counts that does not say.
func TestMatchKind(t *testing.T) {
	status := rules.Match{Status: []string{"404"}}
	for _, c := range []struct {
		name string
		spec rules.Spec
		want edgeguard.Kind
	}{
		{"by default", rules.Spec{}, edgeguard.KindRequest},
		{"with a status", rules.Spec{Match: status}, edgeguard.KindResponse},
		{"with a status under not", rules.Spec{Match: rules.Match{Not: &status}}, edgeguard.KindResponse},
		{"with a status that costs", rules.Spec{Costs: []rules.Charge{{Match: status, Cost: 2}}}, edgeguard.KindResponse},
		{"as told", rules.Spec{Match: rules.Match{Kind: []string{"handshake"}}}, edgeguard.KindHandshake},
		{"as told, with a status", rules.Spec{Match: rules.Match{Kind: []string{"request"}, Status: []string{"404"}}}, edgeguard.KindRequest},
	} {
		c.spec.Name, c.spec.Threshold = "a", 1
		if got := compile(t, c.spec).Meters[0].Kind; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMatchCost(t *testing.T) {
	meter := &compile(t, rules.Spec{
		Name: "search", Threshold: 100, Cost: 2,
		Match: rules.Match{Method: []string{"GET", "POST"}},
		Costs: []rules.Charge{
			{Match: rules.Match{Path: []string{"/search*"}, Method: []string{"POST"}}, Cost: 50},
			{Match: rules.Match{Path: []string{"/search*"}}, Cost: 10},
			{Match: rules.Match{Host: []string{"api.example.org"}}, Cost: 65535},
		},
	}).Meters[0]
	for _, c := range []struct {
		host, method, path string
		cost               uint16
		ok                 bool
	}{
		{"a.org", "GET", "/", 2, true},
		{"a.org", "GET", "/search?q=x", 10, true},
		{"a.org", "GET", "//%73earch", 10, true},
		{"API.example.org", "POST", "/search", 50, true},
		{"API.example.org:80", "POST", "/x", 65535, true},
		{"a.org", "HEAD", "/search", 0, false},
	} {
		ev := request(c.host, c.method, c.path)
		if cost, ok := meter.Match(&ev); cost != c.cost || ok != c.ok {
			t.Errorf("%s %s %s: %d, %v, want %d, %v", c.method, c.host, c.path, cost, ok, c.cost, c.ok)
		}
	}
}

func TestMatchHosts(t *testing.T) {
	long := strings.Repeat("a", 300) + ".example.org"
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"example.org", "EXAMPLE.ORG", true},
		{"example.org", "example.org:443", true},
		{"example.org", "example.org:", true},
		{"example.org", "", false},
		{"[2001:db8::1]", "[2001:DB8::1]:80", true},
		{"[2001:db8::1]", "[2001:db8::1]", true},
		{"2001:db8::1", "2001:db8::1", true},
		{"192.0.2.1", "192.0.2.1:80", true},
		{"*.example.org", long, false}, // longer than any name
		{"*.example.org", strings.ToUpper(long), false},
		{"a:b", "A:b:c", false},
	} {
		set, problems := rules.Compile([]rules.Spec{{Name: "a", Threshold: 1, Match: rules.Match{Host: []string{c.pattern}}}})
		if problems != nil {
			if c.want {
				t.Errorf("%q: %v", c.pattern, problems)
			}
			continue
		}
		ev := request(c.host, "GET", "/")
		if _, ok := set.Meters[0].Match(&ev); ok != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.host, ok)
		}
	}
}

// TestMatchAgainstTwin compares random rules and events with the definition,
// written out as slowly as it reads.
func TestMatchAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	matched := 0
	for range 2_000 {
		spec := rules.Spec{Name: "a", Threshold: 1, Match: randomMatch(random)}
		if random.IntN(2) == 0 {
			not := randomMatch(random)
			spec.Match.Not = &not
		}
		set, problems := rules.Compile([]rules.Spec{spec})
		if problems != nil {
			continue // what is taken back whole
		}
		for range 20 {
			ev := randomEvent(random)
			want := ev.Kind&set.Meters[0].Kind != 0 && slowMatch(&spec.Match, &ev)
			if want {
				matched++
			}
			if _, ok := set.Meters[0].Match(&ev); ok != want {
				t.Fatalf("%+v not %+v on %+v: %v, want %v", spec.Match, spec.Match.Not, ev, ok, want)
			}
		}
	}
	if matched < 100 {
		t.Errorf("only %d events matched: the test shows little", matched)
	}
}

var (
	someHosts    = []string{"a.org", "b.org", "c.a.org"}
	someMethods  = []string{"GET", "POST", "PUT"}
	somePaths    = []string{"/a", "/b.php", "/a/b.php"}
	someStatuses = []string{"200", "403", "404"}
)

func randomMatch(random *rand.Rand) (m rules.Match) {
	some := func(all []string, globs ...string) (list []string) {
		if random.IntN(3) > 0 {
			return nil
		}
		for _, value := range append(slices.Clone(all), globs...) {
			if random.IntN(3) == 0 {
				list = append(list, value)
			}
		}
		return list
	}
	m.Host, m.Method = some(someHosts, "*.org", "c*"), some(someMethods)
	m.Path, m.Status = some(somePaths, "*.php", "/a*"), some(someStatuses)
	return m
}

func randomEvent(random *rand.Rand) edgeguard.Event {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	status, _ := strconv.Atoi(pick(someStatuses))
	ev := edgeguard.Event{
		Kind: edgeguard.Kind(1 + random.IntN(3)), Known: allFields,
		Host: pick(someHosts), Method: pick(someMethods), Path: pick(somePaths), Status: uint16(status),
	}
	switch random.IntN(4) {
	case 0:
		ev.Host = strings.ToUpper(ev.Host) + ":80"
		ev.Path = "/x/.." + ev.Path + "?q"
	case 1:
		ev.Known &^= edgeguard.Field(random.IntN(256))
	}
	return ev
}

func slowMatch(m *rules.Match, ev *edgeguard.Event) bool {
	return slowTerms(m, ev, true) && (m.Not == nil || slowTerms(m.Not, ev, false))
}

// slowTerms says whether each term that is given is known and has the wanted
// answer.
func slowTerms(m *rules.Match, ev *edgeguard.Event, want bool) bool {
	host, _, _ := strings.Cut(strings.ToLower(ev.Host), ":")
	target, _, _ := strings.Cut(ev.Path, "?")
	for _, term := range []struct {
		field  edgeguard.Field
		values []string
		value  string
	}{
		{edgeguard.FieldHost, m.Host, host},
		{edgeguard.FieldMethod, m.Method, ev.Method},
		{edgeguard.FieldPath, m.Path, path.Clean(target)},
		{edgeguard.FieldStatus, m.Status, strconv.Itoa(int(ev.Status))},
	} {
		if term.values == nil {
			continue
		}
		found := slices.ContainsFunc(term.values, func(pattern string) bool {
			head, end, star := strings.Cut(pattern, "*")
			return pattern == term.value ||
				star && len(term.value) >= len(head)+len(end) && strings.HasPrefix(term.value, head) && strings.HasSuffix(term.value, end)
		})
		if ev.Known&term.field == 0 || found != want {
			return false
		}
	}
	return true
}

func TestKey(t *testing.T) {
	set := compile(t,
		rules.Spec{Name: "a", Threshold: 1},
		rules.Spec{Name: "b", Threshold: 1, Key: rules.Group{V4: 24, V6: 48}},
		rules.Spec{Name: "c", Threshold: 1, Key: rules.Group{V6: 128}})
	for i, want := range [][2]string{
		{"192.0.2.77", "2001:db8:1:2::/64"},
		{"192.0.2.0/24", "2001:db8:1::/48"},
		{"192.0.2.77", "2001:db8:1:2::9"},
	} {
		v4 := set.Meters[i].Key(netip.MustParseAddr("192.0.2.77"), "")
		v6 := set.Meters[i].Key(netip.MustParseAddr("2001:db8:1:2::9"), "host=a")
		if v4.String() != want[0] || v6.String() != want[1]+" host=a" {
			t.Errorf("%d: %v and %v", i, v4, v6)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	meter := &compile(t, rules.Spec{
		Name: "a", Threshold: 1, Action: edgeguard.ActionDeny,
		Match: rules.Match{Host: []string{"*.example.org"}, Path: []string{"/a*"}},
		Key:   rules.Group{With: []string{"host", "path", "method", "header:X-Api-Key"}},
		Costs: []rules.Charge{{Match: rules.Match{Path: []string{"*b"}}, Cost: 3}},
	}).Meters[0]
	buf := make([]byte, 0, 4096)
	for name, target := range map[string]string{
		"plain": "/a/b", "odd": "//a/%62", "long and odd": "/a//" + strings.Repeat("x", 1900) + "/b",
	} {
		ev := request("WWW.Example.org:80", "GET", target)
		ev.Known |= edgeguard.FieldHeader
		ev.Header = func(string) (string, bool) { return "secret", true }
		allocs := testing.AllocsPerRun(100, func() {
			if cost, ok := meter.Match(&ev); cost != 3 || !ok {
				t.Errorf("%s: Match is %d, %v", name, cost, ok)
			}
			if _, ok := meter.AppendAttributes(&ev, buf); !ok {
				t.Errorf("%s: no key", name)
			}
			meter.Key(netip.AddrFrom4([4]byte{192, 0, 2, 1}), "")
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
