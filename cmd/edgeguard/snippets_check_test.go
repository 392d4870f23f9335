package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/admin"
)

// checkedSite is a node, with a proxy that learns of a block or of its end after a while.
type checkedSite struct {
	monitor, standing bool
	allowed           bool
	learns            time.Duration
	deaf, all, down   bool   // it learns of nothing; refuses all; does not answer
	before            answer // of who is not blocked
	refusal           answer
	retries           bool // the refusal says when to come again
	since, until      time.Time
	calls             []string
	asked             func(context.Context)
	limit             int // how often an address may ask
	asks              map[netip.Addr]int
}

func (s *checkedSite) Status(context.Context) (admin.Stats, error) {
	return admin.Stats{Monitor: s.monitor}, nil
}

func (s *checkedSite) Explain(context.Context, netip.Addr) (x admin.Explanation, err error) {
	if s.standing {
		x.Block = new(admin.ActiveBlock)
	}
	if s.allowed {
		x.Standing, x.Because = "allowed", "allowlist"
	}
	return x, nil
}

func (s *checkedSite) Block(_ context.Context, r admin.BlockRequest) (b admin.Block, err error) {
	s.calls = append(s.calls, "block "+r.Prefix)
	s.since, s.until = time.Now(), time.Now().Add(5*time.Minute)
	return b, nil
}

func (s *checkedSite) Extend(_ context.Context, prefix string, r admin.ExtendRequest) (b admin.Block, err error) {
	s.calls = append(s.calls, "end in "+r.For)
	d, err := time.ParseDuration(r.For)
	s.until = time.Now().Add(d)
	return b, err
}

func (s *checkedSite) Unblock(ctx context.Context, prefix, _ string) (b admin.Block, err error) {
	if ctx.Err() != nil {
		return b, ctx.Err()
	}
	if !s.until.After(time.Now()) {
		return b, errors.New("there is no block")
	}
	s.calls = append(s.calls, "lift "+prefix)
	s.until = time.Now()
	return b, nil
}

func (s *checkedSite) ask(ctx context.Context, from netip.Addr) answer {
	if s.asked != nil {
		s.asked(ctx)
	}
	if s.asks == nil {
		s.asks = map[netip.Addr]int{}
	}
	s.asks[from]++
	now := time.Now().Add(-s.learns)
	switch blocked := !now.Before(s.since) && now.Before(s.until) && !s.deaf; {
	case s.down:
		return answer{err: errors.New("refused")}
	case s.limit > 0 && s.asks[from] > s.limit:
		return answer{status: 429}
	case blocked && (from == checkedAddr || s.all):
		refusal := s.refusal
		if s.retries {
			refusal.retry = fmt.Sprint(int(time.Until(s.until).Seconds()))
		}
		return refusal
	}
	return s.before
}

