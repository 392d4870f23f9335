package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// sharing is a node of a fleet that requires signatures.
const sharing = `
node: $NAME
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"], auth: ["unix:$DIR/auth.sock"]}
fleet: {redis: "redis://$REDIS", namespace: test, push: 50ms, key_file: $KEY, key_mode: require}
rules: [{name: site, threshold: 2000}]
`

// tuners starts nodes that share a key, from edge-0 on, and returns when all are joined.
func tuners(t testing.TB, server *redistest.Server, yamls ...string) (all []*underTest) {
	t.Helper()
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "fleet.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, yaml := range yamls {
		name := fmt.Sprint("edge-", i)
		all = append(all, newNode(t, shortDir(t), strings.NewReplacer("$NAME", name, "$REDIS", server.Addr, "$KEY", key).Replace(yaml)).start())
	}
	for _, u := range all {
		u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Alive == len(all) })
	}
	return all
}

// setFleet changes the threshold of rule site on the whole fleet, as the API does.
func (u *underTest) setFleet(from, to uint32, force bool) *call.Problem {
	_, p := u.view().SetThreshold(u.t.Context(), "site", "ops-1", admin.ThresholdRequest{Threshold: to, IfThreshold: from, Note: "ticket 4711", Force: force, Scope: admin.ScopeFleet})
	return p
}

// shared has the threshold set and fails the test where it is not.
func (u *underTest) shared(from, to uint32) {
	u.t.Helper()
	if p := u.setFleet(from, to, false); p != nil {
		u.t.Fatal(p)
	}
}

// site returns the rule.
func (u *underTest) site() admin.Rule { return u.view().Rules()[0] }

// comes waits until the threshold is in force on nodes.
func comes(threshold uint32, nodes ...*underTest) {
	for _, u := range nodes {
		u.t.Helper()
		u.eventually(fmt.Sprintf("the threshold is %d", threshold), func() bool { return u.site().Threshold == threshold })
	}
}

// What an operator sets for the fleet is in force on all nodes, with who and why; also
// on one that was restarted or joins later, and after Redis was emptied. Undone on one
// node, it is undone on all.
func TestThresholdOfTheFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	all := tuners(t, server, sharing, sharing, sharing)
	a, b, c := all[0], all[1], all[2]
	a.shared(2000, 800)
	a.wants(800)
	comes(800, all...)
	for _, u := range all {
		r := u.site()
		if o := r.Overlay; o == nil || o.Threshold != 800 || o.Base != 2000 || o.By != "ops-1" || o.Note != "ticket 4711" || o.Scope != admin.ScopeFleet || o.Node != "edge-0" {
			t.Errorf("%s shows %+v", u.pipeline.Current().Config.Node, o)
		}
		if f := r.Fleet; f == nil || !f.InForce || f.Held || f.Why != "" || f.Threshold != 800 {
			t.Errorf("%s shows of the fleet %+v", u.pipeline.Current().Config.Node, f)
		}
	}
	b.eventually("it is in the audit", func() bool {
		page := b.audited()
		return len(page) == 1 && page[0].Who == "fleet" && page[0].Action == "threshold" && strings.Contains(page[0].Detail, "2000 → 800, on edge-0 by ops-1")
	})
	if p := b.setFleet(2000, 900, false); p == nil || p.Status != http.StatusConflict || !strings.Contains(p.Error(), "800 and not 2000: changed at") {
		t.Errorf("against the former threshold: %v", p)
	}
	c.stop()
	c = newNode(t, c.folder, c.yaml).start()
	c.wants(800) // before it has asked Redis
	b.shared(800, 900)
	comes(900, a, b, c)
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	d := newNode(t, shortDir(t), strings.Replace(c.yaml, "edge-2", "edge-3", 1)).start()
	comes(900, a, b, c, d)
	if was, now, p := c.view().EndFleet("site", "ops-2", false); p != nil || was != 900 || now != 2000 {
		t.Errorf("undone: %d, %d, %v", was, now, p)
	}
	comes(2000, a, b, c, d)
	if _, _, p := a.view().EndFleet("site", "ops-2", false); p == nil || p.Status != http.StatusNotFound {
		t.Errorf("undone twice: %v", p)
	}
	if r := d.site(); r.Overlay != nil || r.Fleet != nil {
		t.Errorf("after the undo: %+v, %+v", r.Overlay, r.Fleet)
	}
}

