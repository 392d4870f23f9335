package node

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/admin"
)

const crowdConfig = `
node: edge-1
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
rules: [{name: crowd, key: {address: none, with: [path]}, count: {distinct: address}, threshold: 40, guard: 1, window: 5m, action: shadow, match: {method: POST, path: ["/login*"]}}]
`

// comers has n clients ask for a path each once, the even ones of IPv6, with an answer.
func (u *underTest) comers(path string, from, n int, status uint16, agent string) {
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	now := u.clock.Now()
	var events []edgeguard.Event
	for i := from; i < from+n; i++ {
		addr := netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)})
		if i%2 == 0 {
			addr = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(i >> 8), byte(i), 15: 9})
		}
		events = append(events, edgeguard.Event{Time: now, Addr: addr, Kind: both, Verified: both, Method: "POST", Path: path, Status: status, Agent: agent,
			Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldAgent})
	}
	u.pipeline.Batches("log")(now, events)
}

// A crowd is an attack of its own, with who came after half of the limit, how they did, and their agents. A restart
// has the same row, without who came.
func TestCrowd(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), crowdConfig).start()
	u.comers("/login?a=1", 0, 60, 401, "bad\x1bbot")
	u.comers("/login?a=2", 0, 9, 302, "Firefox")
	u.comers("/login2", 0, 30, 401, "")
	u.eventually("it is told", func() bool { return len(u.attacks()) == 1 })
	a := u.attacks()[0]
	if c := a.Crowd; c == nil || c.Says != "60 addresses at /login" || c.Members != 49 || c.Failed != 0 || c.Waiting != 40 || c.Limit != 40 || !a.Watched || a.NetworkCount != 0 || !a.GoesOn() ||
		len(c.Agents) != 2 || c.Agents[0].Agent != "bad?bot" || c.Agents[0].Share < .7 {
		t.Fatalf("%+v %+v", a, c)
	}
	status, body := u.get("/api/v1/attacks/" + a.ID + "?limit=30")
	if status != 200 || !strings.Contains(body, `"next":"`) {
		t.Fatalf("%d %s", status, body)
	}
	d := u.attack(a.ID)
	succeeded := slices.DeleteFunc(slices.Clone(d.Comers), func(m admin.Comer) bool { return !m.Succeeded })
	if len(d.Comers) != 49 || len(succeeded) != 9 || d.Next != "" {
		t.Errorf("%d members, %d succeeded", len(d.Comers), len(succeeded))
	}
	x, err := u.desk().ExplainKey(t.Context(), "crowd", "path=/login")
	if err != nil || x.Rule.Count != 60 || x.Rule.Limit != 40 || x.Rule.Key != "everybody path=/login" || x.Rule.Does != "shadow" || len(x.Crossings) != 1 || x.Crossings[0].Crossing.Count != 41 {
		t.Errorf("%+v %v", x, err)
	}
	if x, err := u.desk().ExplainKey(t.Context(), "crowd", "path=/other"); err != nil || x.Rule.Count != 0 || len(x.Crossings) != 0 {
		t.Errorf("%+v %v", x, err)
	}
	if top, err := u.desk().Top(t.Context(), 5); err != nil || len(top.Keys) != 2 || top.Keys[0].Shown != "everybody path=/login" || top.Keys[1].Shown != "everybody path=/login2" {
		t.Errorf("%+v %v", top.Keys, err)
	}
	u.eventually("it is on the disk", func() bool { return len(u.past("kind=crossing")) == 1 })
	u.stop()
	again := newNode(t, u.folder, crowdConfig).start()
	again.eventually("it is known again", func() bool { return len(again.attacks()) == 1 })
	if b := again.attacks()[0]; b.ID != a.ID || b.Crowd == nil || b.Crowd.Count != 41 || b.Crowd.Members != 0 {
		t.Errorf("%+v %+v", b, b.Crowd)
	}
}

// An operator blocks who came to a crowd by one form, which leaves out and names those that may be customers, and takes that back by
// another.
func TestCrowdIsBlocked(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), crowdConfig).start()
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	customer := netip.MustParseAddr("8.8.0.41")
	for i := range 3 {
		page := edgeguard.Event{Time: u.clock.Now(), Addr: customer, Kind: both, Verified: both, Method: "GET", Host: "shop.example", Path: fmt.Sprint("/shoes/", i), Status: 200, Referer: "https://shop.example/",
			Known: edgeguard.FieldMethod | edgeguard.FieldHost | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldReferer}
		u.pipeline.Batches("log")(u.clock.Now(), []edgeguard.Event{page})
	}
	u.comers("/login", 0, 60, 401, "bot")
	u.comers("/login", 0, 3, 401, "bot")
	u.eventually("it is told", func() bool { return len(u.attacks()) == 1 })
	a := u.attacks()[0]
	if _, page := u.get("/"); !strings.Contains(page, ">60 addresses at /login<") || !strings.Contains(page, ">watched<") {
		t.Errorf("the front page has no row:\n%s", page)
	}
	_, page := u.get("/attacks/" + a.ID)
	for _, want := range []string{"60 addresses at /login, by rule crowd", "Block these", "bot", "may be a customer", "8.8.0.41", "edgeguard blocks none of them by itself"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	act := "/block?" + url.Values{"of": {a.ID}, "back": {"/attacks/" + a.ID}}.Encode()
	_, page = u.get(act)
	for _, want := range []string{"All that 42 addresses send will be refused", "1 member is left out, who succeeded or were served pages of the site before, and may be customers: 8.8.0.41"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form has no %q:\n%s", want, page)
		}
	}
	once := strings.Repeat("A", len(rand.Text()))
	set := url.Values{"reason": {"stuffing"}, "for": {"1h"}, "meant": {"yes"}, "once": {once}}
	page = u.formTo(act, `action="/block`, "/block", set)
	if n := u.list.Len(); n != 42 || u.blocked("8.8.0.41") || !u.blocked("2001:db8:32::9") || u.blocked("8.8.0.5") {
		t.Fatalf("%d blocks:\n%s", n, page)
	}
	if page = u.formTo("/attacks/"+a.ID+"?done="+once, `action="/undo`, "/undo", nil); u.list.Len() != 0 || !strings.Contains(page, "42 addresses are unblocked") {
		t.Errorf("%d blocks after the way back:\n%s", u.list.Len(), page)
	}
}
