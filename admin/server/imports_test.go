package server_test

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
	"edgeguard/blocklist/imported"
)

// feeds is what a node of the tests imports: nothing, unless a test sets it.
type feeds struct {
	set     *imported.Set
	summary admin.Imports
	confirm string // what awaits confirmation
}

func (f *feeds) Imports() admin.Imports { return f.summary }

func (f *feeds) ImportedAround(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	if l := f.set.Blocks(); l != nil {
		return l.Around(now, prefix)
	}
	return nil
}

func (f *feeds) ImportedBy(now time.Time, rule string, from netip.Prefix) (iter.Seq[edgeguard.Block], bool) {
	l := f.set.Blocks()
	if l == nil || !f.set.Has(edgeguard.Owner(rule)) {
		return nil, false
	}
	return l.AllFrom(now, from), true
}

func (f *feeds) ConfirmImport(name string) *call.Problem {
	if f.confirm != name {
		return call.NewProblem(http.StatusConflict, "name", "nothing of "+name+" awaits confirmation", "")
	}
	f.confirm = ""
	return nil
}

// Imported blocks are listed by their feed, and found by an address, but are on no page of
// all blocks. None is lifted by hand.
func TestImportedBlocks(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.node.mustBlock(t, "198.51.100.1/32", "site", "n1")
	s.node.feeds.set = imported.New(imported.Config{Own: s.node.list, Node: "n1"})
	var entries []imported.Entry
	for i := range 3 {
		entries = append(entries, imported.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 0}), 24), Until: start.Add(time.Hour), Reason: "listed"})
	}
	s.node.feeds.set.Replace("drop", entries, start)
	pages := func(query string) (found []string) {
		for next := ""; ; {
			var p admin.BlockPage
			status, body := s.ask(t, request{method: http.MethodGet, path: "/api/v1/blocks?limit=2&" + query + next, unix: true})
			if err := json.Unmarshal(body, &p); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d, %v", query, status, err)
			}
			for _, b := range p.Blocks {
				found = append(found, b.Prefix.String())
			}
			if p.Next == "" {
				return found
			}
			next = "&cursor=" + p.Next
		}
	}
	for query, want := range map[string]string{
		"": "198.51.100.1/32", "owner=drop": "203.0.0.0/24 203.0.1.0/24 203.0.2.0/24", "owner=drop&order=newest": "203.0.0.0/24 203.0.1.0/24 203.0.2.0/24", "owner=drop&order=ends": "203.0.0.0/24 203.0.1.0/24 203.0.2.0/24", "owner=drop&prefix=203.0.2.0/23": "203.0.2.0/24", "owner=other": "",
		"contains=203.0.1.9": "203.0.1.0/24", "contains=198.51.100.1": "198.51.100.1/32", "owner=drop&contains=203.0.1.9": "203.0.1.0/24", "rule=site&contains=203.0.1.9": "",
	} {
		if got := strings.Join(pages(query), " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, prefix := range []string{"203.0.1.0/24", "203.0.1.9"} {
		if status, p := s.write(t, http.MethodDelete, "/api/v1/blocks/"+prefix, ""); status != http.StatusConflict || !strings.Contains(p.Detail, "imported list drop") || !strings.Contains(p.Fix, "allow add") {
			t.Errorf("%s is removed: %d, %+v", prefix, status, p)
		}
	}
}

