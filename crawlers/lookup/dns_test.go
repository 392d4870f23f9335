package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard"
	"edgeguard/crawlers"
)

func newCrawlers(t *testing.T) *crawlers.Crawlers {
	t.Helper()
	c, err := crawlers.New([]crawlers.Spec{
		{Name: "googlebot", Agents: []string{"Googlebot"}, DNS: []string{"googlebot.com", "google.com"}},
		{Name: "bingbot", Agents: []string{"bingbot"}, DNS: []string{"search.msn.com"}},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mark returns who the client is that says it is Googlebot.
func mark(c *crawlers.Crawlers, addr string) string {
	ev := edgeguard.Event{Addr: netip.MustParseAddr(addr), Agent: "Googlebot/2.1", Known: edgeguard.FieldAgent}
	c.MarkClient(time.Now(), &ev)
	return ev.Crawler
}

// Who owns an address writes its names, and may write anything; the domain of the
// crawler has the last word.
func TestAbout(t *testing.T) {
	s := newServer(t)
	var many []string
	for i := range 900 {
		many = append(many, fmt.Sprintf("a-long-name-that-nobody-reads-%d.example.net", i))
	}
	for _, one := range []struct {
		addr  string
		names []string
		want  string
	}{
		{"66.249.64.1", []string{"crawl-66-249-64-1.googlebot.com"}, "verified googlebot"},
		{"66.249.64.2", []string{"Crawl-66-249-64-2.GoogleBot.COM"}, "verified googlebot"},
		{"2001:4860:4801:10::5", []string{"crawl-v6.googlebot.com"}, "verified googlebot"},
		{"192.0.2.1", nil, "impostor"},                                         // no name at all
		{"192.0.2.2", []string{"crawl-66-249-64-1.googlebot.com"}, "impostor"}, // another's name: it leads elsewhere
		{"192.0.2.3", []string{"made-up.googlebot.com"}, "impostor"},           // it leads nowhere
		{"192.0.2.4", []string{"evilgooglebot.com"}, "impostor"},
		{"192.0.2.5", []string{"googlebot.com.evil.example"}, "impostor"},
		{"192.0.2.6", []string{"msnbot.search.msn.com"}, "impostor"}, // it is bingbot
		{"192.0.2.7", append(many[:20:20], "late.googlebot.com"), "verified googlebot"},
		{"192.0.2.8", []string{"one.googlebot.com", "two.googlebot.com", "three.googlebot.com"}, "impostor"}, // the third would lead back
		{"192.0.2.9", many[:900], "impostor"},                                                                // 54 kB, over TCP
		{"2001:db8::66", []string{"v4only.googlebot.com"}, "impostor"},
	} {
		if one.names != nil {
			s.ptr(one.addr, one.names...)
		}
		t.Run(one.addr, func(t *testing.T) {
			t.Parallel()
			c := newCrawlers(t)
			run(t, NewAsker(c, time.Now, s.dial))
			wait(t, c, one.addr)
			if got := mark(c, one.addr); got != one.want {
				t.Errorf("%s, want %s", got, one.want)
			}
		})
	}
	s.back("crawl-66-249-64-1.googlebot.com", "66.249.64.1")
	s.back("crawl-66-249-64-2.googlebot.com", "66.249.64.99", "66.249.64.2")
	s.back("crawl-v6.googlebot.com", "2001:4860:4801:10::5")
	s.back("evilgooglebot.com", "192.0.2.4")
	s.back("googlebot.com.evil.example", "192.0.2.5")
	s.back("msnbot.search.msn.com", "192.0.2.6")
	s.back("late.googlebot.com", "192.0.2.7")
	s.back("three.googlebot.com", "192.0.2.8")
	s.back("v4only.googlebot.com", "192.0.2.66")
}

// What DNS fails to say makes no impostor.
func TestFailures(t *testing.T) {
	s := newServer(t)
	for _, code := range []byte{serverFailure, refused} {
		s.set(reverse(fmt.Sprintf("192.0.2.%d", code)), reply{code: code})
		name := fmt.Sprintf("code-%d.googlebot.com", code)
		s.ptr(fmt.Sprintf("192.0.3.%d", code), name)
		s.set("A "+name, reply{code: code})
	}
	s.set(reverse("192.0.2.10"), reply{silent: true})
	// A loop of aliases has no address in it. The answer of a real resolver is SERVFAIL.
	s.ptr("192.0.2.11", "loop.googlebot.com")
	s.set("A loop.googlebot.com", reply{records: []record{
		{kind: typeCNAME, name: "pool.googlebot.com"}, {owner: "pool.googlebot.com", kind: typeCNAME, name: "loop.googlebot.com"}}})
	for addr, want := range map[string]string{
		"192.0.2.2": "unknown", "192.0.2.5": "unknown", "192.0.3.2": "unknown", "192.0.3.5": "unknown", "192.0.2.10": "unknown", "192.0.2.11": "impostor",
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			c := newCrawlers(t)
			a := NewAsker(c, time.Now, s.dial)
			if addr == "192.0.2.10" {
				a.timeout = time.Second / 2
			}
			run(t, a)
			wait(t, c, addr)
			if got := mark(c, addr); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// run runs an asker until the end of the test.
func run(t *testing.T, a *Asker) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	t.Cleanup(func() {
		end()
		<-ended
	})
}

// wait claims from an address, and waits until DNS was asked about it.
func wait(t *testing.T, c *crawlers.Crawlers, addr string) {
	t.Helper()
	if got := mark(c, addr); got != "unknown" {
		t.Fatalf("before DNS was asked: %s", got)
	}
	for c.Figures().Asked == 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// No more than ten packets a second, whoever asks.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var sent []time.Time
		done := make(chan time.Time)
		for range 5 {
			go func() {
				for range 20 {
					_ = p.wait(context.Background())
					done <- time.Now()
				}
			}()
		}
		for range 100 {
			sent = append(sent, <-done)
		}
		for i := range sent[10:] {
			if took := sent[i+10].Sub(sent[i]); took < time.Second {
				t.Fatalf("eleven packets in %v", took)
			}
		}
		ctx, end := context.WithCancel(context.Background())
		end()
		if err := p.wait(ctx); err == nil {
			t.Error("one who no longer asks waits")
		}
	})
}

// The resolver's own retries keep the pace: no name server can be reached.
func TestRetriesKeepThePace(t *testing.T) {
	// The resolver makes a channel for all with its first question, which must not be
	// one of the bubble's.
	first := NewAsker(newCrawlers(t), time.Now, func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") })
	first.about(t.Context(), netip.MustParseAddr("192.0.2.1"))
	synctest.Test(t, func(t *testing.T) {
		c := newCrawlers(t)
		var mu sync.Mutex // guards sent
		var sent []time.Time
		a := NewAsker(c, time.Now, func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, time.Now())
			return nil, errors.New("no network")
		})
		for i := range 40 {
			mark(c, fmt.Sprintf("10.0.%d.1", i))
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.Run(ctx)
		}()
		time.Sleep(time.Minute)
		end()
		<-ended
		if f := c.Figures(); f.Asked != 40 || f.Failed != 40 || len(sent) < 40 {
			t.Errorf("%+v with %d packets", f, len(sent))
		}
		for i := range sent[10:] {
			if took := sent[i+10].Sub(sent[i]); took < time.Second {
				t.Fatalf("eleven packets in %v", took)
			}
		}
	})
}

// Claimants from one network who rotate their addresses are asked about in part.
func TestQuestionsAreBounded(t *testing.T) {
	s := newServer(t)
	c := newCrawlers(t)
	for i := range 5000 {
		mark(c, fmt.Sprintf("198.51.100.%d", i%256))
	}
	run(t, NewAsker(c, time.Now, s.dial))
	for c.Figures().Asked < 16 {
		time.Sleep(5 * time.Millisecond)
	}
	asked, packets := s.questions()
	if packets != 16 || c.Figures().Unasked == 0 {
		t.Errorf("%d packets, %+v", packets, c.Figures())
	}
	for _, q := range asked {
		if !strings.HasSuffix(q, ".100.51.198.in-addr.arpa") {
			t.Errorf("asked %s", q)
		}
	}
}
