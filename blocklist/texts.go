package blocklist

import "edgeguard"

// mostTexts is how many texts are shared: names of rules and nodes, and reasons. Other
// nodes write reasons, and each can be another, so that there must be a bound.
const mostTexts = 1024

// texts are the texts of blocks, each once. A million blocks that came from Redis or
// from a file have three texts each, which are the same few: without sharing, the
// garbage collector had three times as much to look at.
type texts map[string]string

// share replaces the texts of a block by equal ones that other blocks have.
func (t texts) share(b *edgeguard.Block) {
	b.Rule, b.Reason, b.Origin = t.one(b.Rule), t.one(b.Reason), t.one(b.Origin)
}

func (t texts) one(text string) string {
	known, ok := t[text]
	if ok {
		return known
	}
	if len(t) >= mostTexts { // what is used often comes again
		clear(t)
	}
	t[text] = text
	return text
}
