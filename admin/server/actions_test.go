package server_test

import (
	"fmt"
	escape "html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/server"
	"edgeguard/internal/lobby"
)

// pageUser is an operator's browser: it keeps the hidden fields of the last form.
type pageUser struct {
	t      *testing.T
	server *server.Server
	form   url.Values // of the last page
	status int
	body   string
}

// browse opens the pages of a node as an operator of the unix socket.
func browse(t *testing.T, n *node) *pageUser {
	return &pageUser{t: t, server: serverOf(t, n, server.Config{Audit: n.audit})}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// send sends one request and follows where a form leads to. The hidden fields of the
// last form are those after the last <form>.
func (b *pageUser) send(method, path string, fields url.Values) *pageUser {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(fields.Encode()))
	r.Host = "localhost"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	b.server.Handler.ServeHTTP(w, r.WithContext(access.WithPeer(r.Context(), &lobby.Conn{Conn: wire{from: "unix"}})))
	if to := w.Header().Get("Location"); w.Code == http.StatusSeeOther {
		return b.send(http.MethodGet, to, nil)
	}
	b.status, b.body, b.form = w.Code, w.Body.String(), url.Values{}
	_, main, _ := strings.Cut(b.body, `<main`)
	for _, field := range hidden.FindAllStringSubmatch(main, -1) {
		b.form.Add(field[1], escape.UnescapeString(field[2]))
	}
	return b
}

func (b *pageUser) open(path string) *pageUser { b.t.Helper(); return b.send("GET", path, nil) }

// submit sends the last form with more fields; of a value "-" the field is left out.
func (b *pageUser) submit(path string, more ...string) *pageUser {
	b.t.Helper()
	fields := make(url.Values)
	for name, values := range b.form {
		fields[name] = slices.Clone(values)
	}
	for i := 0; i < len(more); i += 2 {
		fields.Set(more[i], more[i+1])
		if more[i+1] == "-" {
			fields.Del(more[i])
		}
	}
	return b.send("POST", path, fields)
}

