package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/client"
	"edgeguard/internal/redistest"
)

// An import that is taken back leaves what was before it: the block of a rule that it replaced is in
// force again, also after a restart, and no count is forgotten, in the history one change.
func TestImportIsTakenBack(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	const attacker, counted = "203.0.113.9", "203.0.113.10"
	for range 310 {
		u.request(attacker)
	}
	for range 200 {
		u.request(counted)
	}
	request := admin.BulkRequest{}
	for _, prefix := range []string{attacker, counted, "198.51.100.1"} {
		request.Blocks = append(request.Blocks, admin.BulkEntry{Prefix: prefix, For: "2h", Reason: "drop.txt"})
	}
	if done, err := u.desk().Import(t.Context(), request); err != nil || done.Added != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	u.stop()
	u = newNode(t, u.folder, oneLog).start()
	before := u.count(counted)
	if done, err := u.desk().UnblockMany(t.Context(), client.Filter{Rule: edgeguard.ManualRule}, "wrong file", true); err != nil || done.Lifted != 3 || done.Restored != 1 || u.list.Len() != 3 {
		t.Errorf("it would be %+v, %v; %d blocks", done, err, u.list.Len())
	}
	done, err := u.desk().UnblockMany(t.Context(), client.Filter{Rule: edgeguard.ManualRule}, "wrong file", false)
	if err != nil || done.Lifted != 3 || done.Restored != 1 || done.Changed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	b := u.list.BlockOf(u.clock.Now(), netip.MustParsePrefix(attacker+"/32"))
	if b == nil || b.Rule != "site" || b.Limit == 0 || u.list.Len() != 1 {
		t.Errorf("of the attacker: %+v, and %d blocks are left", b, u.list.Len())
	}
	if n := u.count(counted); n != before || n < 200 {
		t.Errorf("%d are counted of an address that the rule never blocked, and %d before", n, before)
	}
	if e := u.past("kind=change"); len(e) != 2 || e[1].Change.Action != "unblock many" || len(e[1].Change.Prefixes) != 3 || e[1].Change.Detail != "3 lifted, of which 1 had replaced a block that is in force again: wrong file" {
		t.Errorf("%+v", e)
	}
}

