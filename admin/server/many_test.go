package server_test

import (
	escape "html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// linkOf returns where the link or button with a text leads.
func (b *pageUser) linkOf(text string) string {
	b.t.Helper()
	found := regexp.MustCompile(`href="([^"]*)">` + regexp.QuoteMeta(text) + `<`).FindStringSubmatch(b.body)
	if found == nil {
		b.t.Fatalf("no link %q:\n%s", text, b.body)
	}
	path := escape.UnescapeString(found[1])
	if strings.HasPrefix(path, "?") {
		path = "/network/20.0.0.0/16" + path
	}
	return path
}

// All that a list or a network has is unblocked by two clicks and one change, and comes back by one more.
func TestPageUnblocksAll(t *testing.T) {
	n := newNode()
	for i := range uint32(65) {
		n.mustBlock(t, numbered(i).String(), "site", "n1")
	}
	n.mustBlock(t, "203.0.113.7/32", "login", "n1")
	b := browse(t, n)
	b.open("/blocked?rule=site&order=prefix").says(200, "1 to 50 of 65 that match; 66 in all.", "Unblock all 65 that match")
	b.open(b.linkOf("Tick all on this page"))
	if got := strings.Count(b.body, " checked>"); got != 50 {
		t.Errorf("%d are ticked", got)
	}
	b.open(b.linkOf("Next page")).says(200, "51 to 65 of 65 that match; 66 in all.")
	b.open("/network/20.0.0.0/16").says(200, "65 blocks, 65 by rule site. 0 of their events are denied here; none of them sends still.", "1 to 50 of 65.")
	b.open(b.linkOf("Next page")).says(200, "51 to 65 of 65.", "First page")
	b.open(b.linkOf("Unblock all 65")).says(200, "Unblock 65 blocks", "65 blocks, 65 by rule site. Their requests will pass", "20.0.0.19", "and 45 more", "are made after 12:00:00 stay")
	if n.list.Len() != 66 || len(n.allAudits()) != 0 {
		t.Fatalf("asking changed something: %d blocks, %q", n.list.Len(), n.results())
	}
	b.submit("/unblock").says(200, "65 blocks are unblocked on this node.", "Undo")
	if a := n.lastAudit(); n.list.Len() != 1 || len(n.allAudits()) != 1 || a.Target != "blocks inside 20.0.0.0/16" || len(a.Prefixes) != 65 {
		t.Errorf("%d blocks, %q", n.list.Len(), n.results())
	}
	n.mustBlock(t, numbered(3).String(), "login", "n1") // made since
	b.submit("/undo").says(200, "64 blocks are in force again; 1 prefix was blocked, extended or allowed since and left as they are.")
	if n.list.Len() != 66 || n.blockOf(numbered(3).String()).Rule != "login" || len(n.allAudits()) != 2 {
		t.Errorf("%d blocks, %q", n.list.Len(), n.results())
	}
}

// A form that unblocks many is refused where it is forged, lacks what was seen, or is a reader's.
func TestPageOfManyIsGuarded(t *testing.T) {
	n := newNode()
	for i := range uint32(5) {
		n.mustBlock(t, numbered(i).String(), "site", "n1")
	}
	b := browse(t, n)
	for query, want := range map[string]int{
		"of=rule%3Dnone": 404, "of=reason%3Dx": 400, "of=%25zz": 400, "of=prefix%3Dsite": 400, "of=attack%3Dnone": 404, "prefix=20.0.0.9&prefix=20.0.0.10": 404, "prefix=x&prefix=y": 400, "of=order%3Dnewest": 400,
	} {
		if b.open("/unblock?" + query); b.status != 200 && b.status != want || strings.Contains(b.body, `class="go"`) || !strings.Contains(b.body, `class="wrong"`) {
			t.Errorf("%s: %d\n%s", query, b.status, b.body)
		}
	}
	b.open("/unblock?of=all%3Dtrue").says(200, "Unblock 5 blocks", "I mean it")
	form := b.form
	b.submit("/unblock").says(409, "the box is not ticked")
	b.form = form
	b.submit("/unblock", "seen", "-", "meant", "yes").says(409, "was changed since this page was made")
	b.form = form
	b.submit("/unblock", "csrf", "forged", "meant", "yes")
	if b.status != http.StatusForbidden || n.list.Len() != 5 {
		t.Errorf("forged: %d, %d blocks", b.status, n.list.Len())
	}
	reader := serverOf(t, n, server.Config{ReaderTokenFile: tokenFile(t, readerSecret)})
	w := way{from: "127.0.0.1", header: bearer(readerSecret)}
	for _, ask := range []string{"GET /unblock?of=all%3Dtrue", "POST /unblock", "DELETE /api/v1/blocks?all=true", "DELETE /api/v1/blocks?all=true&dry_run=true"} {
		status, body := w.ask(reader, ask, url.Values{"of": {"all=true"}, "seen": {start.Format(time.RFC3339Nano)}, "meant": {"yes"}}.Encode())
		if status == http.StatusOK && strings.Contains(body, `class="go"`) || n.list.Len() != 5 {
			t.Errorf("a reader's %s: %d, %d blocks\n%s", ask, status, n.list.Len(), body)
		}
	}
	b.form = form
	b.submit("/unblock", "meant", "yes", "seen", start.Add(time.Hour).Format(time.RFC3339Nano)).says(409, "was changed since") // a time that has not come
	b.form = form
	b.submit("/unblock", "meant", "yes").says(200, "5 blocks are unblocked on this node.")
}

// Lists are put in order by what was refused, and by when last.
func TestOrdersByRefusals(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	for i, refused := range []uint32{0, 7, 3} {
		n.mustBlock(t, numbered(uint32(i)).String(), "site", "n1")
		if _, hit := n.list.FindHit(start, numbered(uint32(i)).Addr()); refused > 0 {
			hit.Refused(start.Add(time.Duration(i)*time.Minute), refused)
		}
	}
	for order, want := range map[string][3]uint32{"refused": {1, 2, 0}, "refused&dir=asc": {0, 2, 1}, "last_refused": {2, 1, 0}} {
		page := decode[admin.BlockPage](t, s, "/api/v1/blocks?order="+order)
		for i, k := range want {
			if len(page.Blocks) != 3 || page.Blocks[i].Prefix != netip.PrefixFrom(numbered(k).Addr(), 32) {
				t.Errorf("%s: %+v", order, page.Blocks)
				break
			}
		}
	}
	browse(t, n).open("/blocked?order=last_refused").says(200, "sends still")
}