// Of changes that two nodes make beside each other, one is in force on both.
func TestThresholdOfTheFleetTwice(t *testing.T) {
	t.Parallel()
	all := tuners(t, redistest.Start(t, redistest.Options{}), sharing, sharing)
	a, b := all[0], all[1]
	from := uint32(2000)
	for round := range uint32(4) {
		var wg sync.WaitGroup
		for i, u := range all {
			wg.Go(func() { _ = u.setFleet(from, 1000+10*round+uint32(i), false) })
		}
		wg.Wait()
		newest := func(u *underTest) fleet.ThresholdRecord {
			e, _ := u.lifecycle.overlay.Fleet().Book().EntryOf("site")
			return e.ThresholdRecord
		}
		a.eventually("both have the same", func() bool { return newest(a) == newest(b) && newest(a).Threshold/10 == 100+round })
		from = newest(a).Threshold
		comes(from, a, b)
	}
}

// A node's own threshold goes before the fleet's, and candidates stay. A config with
// another base ends the fleet's there, and there alone.
func TestThresholdLayers(t *testing.T) {
	t.Parallel()
	other := strings.Replace(sharing, "2000", "1500", 1)
	all := tuners(t, redistest.Start(t, redistest.Options{}), sharing, sharing, other, sharing+"overlay: false\n", strings.Replace(sharing, "threshold: 2000", "threshold: 2000, window: 1h", 1))
	a, b, based, forbidden, hourly := all[0], all[1], all[2], all[3], all[4]
	b.must(b.set(2000, 700))
	a.shared(2000, 800)
	for u, why := range map[*underTest]string{b: "of its own", based: "threshold 1500 here", forbidden: "overlay: false", hourly: "counts something else"} {
		u.eventually("it says why it has another: "+why, func() bool { f := u.site().Fleet; return f != nil && !f.InForce && strings.Contains(f.Why, why) })
	}
	b.wants(700)
	based.wants(1500)
	forbidden.wants(2000)
	hourly.wants(2000)
	if p := b.setFleet(700, 600, false); p == nil || !strings.Contains(p.Error(), "of its own") {
		t.Errorf("beside its own: %v", p)
	}
	if p := based.setFleet(1500, 600, false); p == nil || p.Status != http.StatusConflict || !strings.Contains(p.Error(), "another base") {
		t.Errorf("of another base: %v", p)
	}
	if p := forbidden.setFleet(2000, 600, false); p == nil || p.Status != http.StatusForbidden {
		t.Errorf("forbidden: %v", p)
	}
	was, now, p := b.view().EndOverlay("site")
	if p != nil || was != 700 || now != 800 {
		t.Errorf("undone on the node: %d, %d, %v", was, now, p)
	}
	b.wants(800)
	b.must(b.set(800, 2000)) // the config's, over the fleet's
	b.wants(2000)
	if _, _, p := b.view().EndOverlay("site"); p != nil {
		t.Fatal(p)
	}
	was, now, p = based.view().EndFleet("site", "ops-2", false)
	if p != nil || was != 1500 || now != 1500 {
		t.Errorf("undone where it is not in force: %d, %d, %v", was, now, p)
	}
	comes(2000, a, b)

	a.shared(2000, 800)
	comes(800, a, b)
	b.yaml = strings.Replace(b.yaml, "2000", "1900", 1)
	b.must(b.Reload())
	b.wants(1900)
	ended := func() bool {
		page := b.audited()
		return page[0].Who == "config" && page[0].Action == "end overlay" && strings.Contains(page[0].Detail, "threshold 1900 here")
	}
	if !ended() {
		t.Errorf("audit: %+v", b.audited())
	}
	b.stop()
	b = newNode(t, b.folder, strings.Replace(b.yaml, "1900", "2000", 1)).start()
	b.wants(800) // as on the others that have this config
	b.stop()
	b = newNode(t, b.folder, strings.Replace(b.yaml, "2000", "1900", 1)).start()
	b.wants(1900)
	if !ended() {
		t.Errorf("audit after a restart: %+v", b.audited())
	}
	a.wants(800)
}