// An import of which something changed is taken back by its name after a restart: what is no longer
// its own stays, and an allowance of one gives back the block that it ended.
func TestBatchIsTakenBack(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	const attacker = "203.0.113.9"
	for range 310 {
		u.request(attacker)
	}
	entries := func(all ...string) (r admin.BulkRequest) {
		for _, prefix := range all {
			r.Blocks = append(r.Blocks, admin.BulkEntry{Prefix: prefix, For: "2h"})
		}
		return r
	}
	first, err := u.desk().Import(t.Context(), entries(attacker, "198.51.100.1", "198.51.100.2"))
	second, err2 := u.desk().Import(t.Context(), admin.BulkRequest{Blocks: []admin.BulkEntry{{Prefix: "198.51.100.1", For: "9h"}, {Prefix: "198.51.100.3"}}})
	allowed, err3 := u.desk().ImportAllowances(t.Context(), entries("198.51.100.3"))
	if err := errors.Join(err, err2, err3); err != nil || first.Added != 3 || second.Added != 2 || allowed.Added != 1 {
		t.Fatalf("%+v, %+v, %+v, %v", first, second, allowed, err)
	}
	u.stop()
	u = newNode(t, u.folder, oneLog).start()
	stand := func() (all []string) {
		for b := range u.list.All(u.clock.Now()) {
			all = append(all, b.Prefix.Addr().String()+" "+b.Rule)
		}
		return all
	}
	for _, c := range []struct {
		batch          edgeguard.BatchID
		lift           func(context.Context, client.Filter, string, bool) (admin.BulkLifted, error)
		lifted, before int
		want           string
	}{
		{first.Batch, u.desk().UnblockMany, 2, 1, "[198.51.100.1 manual 203.0.113.9 site]"},
		{allowed.Batch, u.desk().DisallowMany, 1, 1, "[198.51.100.1 manual 198.51.100.3 manual 203.0.113.9 site]"},
		{second.Batch, u.desk().UnblockMany, 2, 0, "[203.0.113.9 site]"},
	} {
		of := client.Filter{Batch: c.batch.String()}
		would, err := c.lift(t.Context(), of, "", true)
		done, err2 := c.lift(t.Context(), of, "", false)
		if err := errors.Join(err, err2); err != nil || done.Lifted != c.lifted || done.Restored != c.before || would.Lifted != done.Lifted || would.Restored != done.Restored || fmt.Sprint(stand()) != c.want {
			t.Errorf("%+v, and it would be %+v, %v: %s, want %s", done, would, err, stand(), c.want)
		}
		if again, err := c.lift(t.Context(), of, "", false); err != nil || again.Lifted != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
	if kinds := u.past("kind=block,allow,unblock,disallow"); len(kinds) != 1 { // the attacker's first; the rest is in the changes
		t.Errorf("%+v", kinds)
	}
}

// A rule's blocks that are lifted together begin at 0, and only those that are still what was seen
// are: one that was made since stays.
func TestManyAreLifted(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	for _, addr := range []string{"203.0.113.9", "203.0.113.10", "198.51.100.9"} {
		for range 310 {
			u.request(addr)
		}
	}
	s := admin.Selection{BlockFilter: admin.BlockFilter{Within: netip.MustParsePrefix("203.0.113.0/24")}}
	s.Seen = u.list.BlockOf(u.clock.Now(), netip.MustParsePrefix("198.51.100.9/32")).Since // the last one
	for range 310 {
		u.request("203.0.113.11")
	}
	changes := admin.NewChanges(u.admin.view, u.admin.operator, func(admin.Audit) {})
	by := access.Caller{Role: access.Operator}
	done, p := changes.UnblockMany(t.Context(), by, &s, "", false)
	if p != nil || done.Lifted != 2 || done.Rules["site"] != 2 || u.list.Len() != 2 {
		t.Errorf("%+v, %v; %d blocks", done, p, u.list.Len())
	}
	if n := u.count("203.0.113.9"); n != 0 {
		t.Errorf("%d are counted", n)
	}
	if n := u.count("198.51.100.9"); n == 0 {
		t.Error("what was counted of another is forgotten")
	}
	for range 310 {
		u.request("203.0.113.10") // it is blocked again
	}
	back, p := changes.RestoreMany(by, done.Batch)
	if p != nil || back != (admin.BulkRestored{Restored: 1, Changed: 1}) || u.list.Len() != 4 {
		t.Errorf("%+v, %v; %d blocks", back, p, u.list.Len())
	}
	if b := u.list.BlockOf(u.clock.Now(), netip.MustParsePrefix("203.0.113.9/32")); b == nil || b.Rule != "site" || b.Count == 0 {
		t.Errorf("it came back as %+v", b)
	}
}

// The page of an attack has its blocks, and all of these are lifted by one change; a block of the same
// network that is none of it stays.
func TestAttackIsUnblocked(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	for _, addr := range []string{"203.0.113.9", "203.0.113.10", "203.0.113.11"} {
		for range 310 {
			u.request(addr)
		}
	}
	if _, err := u.desk().Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.77"}); err != nil {
		t.Fatal(err)
	}
	var attacks []admin.Attack
	u.eventually("the attack", func() bool {
		attacks = u.admin.view.Attacks(t.Context(), time.Time{}, time.Time{})
		return len(attacks) == 1 && attacks[0].Addresses == 3
	})
	of := client.Filter{Attack: attacks[0].ID}
	would, err := u.desk().UnblockMany(t.Context(), of, "", true)
	if err != nil || would.Lifted != 3 || would.Rules["site"] != 3 {
		t.Errorf("%+v, %v", would, err)
	}
	status, body := u.get("/attacks/" + url.PathEscape(attacks[0].ID))
	for _, text := range []string{"3 addresses of 203.0.113.0/24 over site since", "It goes on.", "3 blocks are in force", "Unblock all 3<", ">203.0.113.10</a>", "The last hour"} {
		if status != 200 || !strings.Contains(strings.ReplaceAll(body, "<wbr>", ""), text) {
			t.Errorf("%d: no %q in\n%s", status, text, body)
		}
	}
	if done, err := u.desk().UnblockMany(t.Context(), of, "", false); err != nil || done.Lifted != 3 || u.list.Len() != 1 {
		t.Errorf("%+v, %v; %d blocks", done, err, u.list.Len())
	}
	if status, body := u.get("/attacks/" + url.PathEscape(attacks[0].ID)); status != 200 || strings.Contains(body, "Unblock all") {
		t.Errorf("%d\n%s", status, body)
	}
	if status, _ := u.get("/attacks/none"); status != 404 {
		t.Errorf("%d", status)
	}
}

// BenchmarkBatch is an import of 100,000 on one of two nodes, until the other has it, and taken
// back by its name there, until no node has it.
func BenchmarkBatch(b *testing.B) {
	const many = 100_000
	nodes := tuners(b, redistest.Start(b, redistest.Options{}), sharing, sharing)
	one, other := nodes[0], nodes[1]
	request := admin.BulkRequest{}
	for i := range many {
		request.Blocks = append(request.Blocks, admin.BulkEntry{Prefix: netip.AddrFrom4([4]byte{8, byte(8 + i>>16), byte(i >> 8), byte(i)}).String(), For: "2h", Reason: "drop.txt"})
	}
	until := func(blocks int) {
		for one.list.Len() != blocks || other.list.Len() != blocks {
			time.Sleep(time.Millisecond)
		}
	}
	for range b.N {
		begun := time.Now()
		done, err := one.desk().Import(b.Context(), request)
		if err != nil || done.Added != many {
			b.Fatalf("%d added, %v", done.Added, err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-import")
		until(many)
		b.ReportMetric(time.Since(begun).Seconds(), "s-imported")
		begun = time.Now()
		lifted, err := one.desk().UnblockMany(b.Context(), client.Filter{Batch: done.Batch.String()}, "", false)
		if err != nil || lifted.Lifted != many {
			b.Fatalf("%d lifted, %v", lifted.Lifted, err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-lift")
		until(0)
		b.ReportMetric(time.Since(begun).Seconds(), "s-lifted")
	}
}
