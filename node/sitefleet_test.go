package node

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

const guardedFleet = `
node: $NAME
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"], auth: ["unix:$DIR/auth.sock"]}
own_hosts: [example.org]
fleet: {redis: "redis://$REDIS", namespace: test, push: 50ms}
rules:
  - {name: missing, threshold: 4, guard: 1, window: 5m, match: {status: [404]}, block_for: 1h}
  - {name: site, threshold: 60000}
`

// serves has so many visitors of a node, each in a network of its own, ask every 5 s.
func (u *underTest) serves(net byte, visitors int, from, until time.Time, status uint16) {
	read := u.pipeline.Batches("log a")
	for at := from; at.Before(until); at = at.Add(5 * time.Second) {
		var events []edgeguard.Event
		for i := range visitors {
			const both = edgeguard.KindRequest | edgeguard.KindResponse
			events = append(events, edgeguard.Event{Time: at, Addr: netip.AddrFrom4([4]byte{100, net, byte(i), 7}), Kind: both, Verified: both, Status: status,
				Known: edgeguard.FieldStatus | edgeguard.FieldHost | edgeguard.FieldPath, Host: "example.org", Path: fmt.Sprint("/", i)})
		}
		read(at, events)
	}
}

// blockedOf returns how many addresses of 100.net.0.0/16 the node blocks.
func (u *underTest) blockedOf(net byte) (n int) {
	within := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, net}), 16)
	for b := range u.list.Records() {
		if !b.Lifted && within.Contains(b.Prefix.Addr()) {
			n++
		}
	}
	return n
}

// A node of three that answers 404 to all of its visitors does not block them on the
// others: two at most, which are lifted everywhere when the node knows. So is the whole
// outage where it has so many visitors that the watch finds it. Where it has so few that only
// their absence shows, the others stay blocked here, and so do these two once they fail again.
func TestBrokenNodeOfAFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	var nodes []*underTest
	for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
		nodes = append(nodes, newNode(t, shortDir(t), strings.NewReplacer("$NAME", name, "$REDIS", server.Addr).Replace(guardedFleet)))
	}
	small, well, large := nodes[0], nodes[1], nodes[2]
	// The half hour before is shown before the watch's clock follows the node's.
	breaks := well.clock.Now().Add(-100 * time.Second).Truncate(10 * time.Second)
	small.serves(1, 10, breaks.Add(-31*time.Minute), breaks, 200)
	large.serves(3, 40, breaks.Add(-31*time.Minute), breaks, 200)
	well.serves(2, 10, breaks.Add(-31*time.Minute), breaks, 200)
	for _, u := range nodes {
		u.start()
	}
	for _, u := range nodes {
		u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Alive == 3 })
	}
	small.serves(1, 10, breaks, breaks.Add(90*time.Second), 404)
	large.serves(3, 40, breaks, breaks.Add(40*time.Second), 404)
	if a, c := small.blockedOf(1), large.blockedOf(3); a != 10 || c != 40 {
		t.Fatalf("%d and %d are blocked where the site fails", a, c)
	}
	well.eventually("those that travel at once are here", func() bool { return well.blockedOf(1) == 2 && well.blockedOf(3) == 2 })
	large.serves(3, 40, breaks.Add(40*time.Second), breaks.Add(90*time.Second), 404)
	for _, u := range nodes {
		u.eventually("those of the outage are lifted", func() bool { return u.blockedOf(3) == 0 })
	}
	well.eventually("those that travelled are lifted", func() bool { return well.blockedOf(1) == 0 })
	small.eventually("here, too", func() bool { return small.blockedOf(1) == 8 })
	// The guard's clock has come further than the visitors were shown: to where it is judged.
	again := small.clock.Now()
	small.serves(1, 10, again, again.Add(40*time.Second), 404)
	pass(20, small, large)
	if a, b := small.blockedOf(1), well.blockedOf(1); a != 10 || b != 0 {
		t.Errorf("of the small node's visitors %d are blocked there and %d elsewhere", a, b)
	}
	if n := small.fleet().Staying; n != 10 {
		t.Errorf("%d blocks stay where they were made", n)
	}
}
