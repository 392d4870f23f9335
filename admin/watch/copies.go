package watch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Sorted copies of a long list's prefixes let it be paged
// through in an order that nobody maintains.
//
// A copy is made when somebody asks, one at a time, and is shared by all who read. It
// has a name: who asks for the next page names the copy of the page before. There are
// few at most, and none a minute after the last reader. Orders that are always kept
// were rejected: they cost memory and time on every node for a page that few open.

const (
	// few is how many copies there may be of any list: 64 MB of a million. Of short
	// lists there may be many, as long as they have no more than room references
	// together, or first pages would soon take a walk's copy away.
	few, many = 2, 64
	room      = 1 << 20
	// short is the length of a list of which each first page has its own copy, which
	// is of now: it takes some milliseconds.
	short = 10_000
	// copiesKept is how long copies remain that nobody reads.
	copiesKept = time.Minute
	// copyLifetime is how long a longer copy is used for first pages, and rest how many
	// times as long as it took at least: sorting takes a tenth of one core at most.
	copyLifetime = time.Second
	copyRest     = 10
)

// Copy is a list as it was, sorted. It does not change.
type Copy struct {
	List SortedList
	Name uint64 // never 0
	AsOf time.Time

	order string
	took  time.Duration
}

// Copies are those that are read now. It is safe for concurrent use. Make one with
// [NewCopies].
type Copies struct {
	now func() time.Time
	one chan struct{} // holds one while a copy is made

	mu     sync.Mutex // guards the fields below
	copies []*Copy    // the one that was read last is the last
	last   uint64     // name
	unread *time.Timer
}

// NewCopies returns Copies that go by a clock.
func NewCopies(now func() time.Time) *Copies {
	return &Copies{now: now, one: make(chan struct{}, 1)}
}

// Of returns the copy of a name. If it is gone, or the name is 0, it is one
// of this order that is not old, or what refs returns, sorted. ok is false if ctx
// ended first.
func (c *Copies) Of(ctx context.Context, order string, name uint64, refs func(now time.Time) []Ref) (_ *Copy, ok bool) {
	if found := c.find(order, name); found != nil {
		return found, true
	}
	select {
	case c.one <- struct{}{}:
		defer func() { <-c.one }()
	case <-ctx.Done():
		return nil, false
	}
	if found := c.find(order, name); found != nil { // made while this call waited
		return found, true
	}
	made := &Copy{order: order, AsOf: c.now()}
	made.List = Sort(refs(made.AsOf))
	made.took = c.now().Sub(made.AsOf)
	return c.keep(made), true
}

// find returns the copy that an answer is read from; nil if it has to be made.
func (c *Copies) find(order string, name uint64) *Copy {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	i := slices.IndexFunc(c.copies, func(o *Copy) bool { return o.order == order && o.Name == name })
	if i < 0 { // the walk's copy is gone, or this is a first page
		i = slices.IndexFunc(c.copies, func(o *Copy) bool { return o.order == order && o.fresh(now) })
	}
	if i < 0 {
		return nil
	}
	found := c.copies[i]
	c.copies = append(slices.Delete(c.copies, i, i+1), found)
	c.unread.Reset(copiesKept)
	return found
}

// fresh reports whether a copy may be used for a first page. The clock may have
// stepped.
func (o *Copy) fresh(now time.Time) bool {
	if len(o.List) <= short {
		return false
	}
	age, limit := now.Sub(o.AsOf)-o.took, max(copyLifetime, copyRest*o.took)
	return -limit < age && age < limit
}

// keep adds a copy, and removes the one that nobody has read for longest where there
// are too many.
func (c *Copies) keep(made *Copy) *Copy {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	made.Name = c.last
	c.copies = append(c.copies, made)
	for len(c.copies) > many || len(c.copies) > few && c.refs() > room {
		c.copies = slices.Delete(c.copies, 0, 1)
	}
	if c.unread == nil {
		c.unread = time.AfterFunc(copiesKept, c.forget)
	}
	c.unread.Reset(copiesKept)
	return made
}

func (c *Copies) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies = nil
}

// refs returns how many references there are; it needs the lock.
func (c *Copies) refs() (n int) {
	for _, o := range c.copies {
		n += cap(o.List)
	}
	return n
}

// Bytes returns what the copies take of memory.
func (c *Copies) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.refs()) * refSize
}
