package admin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// The words of Filter.Order.
const (
	ByPrefix = "prefix" // IPv4 first
	Newest   = "newest" // by their beginning, the last one first
	ByEnd    = "ends"   // the one that ends first
	ByCount  = "count"  // of the crossing, the highest first
	// By what this node refused because of them, most first, and by when it last did.
	ByRefused     = "refused"
	ByLastRefused = "last_refused"
)

// Orders are the orders, each with its usual direction.
var Orders = map[string]string{ByPrefix: "asc", Newest: "desc", ByEnd: "asc", ByCount: "desc", ByRefused: "desc", ByLastRefused: "desc"}

// ListPosition is a place in an order: that of a block. The zero one is before all.
type ListPosition struct {
	blocklist.Place        // by prefix its Since is not used
	Key             int64  // of a sorted order
	Copy            uint64 // the sorted copy; 0 for none
}

// byPrefix reports whether the list is walked as the blocklist keeps it by prefix.
func (f *BlockFilter) byPrefix() bool { return !f.Backwards && (f.Order == ByPrefix || f.Order == "") }

// Sorted reports whether the order is one that the blocklist does not keep.
func (f *BlockFilter) Sorted() bool { return !f.byPrefix() && (f.Order != Newest || f.Backwards) }

// Descending reports whether the greatest come first.
func (f *BlockFilter) Descending() bool { return (Orders[f.Order] == "desc") != f.Backwards }

// keyOf returns what a block is sorted by, before its prefix.
func (v *View) keyOf(f *BlockFilter, b *edgeguard.Block) int64 {
	if f.Order != ByRefused && f.Order != ByLastRefused {
		return f.Key(b)
	}
	refused, last := v.reader.Refusals(b.Prefix)
	if f.Order == ByRefused || refused == 0 {
		return int64(refused)
	}
	return micros(last)
}

// Key returns what a block is sorted by, before its prefix, if the block says so itself.
func (f *BlockFilter) Key(b *edgeguard.Block) int64 {
	switch f.Order {
	case Newest:
		return micros(b.Since)
	case ByEnd:
		return micros(b.Until)
	case ByCount:
		return int64(b.Count)
	}
	return 0
}

// micros returns a time in microseconds since 1970, which has room for each year of
// four digits.
func micros(t time.Time) int64 {
	if t.Year() > 9999 {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

// cursorTime is the layout of the time in a cursor of the newest: UTC alone, so that
// each time has one form.
const cursorTime = "2006-01-02T15:04:05.999999999Z"

// sign begins the cursors of a sorted order.
func (f *BlockFilter) sign() string {
	if f.Backwards {
		return f.Order + "-"
	}
	return f.Order
}

// ReadCursor sets After to what Cursor returned, if the cursor is one of the order,
// but for the prefix: it returns that.
func (f *BlockFilter) ReadCursor(text string) (prefix string, err error) {
	switch {
	case f.byPrefix():
		return text, nil
	case !f.Sorted():
		since, prefix, _ := strings.Cut(text, ",")
		if f.After.Since, err = time.Parse(cursorTime, since); err != nil {
			return "", fmt.Errorf("the cursor of another order: %w", err)
		}
		return prefix, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != 4 || parts[0] != f.sign() {
		return "", errors.New("the cursor of another order")
	}
	var one, other error
	f.After.Key, one = strconv.ParseInt(parts[1], 10, 64)
	f.After.Copy, other = strconv.ParseUint(parts[3], 10, 64)
	return parts[2], errors.Join(one, other)
}

// Cursor returns where the page behind a place begins.
func (f *BlockFilter) Cursor(last ListPosition) string {
	switch {
	case f.byPrefix():
		return last.Prefix.String()
	case !f.Sorted():
		return last.Since.UTC().Format(cursorTime) + "," + last.Prefix.String()
	}
	return fmt.Sprintf("%s,%d,%s,%d", f.sign(), last.Key, last.Prefix, last.Copy)
}

// PlaceOf returns the place of a block.
func (f *BlockFilter) PlaceOf(b *edgeguard.Block) ListPosition {
	return ListPosition{Place: blocklist.PlaceOf(b), Key: f.Key(b)}
}

// First reports whether the page is the first one.
func (f *BlockFilter) First() bool { return !f.After.Prefix.IsValid() }

// Sort puts blocks in the order of the list, and removes those that are not behind
// After.
func (f *BlockFilter) Sort(blocks []edgeguard.Block) []edgeguard.Block {
	order := func(a, b ListPosition) int {
		by := cmp.Or(cmp.Compare(a.Key, b.Key), a.Prefix.Compare(b.Prefix))
		if f.Order == Newest && !f.Sorted() {
			by = cmp.Or(a.Since.Compare(b.Since), a.Prefix.Compare(b.Prefix))
		}
		if f.Descending() {
			return -by
		}
		return by
	}
	slices.SortFunc(blocks, func(a, b edgeguard.Block) int { return order(f.PlaceOf(&a), f.PlaceOf(&b)) })
	return slices.DeleteFunc(blocks, func(b edgeguard.Block) bool { return !f.First() && order(f.PlaceOf(&b), f.After) <= 0 })
}

// From is where a list by prefix begins: what is inside a prefix lies together and
// begins with the prefix itself.
func (f *BlockFilter) From() netip.Prefix {
	if f.After.Prefix.Compare(f.Within) > 0 {
		return f.After.Prefix
	}
	return f.Within
}
