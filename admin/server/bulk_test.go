package server_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
)

// results returns what became of each entry.
func results(done admin.BulkDone) string {
	var all []string
	for _, r := range done.Results {
		all = append(all, r.Prefix+" "+r.Result)
	}
	return strings.Join(all, "\n")
}

// Each block of an import has its result, and one that is refused keeps no other out.
func TestImport(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	n.mustBlock(t, "203.0.113.9/32", "site", "n1")
	request := admin.BulkRequest{DryRun: true, Blocks: []admin.BulkEntry{
		{Prefix: "203.0.113.1", For: "2h", Reason: "note"}, {Prefix: "127.0.0.1"}, {Prefix: "192.0.2.7"}, {Prefix: "0.0.0.0/1"},
		{Prefix: "x"}, {Prefix: "203.0.113.2", For: "never"}, {Prefix: "203.0.113.2", Owner: "a b"}, {Prefix: "203.0.113.2", Reason: "a\nb"},
		{Prefix: "203.0.113.2", Until: start}, {Prefix: busy[0].String()}, {Prefix: busy[1].String()},
		{Prefix: "203.0.113.3", Owner: "fail2ban", For: "1h"}, {Prefix: "203.0.113.9", For: "1s"},
	}}
	want := "203.0.113.1 added\n127.0.0.1 refused\n192.0.2.7 refused\n0.0.0.0/1 refused\nx refused\n203.0.113.2 refused\n203.0.113.2 refused\n203.0.113.2 refused\n" +
		"203.0.113.2 refused\n198.51.100.1/32 added\n198.51.100.2/32 refused\n203.0.113.3 added\n203.0.113.9 stays"
	for _, try := range []bool{true, false} {
		request.DryRun = try
		before := n.list.Stats()
		done, err := c.Import(t.Context(), request)
		if err != nil || results(done) != want || done.Added != 3 || done.Stays != 1 || done.Refused != 9 || done.Spent != 0.15 {
			t.Fatalf("dry run %v: %+v, %v\n%s", try, done, err, results(done))
		}
		if detail := done.Results[10].Detail; detail != "198.51.100.2/32 with the blocks imported before it would refuse 30 % of the last 5 minutes' requests here, more than the limit of 20 %" {
			t.Error(detail)
		}
		if a := s.lastAudit(); a.Action != "import" || a.Result != "ok" || !strings.HasPrefix(a.Detail, "3 added, 1 stay, 9 refused") || strings.HasSuffix(a.Detail, "dry run") != try {
			t.Errorf("audit: %+v", a)
		}
		if after := n.list.Stats(); try && fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("a dry run changed the list: %+v, before %+v", after, before)
		}
	}
	b := n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.1/32"))
	if b == nil || b.Rule != edgeguard.ManualRule || b.Reason != "note" || !b.Until.Equal(start.Add(2*time.Hour)) {
		t.Errorf("%+v", b)
	}
	if b := n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.3/32")); b == nil || edgeguard.Owner(b.Rule) != "fail2ban" {
		t.Errorf("%+v", b)
	}
}

// The same import again changes nothing. What ends sooner stays behind what ends later,
// and an owner's behind an operator's.
func TestImportAgain(t *testing.T) {
	n := newNode()
	c := serve(t, n, server.Config{}).overUnix(t)
	at := start.Add(time.Hour)
	first := []admin.BulkEntry{{Prefix: "203.0.113.1", Until: at, Reason: "a"}, {Prefix: "203.0.113.2", Until: at, Owner: "x"}}
	for i, want := range []string{"203.0.113.1 added\n203.0.113.2 added", "203.0.113.1 stays\n203.0.113.2 stays"} {
		if done, err := c.Import(t.Context(), admin.BulkRequest{Blocks: first}); err != nil || results(done) != want {
			t.Errorf("%d: %v\n%s", i, err, results(done))
		}
	}
	for _, one := range []struct {
		admin.BulkEntry
		want string
	}{
		{admin.BulkEntry{Prefix: "203.0.113.1", Until: at.Add(-time.Minute)}, admin.BulkStays},
		{admin.BulkEntry{Prefix: "203.0.113.1", Until: at.Add(time.Minute), Owner: "x"}, admin.BulkStays},
		{admin.BulkEntry{Prefix: "203.0.113.1", Until: at, Reason: "b"}, admin.BulkAdded},
		{admin.BulkEntry{Prefix: "203.0.113.2", Until: at.Add(time.Minute), Owner: "x"}, admin.BulkAdded},
		{admin.BulkEntry{Prefix: "203.0.113.2", Until: at.Add(time.Hour)}, admin.BulkAdded},
	} {
		if done, err := c.Import(t.Context(), admin.BulkRequest{Blocks: []admin.BulkEntry{one.BulkEntry}}); err != nil || done.Results[0].Result != one.want {
			t.Errorf("%+v: %+v, %v", one, done, err)
		}
	}
}

// A request is bounded, and one that is refused is on record.
func TestImportIsBounded(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	many := make([]admin.BulkEntry, admin.MostBulk+1)
	for i := range many {
		many[i] = admin.BulkEntry{Prefix: fmt.Sprintf("203.0.%d.%d", i>>8, i&255), Reason: strings.Repeat("<", call.MaxReason)}
	}
	if done, err := c.Import(t.Context(), admin.BulkRequest{Blocks: many[1:]}); err != nil || done.Added != admin.MostBulk {
		t.Errorf("the most, with the longest reasons: %d added, %v", done.Added, err)
	}
	for name, r := range map[string]admin.BulkRequest{
		"none": {}, "too many": {Blocks: many}, "a share below 0": {Blocks: many[:1], Spent: -1}, "a share above 1": {Blocks: many[:1], Spent: 1.1},
	} {
		if _, err := c.Import(t.Context(), r); status(err) != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
		if a := s.lastAudit(); a.Action != "import" || a.Result == "ok" {
			t.Errorf("%s: audit: %+v", name, a)
		}
	}
	if got, _ := s.write(t, http.MethodPost, "/api/v1/blocks/import", `{"blocks":[{"prefix":"203.0.113.1","force":true}]}`); got != http.StatusBadRequest {
		t.Errorf("force: %d", got)
	}
}
