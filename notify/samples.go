package notify

import (
	"net/netip"
	"time"

	"edgeguard"
)

// samples returns batches of every kind, with the characters that a text can have, for
// checking a template.
func samples() []*Batch {
	const text = `a host="shop.example.org" that \ says {{.}} & 'more' 客戶`
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	n := Names{Node: "edge-1", Run: "0a1b2c3d", Epoch: func(t time.Time) time.Time { return t }}
	block := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Rule: `log"in`, Reason: text, Origin: "edge-1", Count: 121, Limit: 100, Since: now, Until: now.Add(10 * time.Minute)}
	var few, many gathered
	few.Add(now, &block, "")
	few.Add(now, &block, "login_192.0.2.0_20260102T030405Z")
	for range 2 * mostExamples {
		many.Add(now, &block, "")
	}
	alarms := []Condition{{Kind: "log", About: `/var/log/a"b\.log`, Text: text, Since: now}, {Kind: "fleet_held", Text: text, Since: now, Confirm: true}}
	var book book
	began, _ := book.tellChanges(now, &n, alarms)
	ended, _ := book.tellChanges(now.Add(time.Minute), &n, nil)
	var all []*Batch
	for i, messages := range [][]Message{few.messages(now, &n, false), many.messages(now, &n, true), began, ended} {
		all = append(all, n.batch(now, "sample", uint64(i+1), 3, messages))
	}
	return append(all, n.TestBatch(now, "sample"))
}
