package server_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
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
		many[i] = admin.BulkEntry{Prefix: fmt.Sprintf("203.%d.%d.%d", i>>16, i>>8&255, i&255)}
	}
	if done, err := c.Import(t.Context(), admin.BulkRequest{Blocks: many[1:]}); err != nil || done.Added != admin.MostBulk {
		t.Errorf("the most: %d added, %v", done.Added, err)
	}
	long := slices.Clone(many[:24_000])
	for i := range long {
		long[i].Reason = strings.Repeat("<", call.MaxReason)
	}
	if done, err := c.Import(t.Context(), admin.BulkRequest{Blocks: long[:20_000]}); err != nil || done.Added != 20_000 {
		t.Errorf("the longest reasons: %d added, %v", done.Added, err)
	}
	for name, r := range map[string]admin.BulkRequest{
		"none": {}, "too large": {Blocks: long}, "too many": {Blocks: many}, "a share below 0": {Blocks: many[:1], Spent: -1}, "a share above 1": {Blocks: many[:1], Spent: 1.1},
	} {
		want := http.StatusBadRequest
		if name == "too large" {
			want = http.StatusRequestEntityTooLarge
		}
		if _, err := c.Import(t.Context(), r); status(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		if a := s.lastAudit(); a.Action != "import" || a.Result == "ok" {
			t.Errorf("%s: audit: %s %s", name, a.Action, a.Result)
		}
	}
	if got, _ := s.write(t, http.MethodPost, "/api/v1/blocks/import", `{"blocks":[{"prefix":"203.0.113.1","force":true}]}`); got != http.StatusBadRequest {
		t.Errorf("force: %d", got)
	}
}

