package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
	"edgeguard/admin/watch"
)

// patience bounds what is waited for, not what is measured.
const patience = 60 * time.Second

// block publishes the i-th block of a test.
func (n *node) block(i int) {
	n.events.Block(start, edgeguard.Block{Prefix: numbered(uint32(i)), Rule: "site", Origin: "n1", Since: start, Until: start.Add(time.Hour)}, nil, false)
}

// listening waits until so many streams are open.
func (s *served) listening(t testing.TB, want int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		_, body := s.ask(t, request{method: "GET", path: "/metrics", unix: true})
		if strings.Contains(string(body), fmt.Sprintf("\nedgeguard_event_streams %d\n", want)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never %d streams", want)
		}
	}
}

// errGap is yielded where events were lost.
var errGap = errors.New("events were lost")

// stream yields the events of GET /api/v1/events until ctx is done or the node
// ends it.
func (s *served) stream(ctx context.Context, after string, kinds ...string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.unix)
		}}
		query := url.Values{"after": {after}, "kind": {strings.Join(kinds, ",")}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/events?"+query.Encode(), nil)
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		answer, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			var p call.Problem
			_ = json.NewDecoder(answer.Body).Decode(&p)
			yield(admin.Event{}, &p)
			return
		}
		name, lines := "", bufio.NewScanner(answer.Body)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case field == "event":
				name = value
			case field == "data" && !yield(parseEvent(name, value)):
				return
			}
		}
		if err := lines.Err(); err != nil && ctx.Err() == nil {
			yield(admin.Event{}, err)
		}
	}
}

func parseEvent(name, data string) (e admin.Event, err error) {
	if name == admin.EventGap {
		return e, errGap
	}
	return e, json.Unmarshal([]byte(data), &e)
}

// take reads n events and leaves.
func take(t testing.TB, ctx context.Context, s *served, n int, after string, kinds ...string) (events []admin.Event, errs []error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for e, err := range s.stream(ctx, after, kinds...) {
		if err != nil {
			errs = append(errs, err)
		} else {
			events = append(events, e)
		}
		if len(events)+len(errs) == n {
			break
		}
	}
	return events, errs
}

func TestEventsAsTheyHappen(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	type result struct {
		events []admin.Event
		errs   []error
	}
	all, alarms := make(chan result, 1), make(chan result, 1)
	go func() {
		e, errs := take(t, t.Context(), s, 4, "")
		all <- result{e, errs}
	}()
	go func() {
		e, errs := take(t, t.Context(), s, 1, "", admin.EventAlarm)
		alarms <- result{e, errs}
	}()
	s.listening(t, 2)
	s.mustBlock(t, "203.0.113.1/32", "site", "n1")
	s.list.Lift(netip.MustParsePrefix("203.0.113.1/32"), start, "by hand", "n1")
	s.events.State(start, "reloaded", "the config was read")
	s.events.Alarm(edgeguard.Alarm{Time: start, Kind: "clock", Text: "the clock stepped"})

	got := <-all
	var kinds []string
	for _, e := range got.events {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []string{"block", "unblock", "state", "alarm"}) || got.errs != nil {
		t.Errorf("got %v, %v", kinds, got.errs)
	}
	if u := got.events[1]; u.Block == nil || u.Block.Reason != "by hand" {
		t.Errorf("unblock: %+v", u)
	}
	if a := <-alarms; len(a.events) != 1 || a.events[0].Name != "clock" {
		t.Errorf("alarms only: %+v", a)
	}
	s.listening(t, 0)
}

func TestStreamGoesOnFromAnID(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	const all = 250 // of more than one page
	for i := range all {
		s.block(i)
		s.events.State(start, "reloaded", "")
	}
	events, errs := take(t, t.Context(), s, all-3, "6", admin.EventBlock)
	if len(events) != all-3 || errs != nil {
		t.Fatalf("%d events, %v", len(events), errs)
	}
	for i, event := range events {
		if event.Block.Prefix != numbered(uint32(3+i)) || event.ID != strconv.Itoa(2*(3+i)+1) {
			t.Errorf("event %d is %s, of %v", i, event.ID, event.Block.Prefix)
		}
	}
	for _, id := range []string{"other-3", "nonsense", "-1", "501", "99999999999999999999"} {
		if _, errs := take(t, t.Context(), s, 1, id); len(errs) != 1 || !errors.Is(errs[0], errGap) {
			t.Errorf("%q: %v, want a gap", id, errs)
		}
	}
	if events, _ := take(t, t.Context(), s, 1, "0"); len(events) != 1 || events[0].ID != "1" {
		t.Errorf("of all that is kept: %+v", events)
	}
	for i := range 5000 {
		s.block(i)
	}
	if _, errs := take(t, t.Context(), s, 1, "6"); len(errs) != 1 || !errors.Is(errs[0], errGap) {
		t.Errorf("an ID that is forgotten: %v, want a gap", errs)
	}
	if events, errs := take(t, t.Context(), s, 2, "0"); len(errs) != 1 || !errors.Is(errs[0], errGap) || len(events) != 1 {
		t.Errorf("of all that is kept: %+v, %v, want a gap and the oldest", events, errs)
	}
}

