package server_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
	"edgeguard/blocklist"
	"edgeguard/eventlog"
)

// What happened is found by time, network, rule and kind, page by page in both directions, and
// each once. Without a login there are no changes, and nothing that an operator wrote.
func TestPast(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	block := func(prefix, rule, reason string) edgeguard.Block {
		return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: rule, Reason: reason, Origin: "n1", Since: start, Until: start.Add(time.Minute), Count: 6, Limit: 5}
	}
	login, manual := block("203.0.113.9/32", "login", "over limit"), block("198.51.100.7/32", edgeguard.ManualRule, "the customer's name")
	s.events.Block(start, login, nil, false)
	s.events.Block(start.Add(time.Second), manual, nil, false)
	s.events.Crossing(start.Add(2*time.Second), &edgeguard.Crossing{Rule: "site", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.8/32")}, Action: edgeguard.ActionDeny, Count: 6, Limit: 5})
	s.events.End(start.Add(time.Minute), login, &blocklist.Ended{Block: login, Refused: 7, Became: blocklist.Became{Asked: 5}, Why: blocklist.EndedInTime})
	s.events.LeftOut(start.Add(time.Minute), 12)
	s.write(t, "POST", "/api/v1/reload", "")
	for query, want := range map[string]string{
		"":                          "change left_out end crossing block block",
		"dir=asc":                   "block block crossing end left_out change",
		"rule=login":                "end block",
		"prefix=203.0.113.0/24":     "end crossing block",
		"prefix=203.0.113.8":        "crossing",
		"kind=end,crossing&dir=asc": "crossing end",
		"since=2026-03-01T12:00:01Z&until=2026-03-01T12:00:03Z": "crossing block",
		"prefix=192.0.2.1": "",
	} {
		for _, limit := range []int{1, 2, 100} {
			var kinds []string
			for cursor := ""; ; {
				page := decode[admin.PastPage](t, s, fmt.Sprintf("/api/v1/history?limit=%d&%s%s", limit, query, cursor))
				for _, e := range page.Events {
					kinds = append(kinds, e.Kind)
				}
				if page.Newest != "6" || len(page.Events) > limit {
					t.Errorf("%s: %+v", query, page)
				}
				if page.Next == "" {
					break
				}
				cursor = "&cursor=" + page.Next
			}
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("%s by %d: %s, want %s", query, limit, got, want)
			}
		}
	}
	end := decode[admin.PastPage](t, s, "/api/v1/history?kind=end").Events[0]
	if *end.Ended != (admin.Ended{Why: "time", Refused: 7, Asked: 5}) || end.Block.Rule != "login" || end.Block.Count != 6 {
		t.Errorf("%+v", end)
	}
	for _, query := range []string{"", "?kind=change,block"} {
		if status, body := s.ask(t, request{method: "GET", path: "/api/v1/history" + query}); status != 200 || strings.Contains(string(body), `"change"`) || strings.Contains(string(body), "customer") {
			t.Errorf("without a login: %d %s", status, body)
		}
	}
	for _, query := range []string{"since=noon", "until=1h", "prefix=here", "kind=visit", "dir=up", "cursor=x", "limit=1001", "who=me"} {
		if status, _ := s.ask(t, request{method: "GET", path: "/api/v1/history?" + query}); status != 400 {
			t.Errorf("%s: %d", query, status)
		}
	}
	day := decode[admin.RateDay](t, s, "/api/v1/rates/day?since="+start.Format(time.RFC3339))
	if len(day.Minutes) != 1 || day.Minutes[0].Requests != 9 || day.Minutes[0].Rules["site"].Denied != 2 {
		t.Errorf("%+v", day)
	}
}

// A page of changes with long lists is bounded in bytes, and none is left out of the next ones.
func TestPastOfLongLists(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	list := make([]netip.Prefix, 5000)
	for i := range list {
		list[i] = netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x:4444:5555:6666:7777:8888/128", i))
	}
	for range 80 { // the newest of them wait in memory
		s.events.Change(admin.Audit{Time: start, Who: "uid 0", Action: "import", Result: "ok", Prefixes: list})
	}
	changes, pages := 0, 0
	for cursor := ""; ; {
		pages++
		page := decode[admin.PastPage](t, s, "/api/v1/history?limit=1000"+cursor)
		text, err := json.Marshal(page)
		if err != nil || len(text) > 640<<10 {
			t.Errorf("a page of %d bytes: %v", len(text), err)
		}
		if changes += len(page.Events); page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if changes < 20 || pages < 2 {
		t.Errorf("%d changes on %d pages", changes, pages)
	}
}

// An import of a hundred thousand moves out no other change, and is read whole.
func TestPastOfManyImports(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.write(t, "POST", "/api/v1/reload", "")
	list := make([]netip.Prefix, 100_000)
	for i := range list {
		list[i] = netip.MustParsePrefix(fmt.Sprintf("2001:db8:0:%x::%x/128", i>>16, i&0xffff))
	}
	for part := range slices.Chunk(list, len(list)/20) {
		s.events.Change(admin.Audit{Time: start, Who: "uid 0", Action: "confirm", Target: "2001:db8::/32", Result: "ok", Prefixes: part})
	}
	if all := decode[admin.AuditPage](t, s, "/api/v1/audit?cursor=2").Audit; len(all) != 1 || all[0].Action != "reload" {
		t.Errorf("%+v", all)
	}
	newest := decode[admin.PastPage](t, s, "/api/v1/history?kind=change,listed&limit=5").Events // a change is in parts
	slices.Reverse(newest)
	var got []netip.Prefix
	for _, e := range newest {
		got = append(got, e.Change.Prefixes...)
	}
	if !slices.Equal(got, list[95_000:]) {
		t.Errorf("%d prefixes", len(got))
	}
}

// A list that is longer than what may wait for the disk is kept whole.
func TestPastOfALongList(t *testing.T) {
	log := eventlog.New(eventlog.Config{Folder: filepath.Join(t.TempDir(), "events"), Bytes: 64 << 20, Keep: time.Hour})
	if err := log.Open(); err != nil {
		t.Fatal(err)
	}
	list := make([]netip.Prefix, 200_000)
	for i := range list {
		list[i] = netip.MustParsePrefix(fmt.Sprintf("2001:db8:0:%x::%x/128", i>>16, i&0xffff))
	}
	admin.NewEvents("n1", log, unit).Change(admin.Audit{Time: start, Who: "uid 0", Action: "unblock rule", Target: "site", Result: "ok", Prefixes: list})
	var got []netip.Prefix
	for e := range log.Find(t.Context(), eventlog.Query{}) {
		got = append(got, e.Prefixes...)
	}
	if !slices.Equal(got, list) {
		t.Errorf("%d of %d prefixes", len(got), len(list))
	}
}