// Where signatures are not required, nothing is offered, taken or in force: who can
// write to Redis could set it.
func TestThresholdOfTheFleetNeedsSignatures(t *testing.T) {
	t.Parallel()
	accepts := strings.Replace(sharing, "key_mode: require", "key_mode: accept", 1)
	all := tuners(t, redistest.Start(t, redistest.Options{}), sharing, accepts, sharing+"mode: monitor\n")
	a, open, monitor := all[0], all[1], all[2]
	if p := open.setFleet(2000, 800, true); p == nil || p.Status != http.StatusConflict || p.Field != "scope" || !strings.Contains(p.Fix, "key_mode: require") {
		t.Errorf("with accept: %v", p)
	}
	if p := monitor.setFleet(2000, 800, true); p == nil || !strings.Contains(p.Error(), "monitor mode") {
		t.Errorf("in monitor mode: %v", p)
	}
	alone := newNode(t, shortDir(t), tuned).start()
	if p := alone.setFleet(2000, 800, true); p == nil || p.Status != http.StatusConflict || !strings.Contains(p.Error(), "no fleet") {
		t.Errorf("without a fleet: %v", p)
	}
	a.shared(2000, 800)
	comes(800, a, monitor)
	open.wants(2000)
	a.yaml = strings.Replace(a.yaml, "key_mode: require", "key_mode: accept", 1)
	a.must(a.Reload())
	a.wants(2000)
	if f := a.site().Fleet; f == nil || !strings.Contains(f.Why, "key_mode: require") {
		t.Errorf("shown as %+v", f)
	}
}

// A node on which a change would newly refuse more than confirm_share holds it: what
// was in force is in force, also after a restart, until an operator confirms it, which
// every node obeys, or undoes it. The one who forces it asks no node.
func TestThresholdOfTheFleetIsHeld(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(sharing, "threshold:", "scope: node, threshold:", 1) // or a blocks for both
	all := tuners(t, redistest.Start(t, redistest.Options{}), yaml, yaml)
	a, b := all[0], all[1]
	busy := func(network string) {
		for i := range 3000 {
			b.request(fmt.Sprintf("%s.%d", network, i%3)) // a third of the requests each
		}
	}
	busy("203.0.113")
	waits := func(threshold uint32) {
		t.Helper()
		b.eventually("it waits", func() bool {
			f := b.site().Fleet
			return f != nil && f.Held && f.Threshold == threshold && f.Share > 0.4
		})
	}
	a.shared(2000, 1500)
	comes(1500, a, b)
	a.shared(1500, 800)
	waits(800)
	b.wants(1500)
	a.wants(800)
	if o := b.site().Overlay; o == nil || o.Threshold != 1500 || o.Scope != admin.ScopeFleet {
		t.Errorf("while it waits, %+v is shown", o)
	}
	b.eventually("it is a condition", func() bool { return strings.Contains(b.conditions(), "would newly refuse") })
	var held admin.HeldPage
	if _, body := b.get("/api/v1/held"); json.Unmarshal([]byte(body), &held) != nil || len(held.Thresholds) != 1 || held.Thresholds[0].Rule != "site" || held.Thresholds[0].Fleet.Threshold != 800 {
		t.Errorf("held: %s", body)
	}
	b.stop()
	b = newNode(t, b.folder, b.yaml).start()
	b.wants(1500)
	waits(800)
	if _, _, p := b.view().EndFleet("site", "ops-2", false); p != nil { // withdrawn
		t.Fatal(p)
	}
	comes(2000, a, b)
	if strings.Contains(b.conditions(), "newly refuse") {
		t.Errorf("conditions: %s", b.conditions())
	}
	b.eventually("it is joined again", func() bool { return b.fleet().Up })
	busy("198.51.100")
	a.shared(2000, 800)
	waits(800)
	if p := b.setFleet(2000, 800, false); p == nil || !p.Forceable {
		t.Errorf("without force: %v", p)
	}
	if p := b.setFleet(2000, 800, true); p != nil { // confirmed
		t.Fatal(p)
	}
	comes(800, b)
	// a has the 800 of its own until then, and its clock may be behind b's.
	a.eventually("it has b's record", func() bool { f := a.site().Fleet; return f != nil && f.Node == b.pipeline.Current().Config.Node })
	if p := a.setFleet(800, 700, true); p != nil {
		t.Fatal(p)
	}
	comes(700, a, b)
}

