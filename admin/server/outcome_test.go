package server_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// What a threshold would do is what counting the keys above its limit gives, the
// keys that are blocked already apart.
func TestOutcome(t *testing.T) {
	n := newNode()
	for i := range uint32(10) { // the keys that count 1000, 999 … 991
		n.mustBlock(t, numbered(i).String(), "site", "n1")
	}
	s := serve(t, n, server.Config{})
	for _, threshold := range []int{1, 10, 500, 1000, 1040, 1100} {
		limit := (threshold*95 + 99) / 100
		keys, requests := 0, 0
		for count := limit + 1; count <= 1000; count++ {
			keys, requests = keys+1, requests+count-limit
		}
		got := decode[admin.Outcome](t, s, fmt.Sprintf("/api/v1/rules/site/outcome?threshold=%d", threshold))
		fresh := -1
		if got.NewKeys != nil {
			fresh = *got.NewKeys
		}
		want := admin.Outcome{
			Threshold: uint32(threshold), Limit: uint32(limit), Keys: uint64(keys), KeyShare: float64(keys) / 1000, Requests: uint64(requests),
			RequestShare: float64(requests) / 500_500, NewKeys: got.NewKeys, Exact: true, AsOf: start,
		}
		if got != want || fresh != max(keys-10, 0) {
			t.Errorf("threshold %d: got %+v with %d new keys, want %+v with %d", threshold, got, fresh, want, max(keys-10, 0))
		}
	}
}

func TestOutcomeIsRefused(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	for path, want := range map[string]int{
		"site/outcome": 400, "site/outcome?threshold=0": 400, "site/outcome?threshold=-1": 400, "site/outcome?threshold=65535": 400,
		"site/outcome?threshold=1&x=1": 400, "none/outcome?threshold=1": 404, "site/outcome?threshold=65534": 200,
	} {
		status, body := s.ask(t, request{method: "GET", path: "/api/v1/rules/" + path, unix: true})
		if status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if want == http.StatusBadRequest && !strings.Contains(string(body), `"fix":"`) {
			t.Errorf("%s: no fix: %s", path, body)
		}
	}
}

// All who look at a rule share one look at its keys, whatever they ask of it.
func TestViewersShareALook(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	var viewers sync.WaitGroup
	for i := range 20 {
		viewers.Go(func() {
			path := fmt.Sprintf("/api/v1/rules/site?limit=%d", i+1)
			if i%2 == 0 {
				path = fmt.Sprintf("/api/v1/rules/site/outcome?threshold=%d", i+1)
			}
			if status, body := s.ask(t, request{method: "GET", path: path, unix: true}); status != http.StatusOK {
				t.Errorf("%s: %d %s", path, status, body)
			}
		})
	}
	viewers.Wait()
	if looks := n.looks.Load(); looks != 1 {
		t.Errorf("%d looks at all keys for 20 viewers", looks)
	}
}

// The history says of each window what counting its keys gives, and leaves out the one
// that nobody looked at.
func TestHistory(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	for threshold, over := range map[int]uint64{1: 999, 20: 981, 67: 936, 0: 0} { // the keys count 1 to 1000
		path := "/api/v1/rules/site/history?hours=1"
		if threshold > 0 {
			path += fmt.Sprintf("&threshold=%d", threshold)
		}
		got := decode[admin.RuleHistory](t, s, path)
		if got.Rule != "site" || got.Step != 300 || got.Threshold != 2000 || got.Limit != 1900 || got.Tried != uint32(threshold) || got.TriedLimit != uint32(95*threshold+99)/100 || len(got.Windows) != 11 {
			t.Fatalf("%s: %+v", path, got)
		}
		for i, w := range got.Windows {
			if i == 8 && w.From.Sub(got.Windows[i-1].From).Minutes() != 10 {
				t.Errorf("the gap is not there: %v", w.From)
			}
			if w.Keys != 1000 || w.Requests != 500_500 || w.Live != (admin.WindowOutcome{}) || (w.Tried == nil) != (threshold == 0) {
				t.Fatalf("%s: %+v", path, w)
			}
			share := float64(over*(over+1)/2) / 500_500
			if threshold > 0 && (w.Tried.Keys != over || math.Abs(w.Tried.RequestShare-share) > 1e-9) {
				t.Errorf("%s: %+v, want %d and %v", path, *w.Tried, over, share)
			}
		}
	}
	for path, want := range map[string]int{
		"site/history?hours=0": 400, "site/history?hours=25": 400, "site/history?hours=x": 400, "site/history?threshold=0": 400, "site/history?threshold=65535": 400,
		"site/history?limit=1": 400, "site/history?hours=": 400, "none/history": 404, "none/history?threshold=3&hours=2": 404,
	} {
		if status, body := s.ask(t, request{method: "GET", path: "/api/v1/rules/" + path, unix: true}); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
