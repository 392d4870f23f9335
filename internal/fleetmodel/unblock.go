package fleetmodel

import (
	"fmt"
	"slices"
	"time"

	"edgeguard/aggregator"
)

// Unblock forgets a key everywhere, up to the slot of a time, in the tables first or
// last. with is the attributes' text. reaches is asked of each node whose call to Redis
// may be lost.
func (f *Fleet) Unblock(meter int, k aggregator.Key, with string, at time.Time, tablesFirst bool, reaches func() bool) {
	cleared := slot(&f.Meters[meter], at) + 1
	addr := k.Prefix.Addr()
	for _, n := range f.Nodes {
		if tablesFirst {
			n.Tables[meter].Clear(addr, with)
		}
		for _, key := range n.Totals.Forget(k.Prefix, at) {
			if !n.Cut && reaches() {
				f.forget(n, key, cleared)
			}
		}
		n.Tables[meter].Clear(addr, with)
		n.saved = slices.DeleteFunc(n.saved, func(w saved) bool { return w.prefix == k.Prefix }) // the tombstone clears it at a restart
	}
	f.tombs = slices.DeleteFunc(f.tombs, func(t tombstone) bool { return t.prefix == k.Prefix })
	f.tombs = append(f.tombs, tombstone{k.Prefix, time.Unix(int64(cleared-1)*int64(f.Meters[meter].Width), 0)})
}

// forget has Redis forget a key's slots below cleared.
func (f *Fleet) forget(n *Node, k aggregator.Key, cleared uint32) {
	width := f.width(k)
	c := Command{"edgeguard1_forget", []string{string(k.Append(nil))}, []string{fmt.Sprint(cleared), fmt.Sprint(width)}}
	if _, err := f.command(n, &c); err != nil {
		f.fail(fmt.Errorf("forget: %w", err))
	}
}

// width is the slot of a key's meter, in seconds.
func (f *Fleet) width(k aggregator.Key) uint32 {
	for i := range f.Meters {
		if f.Meters[i].Fingerprint == k.Meter {
			return f.Meters[i].Width
		}
	}
	return 0
}
