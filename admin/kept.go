package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/eventlog"
	"edgeguard/internal/safetext"
)

// What is kept of events, and read after a restart and weeks later.

// mostKept is the longest text of a change that is kept: a proxy's header can name a user.
const mostKept = 1 << 10

// End keeps that a block has ended, but for one that was lifted: its unblock says so.
func (e *Events) End(now time.Time, b edgeguard.Block, ended *blocklist.Ended) {
	shown := NewBlock(b)
	shown.Unit = e.unit(b.Rule, b.Origin)
	e.keep(eventlog.Blocks, Event{Time: now.UTC(), Kind: EventEnd, Block: &shown, Ended: newEnded(ended)}, b.Rule, b.Prefix)
}

func newEnded(e *blocklist.Ended) *Ended {
	if e == nil {
		return nil
	}
	return &Ended{string(e.Why), e.Refused, e.Asked, e.TurnedAway, e.Served}
}

// Crossing keeps that a key went over a limit.
func (e *Events) Crossing(now time.Time, c *edgeguard.Crossing) {
	crossed := &Crossed{c.Key.String(), c.Rule, c.Action.String(), c.Count, c.Limit, e.unit(c.Rule, e.node), c.Fleet, c.Stands, c.Again}
	e.keep(eventlog.Crossings, Event{Time: now.UTC(), Kind: EventCrossing, Crossing: crossed}, c.Rule, prefixesOf(c.Key)...)
}

// prefixesOf returns what an event about a key is found by; nothing for a key without an address.
func prefixesOf(k edgeguard.Key) []netip.Prefix {
	if !k.Prefix.IsValid() {
		return nil
	}
	return []netip.Prefix{k.Prefix}
}

// LeftOut keeps that events are missing from what is kept.
func (e *Events) LeftOut(now time.Time, n uint64) {
	text := fmt.Sprintf("%d more, most of them crossings or ends of blocks that refused nothing, are not kept", n)
	e.keep(eventlog.Crossings, Event{Time: now.UTC(), Kind: EventLeftOut, Name: "left_out", Text: text}, "")
}

// fewPrefixes is how many a change may have that lies with those of one; longer lists lie with
// the blocks, so that one import does not move all other changes out.
const fewPrefixes = 20

// Change keeps what an operator changed. Its prefixes are the entry's own; those that are too many
// for it are in others behind it.
func (e *Events) Change(a Audit) {
	for _, long := range []*string{&a.Who, &a.User, &a.Target, &a.Detail, &a.Result} {
		*long = safetext.Cut(*long, mostKept)
	}
	room, list := eventlog.ByHand, a.Prefixes
	if a.Prefixes = nil; len(list) > fewPrefixes {
		room = eventlog.Blocks
	}
	target, ofOne := keyPrefix(a.Target)
	for kind, more := EventChange, true; more; kind, more = EventListed, len(list) > 0 {
		if room == eventlog.Blocks { // it may have more than waits for the disk
			_ = e.log.Flush(a.Time) // is told by who does it once a second
		}
		n := min(len(list), eventlog.MaxPrefixes-1)
		part := slices.Clone(list[:n])
		if list = list[n:]; ofOne {
			part = append(part, target)
		}
		e.keep(room, Event{Time: a.Time.UTC(), Kind: kind, Change: &a}, "", part...)
	}
}

// with returns a change with the prefixes of its entry, without its target.
func (a *Audit) with(prefixes []netip.Prefix) *Audit {
	if a == nil {
		return nil
	}
	listed := *a
	if _, ofOne := keyPrefix(a.Target); ofOne && len(prefixes) > 0 {
		prefixes = prefixes[:len(prefixes)-1]
	}
	listed.Prefixes = prefixes
	return &listed
}

