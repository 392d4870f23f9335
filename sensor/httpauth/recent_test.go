package httpauth

import (
	"fmt"
	"testing"
	"time"

	"edgeguard"
)

func TestRepeatedIDIsCountedOnce(t *testing.T) {
	d := &desk{limit: 2}
	l := listenTCP(t)
	s := start(t, d.config(), l)
	c := client(t, l)
	send := func(id, addr, uri string) int {
		r, _ := ask(t, c, "GET", "/auth/nginx", [2]string{"X-Real-IP", addr}, [2]string{"X-Original-URI", uri}, [2]string{"X-Request-Id", id})
		return r.StatusCode
	}
	for i, step := range []struct {
		id, addr, uri string
		status, asked int
	}{
		{"a", "203.0.113.9", "/", 200, 1},
		{"a", "203.0.113.9", "/", 200, 1}, // the index
		{"a", "203.0.113.9", "/x", 200, 2},
		{"a", "203.0.113.8", "/", 200, 3}, // an id is worth one address
		{"b", "203.0.113.9", "/", 403, 4},
		{"b", "203.0.113.9", "/", 403, 4}, // a refusal is remembered too
		{"", "203.0.113.9", "/", 403, 5},
		{"", "203.0.113.9", "/", 403, 6}, // no id, no memory
	} {
		if status := send(step.id, step.addr, step.uri); status != step.status || d.asked() != step.asked {
			t.Errorf("step %d: %d after %d questions, want %d after %d", i, status, d.asked(), step.status, step.asked)
		}
	}
	if n := s.Stats().Repeated; n != 2 {
		t.Errorf("%d repeated", n)
	}
}

// TestOnlyNginxHasIDs: Caddy, Traefik and Envoy pass on what the client sends.
func TestOnlyNginxHasIDs(t *testing.T) {
	d := &desk{}
	l := listenTCP(t)
	start(t, d.config(), l)
	c := client(t, l)
	for range 2 {
		for _, path := range []string{"/auth/forward", "/auth/envoy/"} {
			ask(t, c, "GET", path, [2]string{"X-Forwarded-For", "203.0.113.9"}, [2]string{"X-Request-Id", "a"})
		}
	}
	if d.asked() != 4 {
		t.Errorf("%d asked", d.asked())
	}
}

func TestRecentForgets(t *testing.T) {
	r, event := newRecent(), &edgeguard.Event{Addr: addr("203.0.113.9"), Path: "/"}
	key := r.key("a", event)
	r.add(tokyo, key, edgeguard.Verdict{})
	for _, step := range []struct {
		after time.Duration
		found bool
	}{{0, true}, {recentFor, true}, {recentFor + 1, false}, {-1, false}} {
		if _, found := r.find(tokyo.Add(step.after), key); found != step.found {
			t.Errorf("after %v: found %v", step.after, found)
		}
	}
	r.add(tokyo, key, edgeguard.Verdict{})
	for i := range maxRepeats + 1 {
		if _, found := r.find(tokyo, key); found != (i < maxRepeats) {
			t.Errorf("repetition %d: found %v", i, found)
		}
	}
}

// TestRecentIsBounded: more requests than slots cost nothing but memory of the
// oldest, and never somebody else's verdict.
func TestRecentIsBounded(t *testing.T) {
	r, event, kept := newRecent(), &edgeguard.Event{Addr: addr("203.0.113.9")}, 0
	name := func(i int) string { return fmt.Sprint("rule", i) }
	for i := range 3 * recentSlots {
		r.add(tokyo, r.key(fmt.Sprint(i), event), edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: name(i)})
	}
	for i := range 3 * recentSlots {
		if v, found := r.find(tokyo, r.key(fmt.Sprint(i), event)); found {
			kept++
			if v.Rule != name(i) {
				t.Fatalf("id %d got the verdict of %s", i, v.Rule)
			}
		}
	}
	if kept == 0 || kept > recentSlots {
		t.Errorf("%d kept", kept)
	}
}
