package fleet

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

// thief is a client with the name and password of a node's Redis user, and nothing
// else. It calls the functions, and writes past them.
type thief struct {
	t      *testing.T
	client *goredis.Client
}

func (g *guarded) thief() *thief {
	g.t.Helper()
	options := g.server.Options()
	options.Username, options.Password = "edge", "node"
	th := &thief{t: g.t, client: goredis.NewClient(options)}
	g.t.Cleanup(func() { th.client.Close() })
	return th
}

// record returns a forced block of two hours, with what change does to it.
func (th *thief) record(prefix netip.Prefix, change func(*aggregator.Record)) string {
	th.t.Helper()
	now := time.Now()
	r := aggregator.Record{Forced: true, Retention: 5 * time.Minute, Block: edgeguard.Block{
		Prefix: prefix, Rule: "manual", Reason: "maintenance", Origin: "edge-1",
		Since: now, Until: now.Add(2 * time.Hour), Version: 1 << 40,
	}}
	if change != nil {
		change(&r)
	}
	text, err := r.Encode()
	if err != nil {
		th.t.Fatal(err)
	}
	return text
}

// writes puts records into the list: every second one by the function, the others past
// it.
func (th *thief) writes(prefixes []netip.Prefix, change func(*aggregator.Record)) {
	th.t.Helper()
	var published []any
	pipe := th.client.Pipeline()
	for i, p := range prefixes {
		if i%2 == 0 {
			published = append(published, p.String(), th.record(p, change), "")
		} else {
			th.past(pipe, p.String(), th.record(p, change))
		}
	}
	for some := range slices.Chunk(published, 150) {
		args := append([]any{time.Now().UnixMilli()}, some...)
		if err := th.client.FCall(background, redis.LibraryName+"_publish", publishKeys(), args...).Err(); err != nil {
			th.t.Fatal(err)
		}
	}
	if _, err := pipe.Exec(background); err != nil {
		th.t.Fatal(err)
	}
}

// past writes a record without the function, into the hash and the stream.
func (th *thief) past(pipe goredis.Pipeliner, prefix, record string) {
	th.t.Helper()
	version, err := th.client.HIncrBy(background, blocksKey("state"), "version", 1).Result()
	if err != nil {
		th.t.Fatal(err)
	}
	pipe.HSet(background, blocksKey("blocks"), prefix, record)
	pipe.XAdd(background, addChange(version, prefix, record))
}

// beats sends heartbeats of nodes that do not exist, until the test ends or the
// returned function is called.
func (th *thief) beats(nodes int, own ...netip.Addr) {
	th.t.Helper()
	send := func() {
		pipe := th.client.Pipeline()
		for i := range nodes {
			now := time.Now()
			b := aggregator.Heartbeat{Node: fmt.Sprintf("edge-%d", 100+i), Boot: fmt.Sprintf("%016x", i), Version: "v9", Started: now, At: now, Own: own}
			pipe.FCall(background, redis.LibraryName+"_beat", memberKeys(), b.Field(), b.Encode(), partitions, "-1", "0", "")
		}
		_, _ = pipe.Exec(background)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	send()
	go func() {
		defer close(ended)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				send()
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	th.t.Cleanup(func() { close(stop); <-ended })
}

// floors sets the cleared-before mark of a client's counts into the future.
func (th *thief) floors(client netip.Addr, ahead time.Duration) {
	th.t.Helper()
	_, suspect := keysOf(client)
	floor := uint32(time.Now().Add(ahead).Unix()) / guardedSlot
	// The function may refuse it.
	_ = th.client.FCall(background, redis.LibraryName+"_forget", []string{suspect}, floor, guardedSlot).Err()
	ring := floorRing(uint32(time.Now().Unix())/guardedSlot, floor)
	if err := th.client.HSet(background, suspect, "f", ring).Err(); err != nil {
		th.t.Fatal(err)
	}
}

// floorRing is an empty ring of the fleet's with a head and a floor.
func floorRing(head, floor uint32) string {
	b := []byte{1, byte(head >> 24), byte(head >> 16), byte(head >> 8), byte(head), byte(floor >> 24), byte(floor >> 16), byte(floor >> 8), byte(floor)}
	return string(append(b, make([]byte, 68+3)...))
}
