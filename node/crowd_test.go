package node

import (
	"net/netip"
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
	u.eventually("it is on the disk", func() bool { return len(u.past("kind=crossing")) == 1 })
	u.stop()
	again := newNode(t, u.folder, crowdConfig).start()
	again.eventually("it is known again", func() bool { return len(again.attacks()) == 1 })
	if b := again.attacks()[0]; b.ID != a.ID || b.Crowd == nil || b.Crowd.Count != 41 || b.Crowd.Members != 0 {
		t.Errorf("%+v %+v", b, b.Crowd)
	}
}