// PastPage is one page of what happened.
type PastPage struct {
	Events []Event `json:"events"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
	// Newest is the cursor, in ascending order, behind all that had happened and what the page has.
	Newest string `json:"newest"`
}

// PastQuery says which of what happened is looked for.
type PastQuery = eventlog.Query

// mostPage is how many bytes of a page's events end it: a bulk change has many.
const mostPage = 512 << 10

// Past returns a page of what happened, as far back as it is kept; an empty one if ctx
// ended first.
func (v *View) Past(ctx context.Context, q PastQuery, limit int) PastPage {
	if v.discreet && q.Kinds == nil {
		q.Kinds = EventKinds()
	}
	if v.discreet {
		q.Kinds = slices.DeleteFunc(slices.Clone(q.Kinds), func(kind string) bool { return kind == EventChange || kind == EventListed })
	}
	page, newest, size := PastPage{Events: []Event{}}, max(v.events.log.Newest(), 1), 0
	if q.Kinds != nil && len(q.Kinds) == 0 { // the log would be read in vain
		page.Newest = strconv.FormatUint(newest, 10)
		return page
	}
	for entry := range v.events.log.Find(ctx, q) {
		if n := len(page.Events); n == limit || size > mostPage {
			page.Next = page.Events[n-1].ID
			break
		}
		var event Event
		if json.Unmarshal(entry.Body, &event) != nil {
			continue // of another version
		}
		event.Change = event.Change.with(entry.Prefixes)
		event.ID = strconv.FormatUint(entry.Number, 10)
		if v.discreet {
			event = *event.WithoutNote()
		}
		page.Events, newest, size = append(page.Events, event), max(newest, entry.Number), size+len(entry.Body)+40*len(entry.Prefixes)
	}
	page.Newest = strconv.FormatUint(newest, 10)
	return page
}

// Recent returns at most n events of some kinds, the newest first.
func (v *View) Recent(ctx context.Context, n int, kinds []string) []Event {
	return v.Past(ctx, eventlog.Query{Kinds: kinds, Newest: true}, n).Events
}

// listed are the changes of many of which no event of one is kept, each with the kinds of these events.
var listed = map[string][]string{
	importBlocks: ofBlocks, unblockMany: ofBlocks, "unblock rule": ofBlocks, // which former versions kept
	importAllowances: ofBoth, disallowMany: ofBoth, restoreMany: ofBoth, // blocks are under allowances
}

var (
	ofBlocks = []string{EventBlock, EventUnblock}
	ofBoth   = []string{EventBlock, EventUnblock, EventAllow, EventDisallow}
)

// Since returns the number of the event of an ID, or of the last event where that is no ID, with
// a gap: where events behind it are gone, or are in the list of a change of many alone, and of the
// kinds that are asked for, nil for all. Of 0 it returns 0. It reads the log up to an event.
func (v *View) Since(ctx context.Context, id string, upTo uint64, kinds []string) (number uint64, gap bool) {
	number, err := strconv.ParseUint(id, 10, 64)
	last := upTo
	if err == nil && number == 0 {
		last = 0
	}
	if err != nil || number > upTo || !v.events.log.Whole(number) {
		return last, true
	}
	asks := func(kind string) bool { return kinds == nil || slices.Contains(kinds, kind) }
	if slices.ContainsFunc(ofBoth, asks) {
		for entry := range v.events.log.Find(ctx, eventlog.Query{After: number, Before: upTo + 1, Kinds: []string{EventChange}}) {
			var event Event
			if json.Unmarshal(entry.Body, &event) == nil && event.Change != nil && slices.ContainsFunc(listed[event.Change.Action], asks) && len(entry.Prefixes) > 0 {
				return last, true
			}
		}
	}
	return number, false
}

// Audits returns a page of what operators changed, the newest first, from before a number
// on, 0 for all.
func (v *View) Audits(ctx context.Context, before uint64, limit int) AuditPage {
	past := v.Past(ctx, eventlog.Query{Kinds: []string{EventChange}, Before: before, Newest: true}, limit)
	page := AuditPage{Audit: []Audit{}, Next: past.Next}
	for _, e := range past.Events {
		page.Audit = append(page.Audit, *e.Change)
	}
	return page
}

// fewEvents is among how many events, the newest, LatestChanges looks for changes of many.
const fewEvents = 500

// LatestChanges returns at most n of what operators changed in a time, the newest first; zero times are no bound.
// Changes of many prefixes lie with the blocks, of which there can be millions: those are looked
// for in a time that has two bounds, or else among the newest events alone.
func (v *View) LatestChanges(ctx context.Context, from, until time.Time, n int) []Event {
	q := PastQuery{Kinds: []string{EventChange}, Since: from, Until: until, Newest: true, Sections: []eventlog.Section{eventlog.ByHand}}
	all := v.Past(ctx, q, n).Events
	q.Sections = []eventlog.Section{eventlog.Blocks}
	if from.IsZero() || until.IsZero() {
		q.After = max(v.events.log.Newest(), fewEvents) - fewEvents
	}
	all = append(all, v.Past(ctx, q, n).Events...)
	slices.SortStableFunc(all, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return all[:min(len(all), n)]
}

const (
	// historyLength is how many events of an address are shown, and crossingsLength how many
	// crossings beside them.
	historyLength, crossingsLength = 20, 5
)

// historyOf returns the newest events of an address.
func (v *View) historyOf(ctx context.Context, addr netip.Addr) []Event {
	q := eventlog.Query{Within: netip.PrefixFrom(addr, addr.BitLen()), Newest: true}
	crossings := []string{EventCrossing, EventWouldBlock}
	q.Kinds = slices.DeleteFunc(EventKinds(), func(kind string) bool { return slices.Contains(crossings, kind) })
	all := slices.DeleteFunc(v.Past(ctx, q, historyLength).Events, func(e Event) bool { // of one prefix, its block tells
		return e.Change != nil && len(e.Change.Prefixes) == 0
	})
	q.Kinds = crossings
	all = append(all, v.Past(ctx, q, crossingsLength).Events...)
	slices.SortStableFunc(all, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return all
}
