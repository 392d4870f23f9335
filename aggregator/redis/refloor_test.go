package redis

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

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