// An undo of a higher threshold is held as well, and an undo on that node confirms it.
func TestUndoOfTheFleetIsHeld(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(sharing, "threshold: 2000", "scope: node, threshold: 500", 1)
	all := tuners(t, redistest.Start(t, redistest.Options{}), yaml, yaml)
	a, b := all[0], all[1]
	a.shared(500, 5000)
	comes(5000, a, b)
	for i := range 3000 {
		b.request(fmt.Sprintf("203.0.113.%d", i%3))
	}
	if _, _, p := a.view().EndFleet("site", "", false); p != nil {
		t.Fatal(p)
	}
	b.eventually("it waits", func() bool { f := b.site().Fleet; return f != nil && f.Held && f.Threshold == 0 })
	b.wants(5000)
	if _, now, p := b.view().EndFleet("site", "", false); p != nil || now != 500 {
		t.Fatal(now, p)
	}
	comes(500, a, b)
}

// An end and an action reach all nodes. What has ended is ended on every node: where it ran, where it
// was restarted, and where it was away, which then takes none of it. An undo of the action is held
// where the rule would refuse much again.
func TestThresholdOfTheFleetEnds(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(sharing, "threshold: 2000", "scope: node, threshold: 500", 1)
	all := tuners(t, redistest.Start(t, redistest.Options{}), yaml, yaml, yaml)
	a, b, away := all[0], all[1], all[2]
	set := func(request admin.ThresholdRequest) {
		t.Helper()
		request.IfThreshold, request.Scope = a.site().Threshold, admin.ScopeFleet
		if _, p := a.view().SetThreshold(t.Context(), "site", "ops-1", request); p != nil {
			t.Fatal(p)
		}
	}
	acts := func(action string, nodes ...*underTest) {
		t.Helper()
		for _, u := range nodes {
			u.eventually("the action is "+action, func() bool { return u.site().Action == action })
		}
	}
	set(admin.ThresholdRequest{Action: "shadow", For: "1h"})
	acts("shadow", all...)
	for _, u := range []*underTest{b, away} {
		if o := u.site().Overlay; o == nil || o.Action != "shadow" || o.Until.Sub(o.Since) != time.Hour || o.By != "ops-1" || o.Node != "edge-0" || o.Scope != admin.ScopeFleet {
			t.Errorf("shown as %+v", o)
		}
	}
	away.stop()
	b.stop()
	b = newNode(t, b.folder, b.yaml).start()
	acts("shadow", b)
	for i := range 3000 {
		b.request(fmt.Sprintf("203.0.113.%d", i%3))
	}
	if _, _, p := a.view().EndFleet("site", "", false); p != nil {
		t.Fatal(p)
	}
	b.eventually("the undo waits", func() bool { f := b.site().Fleet; return f != nil && f.Held && f.Threshold == 0 && f.Share > 0.4 })
	acts("shadow", b)
	acts("block", a)

	set(admin.ThresholdRequest{Threshold: 700, Action: "shadow", For: "2s"})
	has := func(u *underTest) {
		u.eventually("it has what ended", func() bool {
			e, _ := u.lifecycle.overlay.Fleet().Book().EntryOf("site")
			return e.Ended && e.Threshold == 700
		})
	}
	has(a)
	has(b)
	comes(500, a, b)
	acts("block", a, b)
	a.eventually("it is in the audit", func() bool {
		page := a.audited()
		return page[0].Who == "edgeguard" && page[0].Action == "end overlay" && page[0].Detail == "the fleet's: its time is over: 700 → 500"
	})
	away = newNode(t, away.folder, away.yaml).start()
	has(away)
	away.wants(500)
	acts("block", away)
	if f := away.site().Fleet; f != nil {
		t.Errorf("what has ended is shown as %+v", f)
	}
}

