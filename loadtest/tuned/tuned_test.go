package tuned

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/internal/realdata"
	"edgeguard/loadtest/scenes"
	"edgeguard/loadtest/traffic"
	"edgeguard/logline"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/tuning/evidence"
)

var weblogs = []string{"weblog-wordpress-2016", "weblog-joomla-almhuette-2019", "weblog-elastic-apache", "weblog-scanner-acunetix", "weblog-scanner-netsparker"}

// TestRealLogs compares the proposals with the rules as they are, by the labels.
func TestRealLogs(t *testing.T) {
	fulltest.Only(t)
	file, err := os.Open(realdata.Path(t, "labels-web.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	labels, err := ReadLabels(file)
	if err != nil {
		t.Fatal(err)
	}
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		specs         []rules.Spec
		pairs, better int
	}{{Rules(), 13, 2}, {presets, 55, 0}} {
		pairs, err := Measure(context.Background(), realdata.Path(t), labels, want.specs)
		if err != nil {
			t.Fatal(err)
		}
		var table bytes.Buffer
		Print(&table, pairs)
		t.Log("\n" + table.String())
		for i := range pairs {
			t.Logf("%s %s: %s", pairs[i].Log, pairs[i].Rule, pairs[i].Proposal.Reason)
		}
		if better, worse := Count(pairs); len(pairs) < want.pairs || better < want.better || worse > 0 {
			t.Errorf("of %d pairs better on %d and worse on %d; want %d of %d at least, and 0", len(pairs), better, worse, want.better, want.pairs)
		}
	}
}

// crowd is a log of clients that do no harm: readers, an office behind one address
// that logs in at nine, and a search engine.
func crowd(clients int) *bytes.Buffer {
	const (
		browser = "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0"
		engine  = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	)
	r, out := rand.New(rand.NewPCG(5, 5)), &bytes.Buffer{}
	for second := range 3600 {
		line := func(addr, agent, method, path string, status int) {
			fmt.Fprintf(out, "%s - - [%s] \"%s %s HTTP/1.1\" %d 512 \"-\" \"%s\"\n", addr,
				time.Unix(1780358400+int64(second), 0).UTC().Format("02/Jan/2006:15:04:05 -0700"), method, path, status, agent)
		}
		read := func(addr string) {
			line(addr, browser, "GET", fmt.Sprintf("/page/%d", r.IntN(50)), 200)
			for range r.IntN(8) {
				line(addr, browser, "GET", fmt.Sprintf("/img/%d.png", r.IntN(99)), 200)
			}
		}
		n := r.IntN(clients)
		read(fmt.Sprintf("198.51.%d.%d", n/250, n%250))
		if second%3 == 0 {
			read("192.0.2.10") // the office
		}
		if second%20 == 0 {
			line("192.0.2.10", browser, "POST", "/wp-login.php", []int{302, 302, 302, 200}[r.IntN(4)])
		}
		path := []string{"/robots.txt", "/gone/%d", "/page/%d", "/page/%d"}[r.IntN(4)]
		if path != "/robots.txt" {
			path = fmt.Sprintf(path, r.IntN(300))
		}
		line("66.249.66.1", engine, "GET", path, map[bool]int{true: 404, false: 200}[path[1] == 'g'])
	}
	return out
}

// TestNobodyIsProposed: on traffic without an attacker no proposal refuses a client,
// whatever the rules do.
func TestNobodyIsProposed(t *testing.T) {
	logs := map[string]*bytes.Buffer{"800 clients, an office and a search engine": crowd(800), "ten clients": crowd(10), "a log as it is measured": {}}
	if err := (traffic.Log{Lines: 50_000, Addresses: 5000, Rate: 20, Seed: 1}).Write(logs["a log as it is measured"]); err != nil {
		t.Fatal(err)
	}
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			open, labels := innocents(parsed(t, log.Bytes()))
			pairs, err := one(context.Background(), name, open, Rules(), labels)
			if err != nil {
				t.Fatal(err)
			}
			if len(pairs) < 2 {
				t.Fatalf("%d rules counted something", len(pairs))
			}
			for i := range pairs {
				p := &pairs[i]
				t.Logf("%s: %d, proposed %d: %s", p.Rule, p.Now.Benign, p.Then.Benign, p.Proposal.Reason)
				if p.Then.Benign > p.Now.Benign || !p.Proposal.Keep && p.Then.Benign > 0 {
					t.Errorf("%s: refuses %d, proposed %d (threshold %d)", p.Rule, p.Now.Benign, p.Then.Benign, p.Proposal.Threshold)
				}
			}
		})
	}
}

