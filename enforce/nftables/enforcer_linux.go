package nftables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"edgeguard/enforce"
)

// Enforcer keeps the table. It implements enforce.Incremental and enforce.Watched, and
// its methods are safe for concurrent use.
type Enforcer struct {
	config Config
	kernel kernel
	start  time.Time // of the clock by which ends are compared: no step changes it

	mu sync.Mutex // guards what follows, and keeps transactions apart
	// known says that table and in are what the kernel has as long as its generation
	// is this one.
	known      bool
	generation uint32
	table      layout
	in         map[netip.Prefix]time.Duration // what is installed, and when it ends after start; nil: not read yet
	spared     []enforce.Entry
	read       time.Time     // when all elements were read last
	reading    time.Duration // how long that took
}

// New returns an enforcer. It asks nothing of the kernel before Replace.
func New(c Config) (*Enforcer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Enforcer{config: c, start: time.Now()}, nil
}

// Traits implements enforce.Enforcer: what a packet shows is the last proxy.
func (e *Enforcer) Traits() enforce.Traits { return enforce.Traits{Kernel: true} }

// Close releases nothing: no connection is kept. The table stays in force.
func (e *Enforcer) Close() error { return nil }

// Replace implements enforce.Enforcer. It changes what differs and nothing else. If
// somebody else changed rules of the host since, it reads first what is installed.
func (e *Enforcer) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	there, err := e.recall()
	if err != nil {
		return err
	}
	var lengths lengths
	d, clock := difference{}, e.clock()
	wanted := make(map[netip.Prefix]bool, len(entries))
	for _, entry := range entries {
		rest := entry.Until.Sub(now)
		if rest <= 0 {
			continue
		}
		wanted[entry.Prefix] = true
		lengths.add(lengthOf(entry.Prefix))
		switch end, isIn := e.in[entry.Prefix]; {
		case !isIn || end+tolerance < clock:
			d.added = append(d.added, entry)
		case (end-clock-rest).Abs() > tolerance || end == never:
			d.changed = append(d.changed, entry)
		}
	}
	for p, end := range e.in {
		switch {
		case wanted[p]:
		case end+tolerance < clock:
			delete(e.in, p) // the kernel took it out
		default:
			d.removed = append(d.removed, p)
		}
	}
	return e.commit(there, newLayout(e.config, lengths), now, &d)
}

// Apply implements enforce.Incremental. It reads nothing: where the table is not as it
// was, the kernel refuses the change, and Replace follows.
func (e *Enforcer) Apply(ctx context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.in == nil {
		return errors.New("nftables: the table is not made yet")
	}
	d, wanted := difference{}, slices.Clone(e.table.lengths)
	for _, entry := range add {
		if now.Before(entry.Until) {
			d.changed = append(d.changed, entry)
			wanted.add(lengthOf(entry.Prefix))
		}
	}
	d.removed = remove
	return e.commit(nil, newLayout(e.config, wanted), now, &d)
}

// clock returns the time since the start, by which ends are compared.
func (e *Enforcer) clock() time.Duration { return time.Since(e.start) }

// recall makes sure that in and table are what the kernel has. It returns what was
// found, or nil where nobody else changed anything. It needs the lock.
func (e *Enforcer) recall() (*found, error) {
	if device := e.config.Device; device != "" {
		if err := e.kernel.hasDevice(device); err != nil {
			return nil, err
		}
	}
	generation, err := e.kernel.generation()
	if err != nil || e.known && generation == e.generation {
		return nil, err
	}
	e.known = false
	began := time.Now()
	c, err := e.kernel.connect()
	if err != nil {
		return nil, explain(err)
	}
	table := newLayout(e.config, nil)
	there, err := look(c, table.table())
	if err != nil {
		return nil, err
	}
	if there.there && !there.ours {
		return nil, foreign(table.table())
	}
	if there.ours && there.asleep { // the kernel wakes it in no transaction that changes more
		c.AddTable(table.table())
		if err := c.Flush(); err != nil {
			return nil, explain(err)
		}
		there.asleep, generation = false, next(generation)
	}
	in := make(map[netip.Prefix]time.Duration)
	var lengths lengths
	for _, s := range there.sets {
		l, isLength := lengthNamed(s.Name)
		if !isLength || !same(s, table.set(s.Name, l.v6)) {
			continue
		}
		lengths.add(l)
		elements, err := c.GetSetElements(s)
		if err != nil {
			return nil, explain(err)
		}
		for _, element := range elements {
			if addr, ok := netip.AddrFromSlice(element.Key); ok {
				in[netip.PrefixFrom(addr, l.bits)] = e.ends(element)
			}
		}
	}
	e.in, e.table, e.known, e.generation = in, newLayout(e.config, lengths), true, generation
	e.read, e.reading = began, time.Since(began)
	return there, nil
}