// A feed that awaits it is confirmed by its name.
func TestConfirmImport(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.node.feeds.summary = admin.Imports{Feeds: []admin.ImportFeed{{Name: "drop", State: admin.ImportWaiting}}}
	s.node.feeds.confirm = "drop"
	if all, err := s.overUnix(t).Imports(t.Context()); err != nil || len(all.Feeds) != 1 || all.Feeds[0].Name != "drop" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, want := range []int{http.StatusOK, http.StatusConflict} {
		if status, _ := s.write(t, http.MethodPost, "/api/v1/imports/drop/confirm", ""); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
	if status, _ := s.write(t, http.MethodPost, "/api/v1/imports/other/confirm", ""); status != http.StatusNotFound {
		t.Errorf("another: %d", status)
	}
	if a := s.node.allAudits(); len(a) != 3 || a[0].Action != "confirm import" || a[0].Target != "drop" || a[0].Result != "ok" {
		t.Errorf("%+v", a)
	}
}

// withLists returns a node on which a list is in force, and another version of it awaits
// confirmation.
func withLists(t *testing.T) *node {
	t.Helper()
	n := newNode()
	n.feeds.set = imported.New(imported.Config{Own: n.list, Node: "n1"})
	n.feeds.set.Replace("drop", []imported.Entry{
		{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Until: start.Add(time.Hour), Reason: "listed at <i>x"},
		{Prefix: netip.MustParsePrefix("198.51.100.9/32"), Until: start.Add(time.Hour)},
	}, start)
	n.feeds.confirm = "drop"
	n.feeds.summary = admin.Imports{Blocks: 2, Most: 10, Feeds: []admin.ImportFeed{{Name: "drop", Kind: "blocklist", State: admin.ImportWaiting, InForce: 2, Error: "<script>",
		Awaits: &admin.ImportPending{Why: "it is empty", Since: start}}}}
	n.stats.Imports = n.feeds.summary // the same feeds
	return n
}

// An operator confirms a list on the page, once, and not another list than the one that was
// shown.
func TestConfirmOnThePage(t *testing.T) {
	n := withLists(t)
	b := browse(t, n).open("/neighbours")
	b.says(200, "drop", "awaits confirmation: it is empty", "<script>")
	if strings.Contains(b.body, "<script>") {
		t.Error("markup")
	}
	form := b.form
	b.submit("/neighbours", "csrf", "-").says(403, "the form is out of date")
	b.form = form
	n.feeds.summary.Feeds[0].Awaits = &admin.ImportPending{Why: "it is another", Entries: 3, Since: start}
	b.submit("/neighbours").says(200, "Nothing was changed.", "another list of drop awaits confirmation")
	if n.feeds.confirm == "" {
		t.Fatal("another list than the one that was shown is confirmed")
	}
	b.open("/neighbours")
	form = b.form
	b.submit("/neighbours").says(200, "The newest list of drop is in force.")
	if n.feeds.confirm != "" {
		t.Fatal("it is not confirmed")
	}
	b.form = form
	b.submit("/neighbours").says(200, "The newest list of drop is in force.") // a double click
	b.open("/neighbours").submit("/neighbours").says(200, "Nothing was changed.", "nothing of drop awaits confirmation")
	if a := n.allAudits(); len(a) != 2 || a[0].Action != "confirm import" || a[0].Target != "drop" || a[0].Result != "ok" {
		t.Errorf("audits: %+v", a)
	}
}

// Guests and readers see the lists and no form.
func TestListsAreShownToReaders(t *testing.T) {
	s := serverOf(t, withLists(t), server.Config{})
	status, body := (&way{from: "127.0.0.1"}).ask(s, "GET /neighbours", "")
	if status != http.StatusOK || strings.Contains(body, `method="post"`) || !strings.Contains(body, "edgeguard blocklists confirm drop") {
		t.Errorf("%d\n%s", status, body)
	}
}

// The pages of an imported address and of networks around and inside say which list it is
// of, and offer no unblock.
func TestImportedOnPages(t *testing.T) {
	n := withLists(t)
	b := browse(t, n)
	for path, texts := range map[string][]string{
		"/network/203.0.113.0/25": {"Blocks that contain it", "203.0.113.0/24", "list drop", "listed at <i>x"},
		"/network/198.51.0.0/16":  {"Blocks inside it", "198.51.100.9", "list drop"},
		"/blocked":                {"2 more are imported"},
		"/blocked?rule=owner+drop": {
			"203.0.113.0/24", "198.51.100.9", "All 2 that match.", "Allow",
		},
	} {
		if b.open(path); strings.Contains(b.body, `href="/unblock`) {
			t.Errorf("%s offers to unblock it", path)
		}
		b.says(200, texts...)
	}
	b.open("/unblock?prefix=198.51.100.9").says(409, "198.51.100.9/32 is blocked by the imported list drop, and cannot be removed here", "Allow 198.51.100.9")
	b.open("/unblock?prefix=203.0.113.7").says(409, "203.0.113.7/32 is inside 203.0.113.0/24, which the imported list drop blocks, and cannot be removed here", "Allow 203.0.113.7")
}

// A block of another program is not said to be a rule's, on any page.
func TestProgramsBlocksOnPages(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", edgeguard.OwnerRule("fail2ban"), "n1")
	b := browse(t, n)
	for path, text := range map[string]string{
		"/address/203.0.113.7":        "Blocked by the program fail2ban on n1",
		"/unblock?prefix=203.0.113.7": "Blocked by the program fail2ban",
		"/allow?prefix=203.0.113.7":   "Its block by the program fail2ban ends.",
		"/blocked":                    "fail2ban",
	} {
		b.open(path).says(200, text)
		shown := strings.ReplaceAll(b.body, `name="seen" value="owner fail2ban n1"`, "")
		if strings.Contains(shown, "owner fail2ban") || strings.Contains(b.body, "When it was blocked") {
			t.Errorf("%s calls it a rule:\n%s", path, b.body)
		}
	}
}
