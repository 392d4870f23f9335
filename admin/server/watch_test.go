package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
	"edgeguard/admin/watch"
)

// watched asks for one message.
func (s *served) watched(t *testing.T, query string) (w watch.Watched) {
	t.Helper()
	status, body := s.ask(t, request{method: "GET", path: "/api/v1/watch?once=true&" + query, unix: true})
	if err := json.Unmarshal(body, &w); status != http.StatusOK || err != nil {
		t.Fatalf("%s: %d %s, %v", query, status, body, err)
	}
	return w
}

// One answer has the figures of each prefix in the order of the parameters.
func TestWatchedOnce(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.mustBlock(t, "203.0.113.7/32", "site", "n1")
	w := s.watched(t, "prefix=192.0.2.9&prefix=203.0.113.7")
	if len(w.Figures) != 2 || !w.Time.Equal(start) || w.Figures[1].Until.IsZero() || !w.Figures[0].Until.IsZero() || len(w.Figures[0].Slots) != 3 {
		t.Errorf("%+v", w)
	}
	if w := s.watched(t, "prefix=203.0.113.7&slots=60"); len(w.Figures[0].Slots) != 60 {
		t.Errorf("%+v", w)
	}
	if w := s.watched(t, ""); w.Figures == nil || len(w.Figures) != 0 {
		t.Errorf("no prefix: %+v", w)
	}
}

func TestBadWatch(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	for query, field := range map[string]string{
		"prefix=nobody": "prefix", "prefix=": "prefix", "prefix=203.0.113.7&prefix=10.0.0.1/8": "prefix", "prefix=203.0.113.7/33": "prefix", "prefix=fe80::1%25eth0": "prefix",
		strings.Repeat("prefix=203.0.113.7&", 101): "prefix",
		"slots=0": "slots", "slots=61": "slots", "slots=x": "slots", "once=1": "once", "kind=gap": "kind", "rule=a&rule=b": "rule", "colour=red": "colour",
	} {
		for _, once := range []string{"", "once=true&"} {
			if strings.HasPrefix(query, "once") && once != "" {
				continue
			}
			status, body := s.ask(t, request{method: "GET", path: "/api/v1/watch?" + once + query, unix: true})
			if status != http.StatusBadRequest || !strings.Contains(string(body), `"field":"`+field+`"`) {
				t.Errorf("%.60s: %d %s", query, status, body)
			}
		}
	}
	if w := s.watched(t, strings.Repeat("prefix=2001:db8:ffff:ffff:ffff:ffff:ffff:ffff&", 100)); len(w.Figures) != 100 {
		t.Errorf("a hundred: %d", len(w.Figures))
	}
}

// A stream begins with the figures, and has the events that were asked for beside
// them; a client without a login gets no note.
func TestWatchWithEvents(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.tcp+"/api/v1/watch?kind=block&prefix=203.0.113.7", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var kinds []string
	lines := bufio.NewScanner(answer.Body)
	for len(kinds) < 2 && lines.Scan() {
		kind, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			if strings.Contains(lines.Text(), "a secret note") {
				t.Error(lines.Text())
			}
			continue
		}
		if kinds = append(kinds, kind); len(kinds) == 1 { // what happens now is an event for it
			s.events.Alarm(edgeguard.Alarm{Kind: "fleet", Time: start, Text: "not asked for"})
			s.events.Block(start, edgeguard.Block{Prefix: numbered(7), Rule: edgeguard.ManualRule, Reason: "a secret note", Since: start, Until: start.Add(time.Hour)}, nil, false)
		}
	}
	if !slices.Equal(kinds, []string{"figures", "block"}) || !lines.Scan() || strings.Contains(lines.Text(), "secret") {
		t.Errorf("%v, %s", kinds, lines.Text())
	}
}

// One address that opens three hundred streams as browsers do takes neither the
// places of programs nor those of clients with a login.
func TestManyStreamsOfOneAddress(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var answered, open sync.WaitGroup
	var accepted, refused atomic.Int64
	answered.Add(300)
	browsers := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 300 {
		open.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+s.tcp+"/api/v1/watch?prefix=203.0.113.7", nil)
			r.Header.Set("Sec-Fetch-Mode", "cors")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			answer, err := browsers.Do(r)
			if err != nil {
				t.Error(err)
				answered.Done()
				return
			}
			defer answer.Body.Close()
			switch answer.StatusCode {
			case http.StatusOK:
				accepted.Add(1)
			case http.StatusServiceUnavailable:
				refused.Add(1)
			}
			answered.Done()
			_, _ = bufio.NewReader(answer.Body).WriteTo(discard{})
		})
	}
	answered.Wait()
	if accepted.Load() != watch.MostStreams/2 || refused.Load() != 300-watch.MostStreams/2 {
		t.Errorf("%d streams are open, %d were refused", accepted.Load(), refused.Load())
	}
	s.block(1)
	if events, errs := take(t, ctx, s, 1, "an-earlier-run"); len(events)+len(errs) != 1 || len(errs) == 1 && errs[0] != errGap {
		t.Errorf("a program over the unix socket: %v, %v", events, errs)
	}
	cancel()
	open.Wait()
	s.listening(t, 0)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// That other records than before await confirmation is an event.
func TestHeldIsAnEvent(t *testing.T) {
	n := newNode()
	n.events.Held(start, 3)
	n.events.Held(start, 0)
	recent := admin.NewView(n, n.events).Recent(t.Context(), 10, []string{admin.EventHeld})
	if len(recent) != 2 || recent[0].Text != "no record of the fleet awaits confirmation any more" || recent[1].Text != "records of the fleet that await confirmation: 3" {
		t.Errorf("%+v", recent)
	}
}