// never is the end of an element without a time, which is somebody else's.
const never = math.MaxInt64 / 2

// ends returns when an element ends.
func (e *Enforcer) ends(element nftables.SetElement) time.Duration {
	if element.Timeout == 0 {
		return never
	}
	return e.clock() + element.Expires
}

// commit makes a transaction of what differs, and of the table if it is not as wanted.
// there is what was found, if that was looked for. It needs the lock.
func (e *Enforcer) commit(there *found, wanted layout, now time.Time, d *difference) (err error) {
	c, err := e.kernel.connect()
	if err != nil {
		return explain(err)
	}
	known := e.known
	e.known = false // where this fails, the next Replace reads all
	if there == nil && !slices.Equal(wanted.lengths, e.table.lengths) {
		if there, err = look(c, wanted.table()); err != nil {
			return err
		}
	}
	if there != nil && !there.is(wanted) {
		if err := wanted.build(c, there); err != nil {
			return err
		}
		if err := e.addSpared(c, wanted, there, now); err != nil {
			return err
		}
	}
	if err := d.write(c, wanted, now); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return e.refused(err)
	}
	e.table = wanted
	d.note(e.in, now, e.clock())
	after, err := e.kernel.generation()
	if err != nil {
		return err
	}
	e.known = known && (after == e.generation || after == next(e.generation))
	if e.known {
		e.generation = after
	}
	return nil
}

// next returns the generation that follows: 0 is none.
func next(generation uint32) uint32 { return max(generation+1, 1) }

// refused explains a transaction that the kernel refused.
func (e *Enforcer) refused(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("nftables: somebody changed the table %s, or this kernel lacks nft_fib: %w", e.config.Table, err)
	}
	return explain(err)
}

func foreign(t *nftables.Table) error {
	family := "inet"
	if t.Family == nftables.TableFamilyNetdev {
		family = "netdev"
	}
	return fmt.Errorf("nftables: table %s %s: %w: set enforce.nftables.table to another name, or delete it (nft delete table %s %s)",
		family, t.Name, ErrNotOurs, family, t.Name)
}

// Spare has packets of these single addresses pass until their ends, whatever is
// installed. It replaces those of the last call.
func (e *Enforcer) Spare(ctx context.Context, now time.Time, spared []enforce.Entry) error {
	for _, entry := range spared {
		if !entry.Prefix.IsSingleIP() {
			return fmt.Errorf("nftables: %s cannot be spared: only single addresses can", entry.Prefix)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spared = slices.Clone(spared)
	if e.in == nil {
		return nil // they go in with the table
	}
	c, err := e.kernel.connect()
	if err != nil {
		return explain(err)
	}
	e.known = false
	if err := e.addSpared(c, e.table, &found{}, now); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return e.refused(err)
	}
	return nil
}

// addSpared fills the sets of spared addresses, unless they were there already. It
// needs the lock.
func (e *Enforcer) addSpared(c *nftables.Conn, l layout, there *found, now time.Time) error {
	for _, v6 := range []bool{false, true} {
		s := l.spared(v6)
		if there.has(s) {
			continue
		}
		c.FlushSet(s)
		var elements []nftables.SetElement
		for _, entry := range e.spared {
			if entry.Prefix.Addr().Is6() == v6 && now.Before(entry.Until) {
				elements = append(elements, element(entry, now))
			}
		}
		if err := inChunks(elements, func(chunk []nftables.SetElement) error { return c.SetAddElements(s, chunk) }); err != nil {
			return err
		}
	}
	return nil
}