// What a check says, and that it always lifts its block.
func TestSnippetsCheck(t *testing.T) {
	passes, tooMany := answer{status: 200}, answer{status: 429}
	for name, c := range map[string]struct {
		site  checkedSite
		drops bool
		says  string // the error, or empty
		calls string
		out   []string
	}{
		"a proxy that asks": {site: checkedSite{before: passes, refusal: tooMany, retries: true},
			calls: "block 127.0.0.2, end in 3s",
			out: []string{
				"127.0.0.2 asks the site, and has: 200 OK",
				"127.0.0.2 is blocked, and 0s later has: 429 Too Many Requests, Retry-After: 300",
				"127.0.0.1 is not, and has: 200 OK",
				"127.0.0.2 is blocked for 3s more, and has: 429 Too Many Requests, Retry-After: 3",
				"127.0.0.2 comes again after 3 s, and 0s later has: 200 OK",
				"x refuses who is blocked, and nobody else.",
			}},
		"a list": {site: checkedSite{before: answer{status: 404}, refusal: answer{status: 403}, learns: 10 * time.Second},
			calls: "block 127.0.0.2, lift 127.0.0.2",
			out:   []string{"10s later has: 403 Forbidden", "127.0.0.2 is lifted, and 10s later has: 404 Not Found"}},
		"a packet filter": {site: checkedSite{before: passes, refusal: answer{err: errors.New("time out")}}, drops: true,
			calls: "block 127.0.0.2, lift 127.0.0.2", out: []string{"0s later has: no answer (time out)"}},
		"a site that is down":        {site: checkedSite{down: true}, says: "the site has no answer (refused): name it with --url"},
		"mode monitor":               {site: checkedSite{monitor: true}, says: "in mode: monitor nothing is refused"},
		"a block of somebody else":   {site: checkedSite{standing: true}, says: "127.0.0.2 is blocked already"},
		"an address that is allowed": {site: checkedSite{allowed: true}, says: "127.0.0.2 is never refused here, by the allowlist"},
		"a proxy that does not know": {site: checkedSite{before: passes, deaf: true}, calls: "block 127.0.0.2, lift 127.0.0.2",
			says: "127.0.0.2 is blocked, and 30s later still has 200 OK: x does not refuse it"},
		"a filter where a status is": {site: checkedSite{before: passes, refusal: tooMany}, drops: true, calls: "block 127.0.0.2, lift 127.0.0.2",
			says: "still has 429 Too Many Requests"},
		"everybody": {site: checkedSite{before: passes, refusal: tooMany, all: true}, calls: "block 127.0.0.2, lift 127.0.0.2",
			says: "127.0.0.1, which is not blocked, is refused too: 429 Too Many Requests"},
		"a time that is every block's": {site: checkedSite{before: passes, refusal: answer{status: 429, retry: "60"}}, calls: "block 127.0.0.2, end in 3s, lift 127.0.0.2",
			out: []string{"0s later has: 429 Too Many Requests, Retry-After: 60", "127.0.0.2 is lifted or over, and 0s later has: 200 OK"}},
		"the site refuses anyway": {site: checkedSite{before: tooMany, refusal: tooMany}, says: "the site has 429 Too Many Requests for who is not blocked"},
		"a limit of the site's own": {site: checkedSite{before: passes, deaf: true, limit: 5}, calls: "block 127.0.0.2, lift 127.0.0.2",
			says: "127.0.0.1, which is not blocked, is refused too: 429 Too Many Requests: by a limit of the site itself?"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				check := refusalCheck{out: &out, name: "x", drops: c.drops, node: &c.site, ask: c.site.ask}
				err := check.run(t.Context())
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %s", err, c.says)
				}
				if got := strings.Join(c.site.calls, ", "); got != c.calls {
					t.Errorf("%s, want %s", got, c.calls)
				}
				for _, line := range c.out {
					if !strings.Contains(out.String(), line+"\n") {
						t.Errorf("%s\nwithout %s", out.String(), line)
					}
				}
			})
		})
	}
}

// A check that is interrupted lifts its block.
func TestSnippetsCheckInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := checkedSite{before: answer{status: 200}, deaf: true}
		s.asked = func(context.Context) {
			if len(s.calls) > 0 {
				cancel()
			}
		}
		var out strings.Builder
		if err := (&refusalCheck{out: &out, name: "x", node: &s, ask: s.ask}).run(ctx); err == nil {
			t.Error("it is fine")
		}
		if got := strings.Join(s.calls, ", "); got != "block 127.0.0.2, lift 127.0.0.2" {
			t.Error(got)
		}
	})
}

// A real nginx, which asks a real node.
func TestSnippetsCheckNginx(t *testing.T) {
	s := newSite(t, 100)
	s.start()
	said, err := edgeguardCommand("snippets", "nginx", "--check", "--config", s.dir+"/config.yaml", "--url", "http://"+s.front+"/page").CombinedOutput()
	for _, want := range []string{"127.0.0.2 is blocked, and ", "has: 429 Too Many Requests, Retry-After: ", "127.0.0.1 is not, and has: 200 OK", "nginx refuses who is blocked, and nobody else."} {
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%v, without %q: %s", err, want, said)
		}
	}
	if blocks, err := edgeguardCommand("blocks", "--config", s.dir+"/config.yaml").Output(); err != nil || strings.Contains(string(blocks), "127.0.0.2") {
		t.Errorf("%v: %s", err, blocks)
	}
	s.want("", 1, http.StatusOK)
}