// The blocks of an import are sent, and kept in its change alone: a stream that missed them
// has to list the blocks. One of other kinds missed nothing.
func TestStreamThatMissedAnImport(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.block(1)
	type result struct {
		events []admin.Event
		errs   []error
	}
	live := make(chan result, 1)
	go func() {
		e, errs := take(t, t.Context(), s, 2, "")
		live <- result{e, errs}
	}()
	s.listening(t, 1)
	imported := edgeguard.Block{Prefix: numbered(2), Rule: edgeguard.ManualRule, Origin: "n1", Since: start, Until: start.Add(time.Hour)}
	s.events.Block(start, imported, nil, true)
	s.events.Change(admin.Audit{Time: start, Who: "uid 0", Action: "import", Result: "ok", Prefixes: []netip.Prefix{imported.Prefix}})
	got := <-live
	if got.errs != nil || got.events[0].Kind != admin.EventBlock || got.events[0].ID != "1" || got.events[1].ID != "2" || !slices.Equal(got.events[1].Change.Prefixes, []netip.Prefix{imported.Prefix}) {
		t.Errorf("as it happens: %+v", got)
	}
	for kinds, gap := range map[string]bool{"": true, "block,unblock": true, "change": false} {
		events, errs := take(t, t.Context(), s, 1, "1", kinds)
		if gap != (len(errs) == 1 && errors.Is(errs[0], errGap)) || !gap && len(events) != 1 {
			t.Errorf("%q: %+v, %v", kinds, events, errs)
		}
	}
	imported.Allow = true
	s.events.Block(start, imported, nil, true)
	s.events.Change(admin.Audit{Time: start, Who: "uid 0", Action: "import allowances", Result: "ok", Prefixes: []netip.Prefix{imported.Prefix}})
	s.events.Change(admin.Audit{Time: start, Who: "uid 0", Action: "reload", Result: "ok"})
	for kinds, gap := range map[string]bool{"": true, "allow,disallow": true, "change": false} {
		if _, errs := take(t, t.Context(), s, 1, "2", kinds); gap != (len(errs) == 1 && errors.Is(errs[0], errGap)) {
			t.Errorf("of allowances, %q: %v", kinds, errs)
		}
	}
}

// A client that does not read is dropped, holds nobody up, and can come back
// from where it was.
func TestSlowStreamIsDropped(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	conn, err := net.Dial("unix", s.unix)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
	s.listening(t, 1)
	dropped := false
	for end := time.Now().Add(patience); !dropped && time.Now().Before(end); {
		for i := range 1000 {
			s.block(i)
		}
		_, body := s.ask(t, request{method: "GET", path: "/metrics", unix: true})
		dropped = strings.Contains(string(body), "\nedgeguard_event_streams_dropped_total 1\n")
	}
	if !dropped {
		t.Fatal("a client that does not read was never dropped")
	}
	s.listening(t, 0)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	last, lines := "", bufio.NewScanner(conn)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if lines.Text() == "0" { // the last chunk: the stream was ended in order
			break
		}
	}
	if lines.Err() != nil || last == "" {
		t.Fatalf("the stream did not end: %v, last ID %q", lines.Err(), last)
	}
	if events, errs := take(t, t.Context(), s, 1, last); len(events)+len(errs) != 1 {
		t.Errorf("coming back: %v, %v", events, errs)
	}
}

func TestTooManyStreams(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var open sync.WaitGroup
	for range watch.MostStreams {
		open.Go(func() {
			for range s.stream(ctx, "") {
			}
		})
	}
	s.listening(t, watch.MostStreams)
	_, errs := take(t, t.Context(), s, 1, "")
	if len(errs) != 1 || asProblem(t, errs[0]).Status != http.StatusServiceUnavailable {
		t.Errorf("one more stream: %v", errs)
	}
	cancel()
	open.Wait()
	s.listening(t, 0)
}

// The end of the node ends its streams at once.
func TestStopEndsStreams(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range s.stream(t.Context(), "") {
			last = err
		}
		ended <- last
	}()
	s.listening(t, 1)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the client saw %v, want an orderly end", err)
	}
}

// Publishing from many goroutines while streams come and go is safe, and what
// one stream gets is in order and without a hole.
func TestStreamsInParallel(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			seen := 0
			for e, err := range s.stream(t.Context(), "") {
				if err != nil {
					t.Error(err)
					return
				}
				n, err := strconv.Atoi(e.ID)
				if err != nil || seen != 0 && n != seen+1 {
					t.Errorf("%d after %d, %v", n, seen, err)
				}
				if seen = n; seen >= 150 {
					return
				}
			}
		})
	}
	s.listening(t, 4)
	for w := range 3 {
		writers.Go(func() {
			for i := range 50 {
				s.block(100*w + i)
			}
		})
	}
	writers.Wait()
	readers.Wait()
}