// wanted is a log of traffic that a site wants, and of one that attacks it as well.
func wanted(t *testing.T, played []scenes.Scene, of map[string][]edgeguard.Event, attacked bool) (func() (replay.Source, error), map[netip.Addr]Who) {
	t.Helper()
	labels := make(map[netip.Addr]Who)
	n := 0
	for _, scene := range played {
		n += len(of[scene.Name])
	}
	all := make([]edgeguard.Event, 0, n)
	for i, scene := range played {
		for _, ev := range of[scene.Name] {
			ev.Addr = moved(ev.Addr, byte(i))
			all = append(all, ev)
		}
	}
	first := all[0].Time
	for i := range all {
		labels[evidence.Prefix(all[i].Addr).Addr()] = Who{Label: "visitor"}
	}
	if attacked {
		var text bytes.Buffer
		for second := range 600 {
			for n := range 5 {
				at := first.Add(time.Duration(second) * time.Second).UTC().Format("02/Jan/2006:15:04:05 -0700")
				fmt.Fprintf(&text, "203.0.113.%d - - [%s] \"POST /wp-login.php HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0 Firefox/1.0\"\n", 200+n, at)
				fmt.Fprintf(&text, "203.0.113.%d - - [%s] \"GET /old/%d.php HTTP/1.1\" 404 512 \"-\" \"-\"\n", 210+n, at, second)
			}
		}
		all = append(all, parsed(t, text.Bytes())...)
		for n := range 5 {
			for _, from := range []int{200, 210} {
				labels[netip.AddrFrom4([4]byte{203, 0, 113, byte(from + n)})] = Who{Label: "scan"}
			}
		}
	}
	return func() (replay.Source, error) { return &once{slices.Clone(all)}, nil }, labels
}

// innocents returns events as a log all of whose addresses are benign.
func innocents(all []edgeguard.Event) (func() (replay.Source, error), map[netip.Addr]Who) {
	labels := make(map[netip.Addr]Who)
	for i := range all {
		labels[evidence.Prefix(all[i].Addr).Addr()] = Who{Label: "visitor"}
	}
	return func() (replay.Source, error) { return &once{slices.Clone(all)}, nil }, labels
}

func parsed(t *testing.T, text []byte) []edgeguard.Event {
	t.Helper()
	format, err := logline.ParseFormat("combined")
	if err != nil {
		t.Fatal(err)
	}
	chunk := logline.Chunk{Text: text}
	format.Parser("generated", nil).Parse(&chunk)
	return chunk.Events
}

// moved returns an address of a network for one scene: they use the same addresses.
func moved(addr netip.Addr, to byte) netip.Addr {
	if addr.Is4() {
		b := addr.As4()
		b[0] = 1 + to
		return netip.AddrFrom4(b)
	}
	b := addr.As16()
	b[1] += to
	return netip.AddrFrom16(b)
}

// harmed are the scenes in which proposed rules, which only report, would refuse people: those
// of another application at the place of Joomla's login.
var harmed = []string{"administrator", "administrator-php"}

// TestWantedTraffic: of traffic that a site wants no proposal refuses an address, each
// kind alone and all together, with an attack and without.
func TestWantedTraffic(t *testing.T) {
	fulltest.Only(t)
	sets := make(map[string][]scenes.Scene)
	for _, scene := range scenes.Scenes() {
		if scene.Kind == scenes.Wanted && !slices.Contains(harmed, scene.Name) {
			sets[scene.Name] = []scenes.Scene{scene}
			sets["all"] = append(sets["all"], scene)
		}
	}
	events := make(map[string][]edgeguard.Event)
	for _, scene := range sets["all"] {
		events[scene.Name] = parsed(t, scene.Play(1).Log)
	}
	for name, played := range sets {
		for _, attacked := range []bool{false, true} {
			open, labels := wanted(t, played, events, attacked)
			pairs, err := one(context.Background(), name, open, Rules(), labels)
			if err != nil {
				t.Fatal(err)
			}
			attackers := 0
			for i := range pairs {
				p := &pairs[i]
				attackers += p.Then.Attackers
				if p.Verdict() < 0 || p.Proposal.Threshold > 0 && !p.Proposal.Keep && p.Then.Benign > 0 {
					t.Errorf("%s, attacked %v: %s refuses %+v, proposed %d %+v: %s", name, attacked, p.Rule, p.Now, p.Proposal.Threshold, p.Then, p.Proposal.Reason)
				}
			}
			if attacked && attackers < 10 {
				t.Errorf("%s: the proposals find %d", name, attackers)
			}
		}
	}
}

// once is a source of one batch.
type once struct{ all []edgeguard.Event }

// Next implements replay.Source.
func (o *once) Next() ([]edgeguard.Event, error) {
	if all := o.all; all != nil {
		o.all = nil
		return all, nil
	}
	return nil, io.EOF
}

func TestLabels(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a\t192.0.2.1\tscan\n", "line 1: 3 columns"},
		{"# a\na\t192.0.2\tscan\t1\n", "line 2:"},
		{"a\t192.0.2.1\tscan\tmany\n", "line 1:"},
	} {
		if _, err := ReadLabels(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
}
