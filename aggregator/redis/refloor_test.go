package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestForgedFloor: a cleared-before mark that a thief writes past the functions
// keeps a key from being counted for some seconds, and raises an alarm.
func TestForgedFloor(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	a, b := fleet[0], fleet[1]
	const client = "203.0.113.91"
	n := newNames("test", 4)
	ring := make([]byte, 9+68+3)
	ring[0] = 1
	binary.BigEndian.PutUint32(ring[1:], uint32(time.Now().Unix()/testWidth))
	binary.BigEndian.PutUint32(ring[5:], uint32(time.Now().Unix()/testWidth)+60)
	if err := thief(t, s).HSet(context.Background(), n.suspect(key(client)), "f", ring).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a.see(client, testLimit/2+5)
	b.see(client, testLimit/2+5)
	a.eventually(t, "the count of both", func() bool {
		a.see(client, 1) // it goes on, so that it is pushed again
		return held(t, s, client) > testLimit
	})
	t.Logf("counted again after %v", time.Since(began).Round(time.Second/10))
	alarmed := a.alarmed("forged/marks") + b.alarmed("forged/marks")
	if !strings.Contains(alarmed, "after an unblock") {
		t.Errorf("the alarm: %q", alarmed)
	}
	b.eventually(t, "the crossing", func() bool { b.see(client, 1); return b.blocked(client) != nil || a.blocked(client) != nil })
}

// TestUnblockByAClockAhead: the unblock of a node whose clock is half a minute
// ahead clears the counts in Redis as any other does, and only as far as Redis'
// own time.
func TestUnblockByAClockAhead(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	const addr, ahead = "203.0.113.7", 30 * time.Second
	for _, m := range fleet {
		m.see(addr, 60)
	}
	for _, m := range fleet {
		m.eventually(t, "the block", func() bool { return m.blocked(addr) != nil })
	}
	program.Eventually(t, "the counts", func() bool { return held(t, s, addr) == 120 })
	fast := newMember(t, testConfig(s.Addr, "edge-fast"))
	fast.epoch = func(local time.Time) time.Time { return local.Add(ahead) }
	fast.local = func(epoch time.Time) time.Time { return epoch.Add(-ahead) }
	fast.start(t)
	fast.eventually(t, "the block", func() bool { return fast.blocked(addr) != nil })
	fast.list.Lift(key(addr).Prefix, time.Now(), "a customer", "admin")
	for _, m := range fleet {
		m.eventually(t, "the unblock", func() bool { return m.blocked(addr) == nil })
	}
	program.Eventually(t, "the counts to be forgotten", func() bool { return held(t, s, addr) == 0 })
}

// TestForgetNotTheFuture: of a mark in the future the server's own time is set,
// so that no call keeps a key from being counted for long. One that an unblock of
// a node within the tolerance explains is set as it is.
func TestForgetNotTheFuture(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, c := context.Background(), thief(t, s)
	now := func() int64 { return s.Client().Time(ctx).Val().Unix() }
	for i, ahead := range []int64{-60, 0, 6, 60, 1 << 30} {
		name := fmt.Sprintf("eg:{test/0}:k:%d", i)
		before := now()
		asked := (before + ahead) / testWidth
		if n, err := c.FCall(ctx, function("forget"), []string{name}, asked, testWidth).Int(); n != 1 || err != nil {
			t.Fatalf("%d s ahead: emptied %d, %v", ahead, n, err)
		}
		ring := c.HGet(ctx, name, "f").Val()
		got, after := int64(binary.BigEndian.Uint32([]byte(ring[5:9]))), now()
		if got < min(asked, (before+5)/testWidth+2) || got > min(asked, (after+5)/testWidth+2) {
			t.Errorf("%d s ahead: the mark is slot %d, asked for %d at %d", ahead, got, asked, before/testWidth)
		}
	}
}