// says requires texts of the page, as they are without markup.
func (b *pageUser) says(status int, texts ...string) {
	b.t.Helper()
	plain := plainText(b.body)
	for _, text := range texts {
		if b.status != status || !strings.Contains(plain, text) {
			b.t.Errorf("%d, want %d and %q:\n%s", b.status, status, text, plain)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

func plainText(body string) string { return escape.UnescapeString(tags.ReplaceAllString(body, "")) }

// blockOf returns the block of exactly a prefix; the zero block for none.
func (n *node) blockOf(prefix string) edgeguard.Block {
	for b := range n.list.All(start) {
		if b.Prefix == netip.MustParsePrefix(prefix) {
			return b
		}
	}
	return edgeguard.Block{}
}

// results returns the actions that were audited, each with its result.
func (n *node) results() (all []string) {
	for _, a := range n.allAudits() {
		all = append(all, a.Action+" "+a.Target+": "+a.Result)
	}
	return all
}

func TestPageUnblocks(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	n.mustBlock(t, "203.0.113.8/32", "site", "n1")
	b := browse(t, n)
	b.open("/blocked?order=prefix").says(200, "203.0.113.7")
	link := regexp.MustCompile(`href="(/unblock[^"]*)"`).FindStringSubmatch(b.body)
	b.open(escape.UnescapeString(link[1])).says(200, "Unblock 203.0.113.7", "Blocked by rule site on n1 since 12:00:00, until 13:00:00", "Its requests will pass, and what was counted of it is cleared, on this node.")
	form := b.form
	b.submit("/unblock", "reason", "a customer").says(200, "203.0.113.7 is unblocked on this node.", "Undo")
	if n.blockOf("203.0.113.7/32").Prefix.IsValid() || !slices.Contains(n.cleared, netip.MustParsePrefix("203.0.113.7/32")) || !strings.Contains(b.body, `selected>by address`) {
		t.Fatalf("not unblocked, or another page than before:\n%s", b.body)
	}
	if a := n.lastAudit(); a.Action != "unblock" || a.Target != "203.0.113.7/32" || a.Detail != "a customer" || a.Way != "socket" || a.Result != "ok" {
		t.Errorf("audited as %+v", a)
	}
	undo := b.form
	b.form = form // a double click
	b.submit("/unblock", "reason", "a customer").says(200, "203.0.113.7 is unblocked on this node.")
	if got := n.results(); len(got) != 1 {
		t.Errorf("a double click: %q", got)
	}
	b.form = undo
	n.later.Store(int64(time.Minute))
	b.submit("/undo").says(200, "203.0.113.7 is blocked again by rule site until 13:00:00.")
	if strings.Contains(b.body, ">Undo<") {
		t.Error("what was undone can be undone again")
	}
	back := n.blockOf("203.0.113.7/32")
	if back.Rule != "site" || back.Count != 1901 || !back.Until.Equal(start.Add(time.Hour)) || !back.Since.Equal(start) { // of the same attack as before
		t.Errorf("undone as %+v", back)
	}
	b.form = undo
	b.submit("/undo").says(200, "203.0.113.7 is blocked again by rule site")
	if got := n.results(); len(got) != 2 || n.lastAudit().Action != "restore" {
		t.Errorf("undone twice: %q", got)
	}
	b.form = undo
	b.submit("/undo", "id", "ABCDEFGHIJKLMNOPQRSTUVWXYZ").says(404, "This can no longer be undone.")
}

// What changed between the page and its form is shown, and nothing is done.
func TestPageOfAnotherState(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	b := browse(t, n)
	b.open("/unblock?prefix=203.0.113.7")
	n.mustBlock(t, "203.0.113.7/32", edgeguard.ManualRule, "n2")
	b.submit("/unblock").says(409, "203.0.113.7 was changed since this page was made", "Blocked by hand on n2")
	b.submit("/unblock").says(200, "203.0.113.7 is unblocked")
	n.mustBlock(t, "203.0.113.8/32", "site", "n1")
	b.open("/extend?prefix=203.0.113.8")
	n.list.Lift(netip.MustParsePrefix("203.0.113.8/32"), start, "", "n2")
	b.submit("/extend", "for", "24h").says(404, "203.0.113.8/32 is not blocked")

	n.mustBlock(t, "203.0.113.9/32", "site", "n1")
	b.open("/unblock?prefix=203.0.113.9").submit("/unblock").says(200, "Undo")
	n.mustBlock(t, "203.0.113.9/32", "site", "n2") // it crossed again
	b.submit("/undo").says(200, "0 of 1 changes are undone.", "203.0.113.9/32 was changed since")
	if got := n.blockOf("203.0.113.9/32").Origin; got != "n2" {
		t.Errorf("undone over the block of %q", got)
	}
	b.open("/unblock?prefix=198.51.100.9").says(404, "198.51.100.9/32 is not blocked")
	n.mustBlock(t, "198.51.100.0/24", "site", "n1")
	b.open("/unblock?prefix=198.51.100.9").says(404, "one of 198.51.100.0/24 contains it", "Unblock 198.51.100.0/24", "Allow 198.51.100.9 alone")
}

func TestPageExtends(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	b := browse(t, n)
	b.open("/extend?prefix=203.0.113.7").says(200, "later or sooner", "From then on it is an operator's block")
	b.submit("/extend", "for", "until", "until", "2026-03-02T08:30").says(200, "203.0.113.7 is blocked until 2 Mar 2026 08:30:00.")
	if got := n.blockOf("203.0.113.7/32"); got.Rule != edgeguard.ManualRule || !got.Until.Equal(time.Date(2026, 3, 2, 8, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
	b.submit("/undo").says(200, "203.0.113.7 is blocked again by rule site until 13:00:00.")
	if got := n.blockOf("203.0.113.7/32"); got.Rule != "site" || !got.Until.Equal(start.Add(time.Hour)) {
		t.Errorf("undone to %+v", got)
	}
}

func TestPageAllows(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	b := browse(t, n)
	b.open("/allow?prefix=203.0.113.7").says(200, "203.0.113.7 will never be blocked, and its requests are not counted, on this node. Its block by rule site ends.")
	b.submit("/allow").says(422, "a note is required")
	b.submit("/allow", "reason", "the office", "for", "24h").says(200, "203.0.113.7 is allowed until 2 Mar 2026 12:00:00 on this node.")
	if n.list.Len() != 0 || n.lastAudit().Detail != "until 2026-03-02T12:00:00Z, reason: the office" {
		t.Errorf("%d blocks, %+v", n.list.Len(), n.lastAudit())
	}
	b.open("/allowed").says(200, "the office", "Take back")
	b.open("/disallow?prefix=203.0.113.7").says(200, "Allowed on n1 since 12:00:00: “the office”.", "Its requests will be counted again")
	b.submit("/disallow").says(200, "203.0.113.7 is no longer allowed on this node.")
	b.submit("/undo").says(200, "203.0.113.7 is allowed again as before.")
	for a := range n.list.Allowances(start) {
		if a.Reason != "the office" || !a.Until.Equal(start.Add(24*time.Hour)) {
			t.Errorf("allowed again as %+v", a)
		}
	}
	b.open("/allow?prefix=203.0.113.7").says(200, "It is allowed already: “the office”: this replaces that.")
	b.submit("/allow", "reason", "x", "for", "1h").says(409, "203.0.113.7/32 is already allowed until", "Take back the allowance")
	b.open("/disallow?prefix=192.0.2.0/24").says(404, "not allowed at run time", "edit that and reload")

	n.mustBlock(t, "203.0.113.9/32", "site", "n1")
	b.open("/allow?prefix=203.0.113.9").submit("/allow", "reason", "by mistake").submit("/undo").says(200, "203.0.113.9 is blocked again by rule site until 13:00:00.")
}

func TestPagesOfHeldRecords(t *testing.T) {
	n := withHeld(3)
	for i := range n.held {
		n.held[i].Kind, n.held[i].Share = "block", 0.25*float64(i%2)
	}
	b := browse(t, n)
	b.open("/blocked/held").says(200, "Confirm", "Withdraw")
	b.open("/confirm?prefix=20.0.0.0").says(200, "Not in force here: the block of 20.0.0.0 that n2 sent", "It will be in force on this node.")
	b.submit("/confirm").says(200, "The block of 20.0.0.0 is in force on this node.")
	b.open("/confirm?prefix=20.0.0.1").says(200, "It would refuse 25.0 % of this node's requests.", "Type 20.0.0.1 if you mean it")
	b.submit("/confirm", "typed", "20.0.0.2").says(409, "this is not 20.0.0.1")
	b.submit("/confirm", "typed", "20.0.0.1").says(200, "The block of 20.0.0.1 is in force")
	b.open("/withdraw?prefix=20.0.0.2").says(200, "That cannot be undone")
	b.submit("/withdraw", "reason", "forged").says(200, "The block of 20.0.0.2 is withdrawn on this node.")
	if strings.Contains(b.body, ">Undo<") || len(n.held) != 0 || n.list.Len() != 2 {
		t.Errorf("%d held, %d blocks", len(n.held), n.list.Len())
	}
	b.open("/confirm?prefix=20.0.0.2").says(404, "20.0.0.2 does not await confirmation")
	if got := n.results(); !slices.Equal(got, []string{"confirm 20.0.0.0/32: ok", "confirm 20.0.0.1/32: ok", "unblock 20.0.0.2/32: ok"}) {
		t.Errorf("audited as %q", got)
	}
}

// Several blocks are changed by one form, each by itself.
func TestPageOfWhatIsTicked(t *testing.T) {
	n := newNode()
	query := make(url.Values)
	for i := range uint32(4) {
		n.mustBlock(t, numbered(i).String(), "site", "n1")
		query.Add("prefix", numbered(i).Addr().String())
	}
	n.mustBlock(t, "20.0.0.0/9", "site", "n1") // wide
	query.Add("prefix", "20.0.0.0/9")
	b := browse(t, n)
	b.open("/unblock?"+query.Encode()).says(200, "Unblock 5 blocks", "5 blocks, 5 by rule site. Their requests will pass", "20.0.0.3")
	n.list.Lift(numbered(1), start, "", "n2") // ended meanwhile
	b.submit("/unblock", "reason", "a mistake").says(200, "4 blocks are unblocked on this node.")
	if n.list.Len() != 0 || len(n.allAudits()) != 1 || n.lastAudit().Detail != "4 lifted: a mistake" {
		t.Errorf("%d blocks, %q", n.list.Len(), n.results())
	}
	b.submit("/undo").says(200, "4 blocks are in force again.")
	if n.list.Len() != 4 || len(n.allAudits()) != 2 {
		t.Errorf("%d blocks, %q", n.list.Len(), n.results())
	}
	b.open("/extend?"+query.Encode()).submit("/extend", "for", "7d").says(200, "3 of 5 end later or sooner.", "Change it by itself: its page asks whether it is meant.")
	b.open("/allow?"+query.Encode()).submit("/allow").says(422, "a note is required")
	b.submit("/allow", "reason", "ours", "prefix", "x").says(400, `"x" is not an address`)
	b.open("/allow?"+query.Encode()).submit("/allow", "reason", "ours").says(200, "4 of 5 are allowed.")

	many := make(url.Values)
	for i := range uint32(101) {
		many.Add("prefix", numbered(i).Addr().String())
	}
	b.open("/unblock?"+many.Encode()).says(422, "101 are ticked, and a form changes 100")
	b.open("/unblock").says(200, "Address or network")
	b.open("/block?"+query.Encode()).says(400, "more than one is given")
}

// A caller without a login, and a reader, see no button.
func TestNoButtonsForOthers(t *testing.T) {
	n := withHeld(1)
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	s := serverOf(t, n, server.Config{})
	token := serverOf(t, n, server.Config{ReaderTokenFile: tokenFile(t, readerSecret)})
	for _, path := range []string{"/blocked", "/address/203.0.113.7", "/network/203.0.113.0/24", "/network/203.0.113.7/32", "/allowed", "/held", "/near"} {
		for _, w := range []struct {
			way
			server *server.Server
		}{{way{from: "127.0.0.1"}, s}, {way{from: "127.0.0.1", header: bearer(readerSecret)}, token}} {
			status, body := w.ask(w.server, "GET "+path, "")
			if status > 303 || regexp.MustCompile(`method="post"|"/(un)?block[?"]|"/(allow|extend|confirm|withdraw|disallow)[?"]|checkbox`).MatchString(body) {
				t.Errorf("%s: %d\n%s", path, status, body)
			}
		}
	}
}

// The pages of what must not be blocked say so, or ask whether it is meant, and what
// was typed stays.
func TestPageOfABlock(t *testing.T) {
	long, markup := strings.Repeat("x", 4096), `</bdi><script>alert(1)</script>"><img src=x onerror=alert(1)>{{.Node}}`
	for _, c := range []struct {
		prefix string
		fields []string
		status int
		says   string
	}{
		{"203.0.113.7", []string{"reason", "scraper"}, 200, "203.0.113.7 is blocked until 13:00:00 on this node."},
		{"203.0.113.7", []string{"reason", markup}, 200, "203.0.113.7 is blocked"},
		{"203.0.113.7", []string{"reason", ""}, 422, "a note is required"},
		{"203.0.113.7", []string{"reason", long}, 400, "longer than 256 bytes"},
		{"203.0.113.7", []string{"reason", "a\u202eb"}, 400, "control characters"},
		{"203.0.113.7", []string{"reason", "a\u200bb"}, 400, "not seen"},
		{"203.0.113.7", []string{"reason", "ok\U000e0061\U000e007f"}, 400, "not seen"},
		{"203.0.113.7", []string{"reason", "a\nb"}, 400, "control characters"},
		{"203.0.113.7", []string{"reason", "x", "for", "1 week"}, 400, `"1 week" is not a duration`},
		{"203.0.113.7", []string{"reason", "x", "for", "9999d"}, 400, "not between 0 and 3650d"},
		{"203.0.113.7", []string{"reason", "x", "for", "until"}, 422, "no time is set"},
		{"203.0.113.7", []string{"reason", "x", "for", "until", "until", "tomorrow"}, 400, `"tomorrow" is not a time`},
		{"203.0.113.7", []string{"reason", "x", "for", "until", "until", "2026-03-01T11:59"}, 400, "not in the next ten years"},
		{"203.0.113.7", []string{"reason", "x", "for", "1h", "until", "2026-03-01T13:59"}, 400, "for and until are both set"},
		{"203.0.113.7", []string{"reason", "x", "prefix", "10.0.0.1"}, 409, "the box is not ticked"},
		{"203.0.113.7", []string{"reason", "x", "csrf", "-"}, 403, "the form is out of date"},
		{"10.0.0.1", []string{"reason", "x"}, 409, "the box is not ticked"},
		{"10.0.0.1", []string{"reason", "x", "meant", "yes"}, 200, "10.0.0.1 is blocked"},
		{"20.0.0.0/8", []string{"reason", "x"}, 409, "the box is not ticked"},
		{"20.0.0.0/8", []string{"reason", "x", "meant", "yes"}, 200, "20.0.0.0/8 is blocked"},
		{"198.18.0.0/16", []string{"reason", "x", "meant", "yes"}, 409, "this is not 198.18.0.0/16"},
		{"198.18.0.0/16", []string{"reason", "x", "typed", "198.18.0.0/15"}, 409, "this is not 198.18.0.0/16"},
		{"198.18.0.0/16", []string{"reason", "x", "typed", "198.18.0.0/16"}, 200, "198.18.0.0/16 is blocked"},
	} {
		n := newNode()
		b := browse(t, n).open("/block?prefix=" + url.QueryEscape(c.prefix))
		b.submit("/block", c.fields...).says(c.status, c.says)
		if blocked := n.list.Len() == 1; blocked != (c.status == 200) {
			t.Errorf("%s %.60q: blocked %t", c.prefix, c.fields, blocked)
		}
		if typed := escape.EscapeString(c.fields[1]); c.status != 200 && c.status != 403 && c.fields[1] != long && !strings.Contains(strings.ReplaceAll(b.body, "&#10;", "\n"), `name="reason" value="`+typed+`"`) {
			t.Errorf("%s %.60q: what was typed is lost:\n%s", c.prefix, c.fields, b.body)
		}
		if strings.Contains(b.body, "<script>") || strings.Contains(b.body, "<img") {
			t.Errorf("%s: markup:\n%s", c.prefix, b.body)
		}
	}
}

// Before its form, the page of a block says what it would do.
func TestPageSaysWhatABlockDoes(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	b := browse(t, n)
	for prefix, texts := range map[string][]string{
		"":               {"Block", "Address or network"},
		"203.0.113.9/24": {`"203.0.113.9/24" has host bits set`, "203.0.113.0/24"},
		"fe80::1%eth0":   {"is not an address"},
		"192.0.2.7":      {"192.0.2.7/32: allowed"},
		"0.0.0.0/0":      {"no client comes from 0.0.0.0"},
		"203.0.113.0/24": {"All that 203.0.113.0/24 sends will be refused on this node.", "It holds 3 addresses that sent requests in the last 5 minutes.", "None of it is allowed or protected."},
		"203.0.113.7":    {"It is blocked already, by rule site until 13:00:00: this replaces that block."},
		"192.0.0.0/16":   {"It does not apply to 192.0.2.0/24, which is allowed."},
		"10.0.0.0/24":    {"It does not apply to 10.0.0.1, which is protected."},
		"10.0.0.0/8":     {"It applies to 10.0.0.1, too, which is protected.", "10.0.0.0/8: too wide without force", "I mean it"},
		"198.18.0.0/16":  {"would refuse 41 %", "about 41.0 % of all", "Type 198.18.0.0/16 if you mean it"},
	} {
		b.open("/block?prefix=" + url.QueryEscape(prefix))
		for _, text := range texts {
			if !strings.Contains(plainText(b.body), text) {
				t.Errorf("%s: %d lacks %q:\n%s", prefix, b.status, text, plainText(b.body))
			}
		}
	}
	// A link fills in no field: a page of another site may lead an operator here.
	b.open("/block?prefix=198.18.0.0/16&typed=198.18.0.0/16&meant=yes&reason=mallory&for=7d&once=" + strings.Repeat("A", 26))
	if found := regexp.MustCompile(`value="(mallory|198[^"]*" auto|A{26})|value="7d" checked|name="meant"[^>]* checked`).FindString(b.body); found != "" {
		t.Errorf("a link filled in the form: %s", found)
	}
	if got := n.results(); len(got) > 0 {
		t.Errorf("to ask changed something: %q", got)
	}
	b.open("/block?prefix=203.0.113.7").submit("/block", "reason", "x", "for", "10m").says(409, "already blocked by rule site", "Change its end")
	b.open("/block?prefix=203.0.113.7").submit("/block", "reason", "x", "for", "24h").submit("/undo").says(200, "203.0.113.7 is blocked again by rule site until 13:00:00.")
	b.open("/block?prefix=203.0.113.8").submit("/block", "reason", "x").submit("/undo").says(200, "203.0.113.8 is unblocked, and its counts are cleared.")
	for i := range 3 { // each of its own
		b.open(fmt.Sprintf("/block?prefix=203.0.113.%d", 20+i)).submit("/block", "reason", "x").says(200, "is blocked until")
	}
}

// The blocks that a filter matches are lifted by one request, which is one change with their list.
// Without a filter nothing is, and a trial changes nothing.
func TestUnblockMany(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	for i := range 30 {
		s.mustBlock(t, numbered(uint32(i)).String(), []string{"site", "login", "site"}[i%3], []string{"n1", "n2"}[i%2])
	}
	lift := func(query string) (int, string) {
		status, body := s.ask(t, request{method: "DELETE", path: "/api/v1/blocks?" + query, unix: true})
		return status, strings.TrimSpace(string(body))
	}
	for _, wrong := range []string{"", "reason=x", "rule=", "all=yes", "all=false", "dry_run=maybe&all=true", "rule=site&owner=f", "prefix=site", "order=newest&rule=site", "seen=now&all=true", "rule=site&dry_run=1"} {
		if status, body := lift(wrong); status != 400 || n.list.Len() != 30 {
			t.Errorf("%q: %d %s, %d blocks are left", wrong, status, body, n.list.Len())
		}
	}
	failed := len(n.allAudits())
	if status, body := lift("rule=site&dry_run=true"); status != 200 || body != `{"lifted":20,"rules":{"site":20}}` || n.list.Len() != 30 || len(n.allAudits()) != failed {
		t.Errorf("a trial: %d %s, %d blocks are left", status, body, n.list.Len())
	}
	if status, body := lift("rule=site&seen=" + start.Add(-time.Hour).Format(time.RFC3339)); status != 200 || body != `{"lifted":0}` {
		t.Errorf("what was made since: %d %s", status, body)
	}
	status, body := lift("rule=site&reason=wrong+limit")
	if status != 200 || !strings.HasPrefix(body, `{"lifted":20,"rules":{"site":20},"batch":"`) || n.list.Len() != 10 {
		t.Errorf("%d %s, %d blocks are left", status, body, n.list.Len())
	}
	all := n.allAudits()
	if a := all[len(all)-1]; a.Action != "unblock many" || a.Target != "blocks of site" || a.Detail != "20 lifted: wrong limit" || len(a.Prefixes) != 20 {
		t.Errorf("%d changes: %+v", len(all), a)
	}
	if page := decode[admin.PastPage](t, s, "/api/v1/history?kind=change&prefix="+numbered(2).String()); len(page.Events) != 1 || len(page.Events[0].Change.Prefixes) != 20 {
		t.Errorf("of one of them: %+v", page)
	}
	if _, body := lift("all=true&origin=n2"); !strings.HasPrefix(body, `{"lifted":5,"rules":{"login":5},"batch":"`) {
		t.Errorf("of a node: %s", body)
	}
	if _, body := lift("prefix=" + netip.PrefixFrom(numbered(1).Addr(), 32).String()); body != `{"lifted":0}` && n.list.Len() != 5 {
		t.Errorf("again: %s", body)
	}
	if status, _ := s.ask(t, request{method: "DELETE", path: "/api/v1/blocks?all=true"}); status != 401 && status != 403 || n.list.Len() == 0 {
		t.Errorf("without a login: %d, %d blocks are left", status, n.list.Len())
	}
	if _, body := lift("all=true"); n.list.Len() != 0 {
		t.Errorf("all: %s, %d are left", body, n.list.Len())
	}
}
