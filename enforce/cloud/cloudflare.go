package cloud

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard/enforce"
	"edgeguard/internal/outbound"
	"edgeguard/internal/sleep"
)

// Blocks in a list of Cloudflare's
// (https://developers.cloudflare.com/waf/tools/lists/lists-api/).
//
// Each item says in its comment that it is ours, and only such items are ever deleted:
// others may keep theirs in the same list. A change is an operation that ends later, and
// an account has one of them at a time. Items have no end: what is not deleted stays.

const (
	// The widest prefixes of a list, by Cloudflare's documentation of 2025. One page of
	// it has /4 for IPv6, another /12.
	widest4, widest6 = 8, 12
	// chunk is how many items one request adds or deletes.
	chunk = 10_000
	// The time between two looks at an operation, and how long all of them may take.
	firstLook, lastLook = time.Second, 5 * time.Second
	patience            = 3 * time.Minute
)

// CloudflareConfig is what a list needs.
type CloudflareConfig struct {
	Account, ID string
	TokenFile   string
	Endpoint    string // empty is Cloudflare's
	Most        int
	Every       time.Duration
	Mark        string // the comment of each item of ours
	Rank        Rank   // nil for a list that is only emptied: it may be somebody else's by now
}

// Cloudflare keeps blocks in the list. It is safe for concurrent use.
type Cloudflare struct {
	Contents
	config CloudflareConfig
	api    *cloudflareAPI
	look   time.Duration // firstLook, and less in tests
}

// NewCloudflare returns a list. Nothing is sent before Replace.
func NewCloudflare(c CloudflareConfig) *Cloudflare {
	return &Cloudflare{config: c, api: newCloudflareAPI(c), look: firstLook}
}

// Traits returns how to use it. What was learned behind a proxy is in force too:
// Cloudflare is that proxy.
func (l *Cloudflare) Traits() enforce.Traits {
	return enforce.Traits{Every: l.config.Every, Takes: takes(l.config.Every)}
}

// Close ends the connection. The list stays as it is.
func (l *Cloudflare) Close() error {
	l.api.client.Close()
	return nil
}

// Replace makes the hottest of entries all that the list holds of ours. It deletes
// before it adds, since the list may be full.
func (l *Cloudflare) Replace(ctx context.Context, _ time.Time, entries []enforce.Entry) error {
	kept, left := hottest(entries, l.config.Most, holds, l.config.Rank)
	have, err := l.read(ctx)
	if err != nil {
		return err
	}
	remove, add := have.differences(kept)
	for some := range slices.Chunk(remove, chunk) {
		if err := l.change(ctx, func() (string, error) { return l.api.remove(ctx, some) }); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(add, chunk) {
		if err := l.change(ctx, func() (string, error) { return l.api.addItems(ctx, some) }); err != nil {
			return err
		}
	}
	l.SetContents(kept, left)
	return nil
}

// holds reports whether a list takes a prefix.
func holds(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.Bits() >= widest4
	}
	return p.Bits() >= widest6
}

// content is what a list holds.
type content struct {
	ours   map[netip.Prefix]string // by their item
	spare  []string                // items of ours that are there twice, or no prefixes
	others map[netip.Prefix]bool
	marked bool // an item, or the description, carries the mark
}

// read returns the list, if it may be changed.
func (l *Cloudflare) read(ctx context.Context) (*content, error) {
	about, err := l.api.about(ctx)
	if err != nil {
		return nil, err
	}
	if about.Kind != "ip" {
		return nil, fmt.Errorf("it is a list of the kind %s: make one of the kind ip", outbound.Shown(about.Kind))
	}
	items, err := l.api.items(ctx)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(about.Description)
	c := l.sort(items)
	c.marked = c.marked || len(words) > 0 && words[0] == l.config.Mark
	if len(items) > 0 && !c.marked && l.config.Rank != nil {
		return nil, fmt.Errorf("%w: its items (%d) are somebody else's, since none has the comment %s. It was left alone: use an empty list, or begin its description with that word to have blocks added beside them",
			enforce.ErrNotOurs, len(items), l.config.Mark)
	}
	return c, nil
}

// sort separates our items from those of others.
func (l *Cloudflare) sort(items []item) *content {
	c := &content{ours: make(map[netip.Prefix]string), others: make(map[netip.Prefix]bool)}
	for _, i := range items {
		p, ok := parse(i.IP)
		_, twice := c.ours[p]
		switch {
		case i.Comment != l.config.Mark:
			if ok {
				c.others[p] = true
			}
			continue
		case !ok || twice:
			c.spare = append(c.spare, i.ID)
		default:
			c.ours[p] = i.ID
		}
		c.marked = true
	}
	return c
}

// parse reads an item's prefix: an address, or CIDR.
func parse(text string) (p netip.Prefix, ok bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// differences returns the items to delete and the prefixes to add. What another has in
// the list is not added: Cloudflare would make his item ours.
func (c *content) differences(want []netip.Prefix) (remove []string, add []netip.Prefix) {
	stays := make(map[netip.Prefix]bool, len(want))
	for _, p := range want {
		if _, there := c.ours[p]; there {
			stays[p] = true
		} else if !c.others[p] {
			add = append(add, p)
		}
	}
	for p, id := range c.ours {
		if !stays[p] {
			remove = append(remove, id)
		}
	}
	remove = append(remove, c.spare...)
	slices.Sort(remove)
	return remove, add
}

// change makes a change, and waits until it is made.
func (l *Cloudflare) change(ctx context.Context, begin func() (operation string, err error)) error {
	var operation string
	err := repeat(ctx, 2*l.look, func() (err error) { operation, err = begin(); return err })
	if err != nil {
		return err
	}
	pause := l.look
	for until := time.Now().Add(patience); time.Now().Before(until); pause = min(2*pause, lastLook) {
		if !sleep.For(ctx, pause) {
			return ctx.Err()
		}
		state, err := l.api.operation(ctx, operation)
		switch {
		case err != nil && !later(err):
			return err
		case state.Status == "completed":
			return nil
		case state.Status == "failed":
			return fmt.Errorf("the list could not be changed by Cloudflare: %s: compare most with what the account's plan allows", outbound.Shown(state.Error))
		}
	}
	return fmt.Errorf("the list was not changed by Cloudflare within %v: it is looked at again", patience)
}

// Look returns a line about the list, and what is wrong with it. It changes nothing.
func (l *Cloudflare) Look(ctx context.Context) (lines []string, err error) {
	c, err := l.read(ctx)
	switch {
	case err != nil:
		return nil, err
	case c.marked:
		return []string{fmt.Sprintf("the list carries the mark, and has %d items of ours and %d of others", len(c.ours)+len(c.spare), len(c.others))}, nil
	}
	return []string{"the list is empty and carries no mark yet"}, nil
}