// An import has a name: what is still of it is listed and taken back by that, and its record says
// how. Allowances are the same.
func TestImportIsTakenBackByItsName(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	request := admin.BulkRequest{Blocks: []admin.BulkEntry{{Prefix: "203.0.113.1", For: "2h"}, {Prefix: "203.0.113.2"}, {Prefix: "203.0.113.3"}}}
	first, err := c.Import(t.Context(), request)
	a := s.lastAudit()
	if err != nil || first.Batch == 0 || a.Batch != first.Batch || a.Undo != "edgeguard blocks remove --batch "+first.Batch.String() || a.Target != "batch "+first.Batch.String() {
		t.Fatalf("%+v, %v: %+v", first, err, a)
	}
	again, err := c.Import(t.Context(), request)
	if a = s.lastAudit(); err != nil || again.Batch != 0 || a.Undo != "" {
		t.Errorf("nothing was added: %+v, %v; %+v", again, err, a)
	}
	request.Batch, request.Blocks = first.Batch, []admin.BulkEntry{{Prefix: "203.0.113.4"}}
	if more, err := c.Import(t.Context(), request); err != nil || more.Batch != first.Batch {
		t.Errorf("it goes on as %+v, %v", more, err)
	}
	if _, err := c.Import(t.Context(), admin.BulkRequest{Blocks: []admin.BulkEntry{{Prefix: "203.0.113.5"}}}); err != nil {
		t.Error(err)
	}
	n.mustBlock(t, "203.0.112.0/23", "site", "n1")
	if got, _ := s.write(t, http.MethodPatch, "/api/v1/blocks/203.0.113.2", `{"for":"5h"}`); got != http.StatusOK {
		t.Errorf("extended: %d", got)
	}
	of := client.Filter{Batch: first.Batch.String()}
	var listed []string
	for b, err := range c.Blocks(t.Context(), of) {
		if listed = append(listed, b.Prefix.String()); err != nil || b.Batch != first.Batch {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if got := strings.Join(listed, " "); got != "203.0.113.1/32 203.0.113.3/32 203.0.113.4/32" {
		t.Errorf("listed: %s", got)
	}
	before := n.list.Len()
	would, err := c.UnblockMany(t.Context(), of, "", true)
	if err != nil || would.Lifted != 3 || would.Blocked != 3 || n.list.Len() != before {
		t.Errorf("%+v, %v", would, err)
	}
	done, err := c.UnblockMany(t.Context(), of, "wrong file", false)
	if err != nil || done.Lifted != 3 || done.Blocked != 3 || n.list.Len() != before-3 {
		t.Errorf("%+v, %v", done, err)
	}
	if a := s.lastAudit(); a.Action != "unblock many" || a.Target != "blocks of batch "+first.Batch.String() || a.Undo != "edgeguard changes undo "+done.Batch.String() {
		t.Errorf("%+v", a)
	}
	n.mustBlock(t, "203.0.113.3/32", "site", "n1") // since
	back, err := c.UndoMany(t.Context(), done.Batch.String())
	if err != nil || back != (admin.BulkRestored{Restored: 2, Changed: 1}) || n.list.Len() != before {
		t.Errorf("%+v, %v; %d blocks, not %d", back, err, n.list.Len(), before)
	}
	if b := n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.1/32")); b == nil || b.Batch != first.Batch {
		t.Errorf("it came back as %+v", b)
	}
	if a := s.lastAudit(); a.Action != "restore many" || a.Target != "blocks of batch "+first.Batch.String() || len(a.Prefixes) != 2 {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{done.Batch.String(), first.Batch.String(), "ZZ", "0"} {
		if back, err := c.UndoMany(t.Context(), name); err == nil || !strings.Contains(err.Error(), "nothing is known that was lifted as") {
			t.Errorf("undone again as %q: %+v, %v", name, back, err)
		}
	}
	if got, _ := s.write(t, http.MethodDelete, "/api/v1/blocks?batch=ZZ", ""); got != http.StatusBadRequest {
		t.Errorf("no name of a batch: %d", got)
	}
}

// Allowances are imported and taken back as blocks are, and the node's others stay.
func TestAllowancesAreImported(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	if _, err := c.Allow(t.Context(), admin.AllowRequest{Prefix: "203.0.113.9"}); err != nil {
		t.Fatal(err)
	}
	n.mustBlock(t, "203.0.113.1/32", "site", "n1")
	request := admin.BulkRequest{Blocks: []admin.BulkEntry{{Prefix: "203.0.113.1"}, {Prefix: "203.0.113.2", For: "2h"}, {Prefix: "203.0.113.9", For: "2h"}, {Prefix: "8.0.0.0/7"}, {Prefix: "203.0.113.3", Owner: "x"}, {Prefix: "x"}}}
	want := "203.0.113.1 added\n203.0.113.2 added\n203.0.113.9 stays\n8.0.0.0/7 refused\n203.0.113.3 refused\nx refused"
	done, err := c.ImportAllowances(t.Context(), request)
	if a := s.lastAudit(); err != nil || results(done) != want || done.Batch == 0 || a.Action != "import allowances" || a.Undo != "edgeguard allow remove --batch "+done.Batch.String() {
		t.Fatalf("%+v, %v\n%s\n%+v", done, err, results(done), a)
	}
	if a, ok := n.ExactAllowance(start, netip.MustParsePrefix("203.0.113.1/32")); !ok || !a.Until.Equal(edgeguard.Forever) || n.list.Len() != 0 {
		t.Errorf("%+v, %v; %d blocks", a, ok, n.list.Len())
	}
	of := client.Filter{Batch: done.Batch.String()}
	if lifted, err := c.UnblockMany(t.Context(), of, "", false); err != nil || lifted.Lifted != 0 {
		t.Errorf("no block is of it: %+v, %v", lifted, err)
	}
	lifted, err := c.DisallowMany(t.Context(), of, "", false)
	if a := s.lastAudit(); err != nil || lifted.Lifted != 2 || lifted.Restored != 1 || a.Action != "disallow many" || a.Target != "allowances of batch "+done.Batch.String() {
		t.Errorf("%+v, %v; %+v", lifted, err, a)
	}
	if b := n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.1/32")); b == nil || b.Rule != "site" {
		t.Errorf("in place of the allowance: %+v", b)
	}
	if list, err := c.Allowances(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
