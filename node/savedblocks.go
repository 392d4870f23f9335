package node

import (
	"net/netip"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/snapshot"
)

// charged returns the shares of the requests that saved blocks are charged with.
func charged(blocks []snapshot.Block) map[netip.Prefix]float64 {
	shares := make(map[netip.Prefix]float64)
	for i := range blocks {
		if b := &blocks[i]; b.Elsewhere && b.Share > 0 {
			shares[b.Prefix] = b.Share
		}
	}
	return shares
}

// trustOfSaved returns what the list knew of a saved record.
func trustOfSaved(b *snapshot.Block) blocklist.Trust {
	return blocklist.Trust{Forced: b.Forced, Signed: b.Signed, Here: b.Forced && !b.Distant, Elsewhere: b.Elsewhere}
}

// blockToSave returns a block of the list as it is saved, with what the list knows of it.
func blockToSave(b edgeguard.Block, t blocklist.Trust) *snapshot.Block {
	return &snapshot.Block{Block: b, Forced: t.Forced, Signed: t.Signed, Distant: t.Forced && !t.Here, Elsewhere: t.Elsewhere}
}