// A file of the fleet's thresholds that cannot be used is renamed, and they come again
// from Redis; where it cannot be written nothing is in force.
func TestThresholdOfTheFleetFile(t *testing.T) {
	t.Parallel()
	all := tuners(t, redistest.Start(t, redistest.Options{}), sharing, sharing)
	a, b := all[0], all[1]
	file := filepath.Join(b.folder, "state", "overlay-fleet.json")
	b.must(os.Mkdir(file, 0o700)) // no write can replace a folder
	a.shared(2000, 800)
	b.eventually("it is an alarm", func() bool { return strings.Contains(b.conditions(), "cannot be written") })
	b.wants(2000)
	b.must(os.Remove(file))
	comes(800, b)
	b.eventually("the alarm ends", func() bool { return !strings.Contains(b.conditions(), "cannot be written") })
	b.stop()
	b.must(os.WriteFile(file, []byte(`{"rules":[{"rule":"site"}]}`), 0o600))
	b = newNode(t, b.folder, b.yaml).start()
	b.eventually("it is an alarm", func() bool { return strings.Contains(b.log.String(), file+".aside-1") })
	comes(800, b)
}

// form sends the first form of a page whose action ends so, as a browser does, with
// some fields set, and returns the page that answers.
func (u *underTest) form(page, action string, set url.Values) string {
	u.t.Helper()
	return u.formTo(page, action, "/rules/site"+action, set)
}

// formTo is form for a page whose form goes to a path.
func (u *underTest) formTo(page, action, path string, set url.Values) string {
	u.t.Helper()
	desk := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, "admin.sock"))
	}}}
	_, html := u.get(page)
	_, html, found := strings.Cut(html, action+`">`)
	html, _, _ = strings.Cut(html, "</form>")
	fields := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(html, -1) {
		fields.Set(m[1], m[2])
	}
	for name, values := range set {
		fields[name] = values
	}
	request, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(fields.Encode()))
	if err != nil || !found {
		u.t.Fatalf("%s has no form %s: %v", page, action, err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "http://localhost")
	answer, err := desk.Do(request)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return string(text)
}

// The page that applies a threshold offers all nodes where signatures are required, and
// what it did is undone by the page of the rule. What waits is on the page of held
// records, and confirmed and withdrawn there.
func TestThresholdOfTheFleetOnPages(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(sharing, "threshold:", "scope: node, threshold:", 1)
	all := tuners(t, redistest.Start(t, redistest.Options{}), yaml, yaml)
	a, b := all[0], all[1]
	if _, page := a.get("/rules/site/threshold?threshold=800"); !strings.Contains(page, "on all 2 nodes") {
		t.Errorf("not offered:\n%s", page)
	}
	alone := newNode(t, shortDir(t), tuned).start()
	if _, page := alone.get("/rules/site/threshold?threshold=800"); strings.Contains(page, `name="scope"`) {
		t.Errorf("offered to a node alone:\n%s", page)
	}
	whole := url.Values{"scope": {"fleet"}, "note": {"<b>4711"}}
	a.form("/rules/site/threshold?threshold=800", "/threshold", whole)
	comes(800, a, b)
	if _, page := b.get("/rules/site"); !strings.Contains(page, "For the whole fleet, set on <bdi>edge-0</bdi>") || !strings.Contains(page, "&lt;b&gt;4711") {
		t.Errorf("the page of the rule:\n%s", page)
	}
	b.form("/rules/site", "/overlay", nil)
	comes(2000, a, b)
	for i := range 3000 {
		b.request(fmt.Sprintf("203.0.113.%d", i%3))
	}
	waits := func() {
		b.eventually("it waits", func() bool { _, page := b.get("/blocked/held"); return strings.Contains(page, "Confirm</button>") })
	}
	a.form("/rules/site/threshold?threshold=800", "/threshold", whole)
	waits()
	if _, page := b.get("/rules/site"); !strings.Contains(page, "awaits confirmation here") {
		t.Errorf("the page of the rule:\n%s", page)
	}
	b.form("/blocked/held", "/overlay", nil)
	comes(2000, a, b)
	a.form("/rules/site/threshold?threshold=900", "/threshold", whole)
	waits()
	b.form("/blocked/held", "/threshold", nil)
	comes(900, a, b)
	if _, page := b.get("/blocked/held"); !strings.Contains(page, "Nothing waits") {
		t.Errorf("still held:\n%s", page)
	}
}
