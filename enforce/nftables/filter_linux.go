package nftables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"edgeguard/enforce"
)

// Filter keeps the table. It implements enforce.Incremental and enforce.Watched, and
// its methods are safe for concurrent use.
type Filter struct {
	config Config
	start  time.Time // of the clock by which ends are compared: no step changes it

	mu     sync.Mutex // guards what follows
	kernel kernel
	// known says that table and in are what the kernel has as long as its generation
	// is this one.
	known      bool
	generation uint32
	table      layout
	in         map[netip.Prefix]time.Duration // what is installed, and when it ends after start; nil: not read yet
	spared     []enforce.Entry
	read       time.Time     // when all elements were read last
	reading    time.Duration // how long that took

	counts atomic.Pointer[Counts] // as read last
}

// New returns an enforcer. It asks nothing of the kernel before Replace.
func New(c Config) (*Filter, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Filter{config: c, start: time.Now()}, nil
}

// Traits implements enforce.Enforcer: what a packet shows is the last proxy.
func (f *Filter) Traits() enforce.Traits {
	return enforce.Traits{Kernel: true, Takes: time.Second, DryRun: f.config.DryRun}
}

// Close closes the connection. The table stays in force.
func (f *Filter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kernel.closeConn()
	return nil
}

// locked calls do with the lock. After an error the connection is another one.
func (f *Filter) locked(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := do()
	if err != nil {
		f.kernel.closeConn()
	}
	return err
}

// Replace implements enforce.Enforcer. It changes what differs and nothing else. If
// somebody else changed rules of the host since, it reads first what is installed.
func (f *Filter) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	return f.locked(ctx, func() error { return f.replace(now, entries) })
}

// replace needs the lock.
func (f *Filter) replace(now time.Time, entries []enforce.Entry) error {
	there, err := f.recall()
	if err != nil {
		return err
	}
	var lengths lengths
	d, clock := difference{}, f.clock()
	wanted := make(map[netip.Prefix]bool, len(entries))
	for _, entry := range entries {
		rest := entry.Until.Sub(now)
		if rest <= 0 {
			continue
		}
		wanted[entry.Prefix] = true
		lengths.add(lengthOf(entry.Prefix))
		switch end, isIn := f.in[entry.Prefix]; {
		case !isIn || end+tolerance < clock:
			d.added = append(d.added, entry)
		case (end-clock-rest).Abs() > tolerance || end == never:
			d.changed = append(d.changed, entry)
		}
	}
	for p, end := range f.in {
		switch {
		case wanted[p]:
		case end+tolerance < clock:
			delete(f.in, p) // the kernel took it out
		default:
			d.removed = append(d.removed, p)
		}
	}
	return f.commit(there, newLayout(f.config, lengths), now, &d)
}

// Apply implements enforce.Incremental. It reads nothing: where the table is not as it
// was, the kernel refuses the change, and Replace follows.
func (f *Filter) Apply(ctx context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	return f.locked(ctx, func() error { return f.apply(now, add, remove) })
}

// apply needs the lock.
func (f *Filter) apply(now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	if f.in == nil {
		return errors.New("nftables: the table is not made yet")
	}
	d, wanted := difference{}, slices.Clone(f.table.lengths)
	for _, entry := range add {
		if now.Before(entry.Until) {
			d.changed = append(d.changed, entry)
			wanted.add(lengthOf(entry.Prefix))
		}
	}
	d.removed = remove
	return f.commit(nil, newLayout(f.config, wanted), now, &d)
}

// clock returns the time since the start, by which ends are compared.
func (f *Filter) clock() time.Duration { return time.Since(f.start) }

// recall makes sure that in and table are what the kernel has. It returns what was
// found, or nil where nobody else changed anything. It needs the lock.
func (f *Filter) recall() (*found, error) {
	if device := f.config.Device; device != "" {
		if err := f.kernel.hasDevice(device); err != nil {
			return nil, err
		}
	}
	generation, err := f.kernel.generation()
	if err != nil || f.known && generation == f.generation {
		return nil, err
	}
	f.known = false
	began := time.Now()
	c, err := f.kernel.connect()
	if err != nil {
		return nil, err
	}
	table := newLayout(f.config, nil)
	there, err := lookAtOurs(c, table.table())
	if err != nil {
		return nil, err
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
		if !isLength || !sameSet(s, table.namedSet(s.Name, l.v6)) {
			continue
		}
		lengths.add(l)
		elements, err := c.GetSetElements(s)
		if err != nil {
			return nil, explain(err)
		}
		for _, element := range elements {
			if addr, ok := netip.AddrFromSlice(element.Key); ok {
				in[netip.PrefixFrom(addr, l.bits)] = f.ends(element)
			}
		}
	}
	f.in, f.table, f.known, f.generation = in, newLayout(f.config, lengths), true, generation
	f.read, f.reading = began, time.Since(began)
	return there, nil
}

// never is the end of an element without a time, which is somebody else's.
const never = math.MaxInt64 / 2

// ends returns when an element ends.
func (f *Filter) ends(element nftables.SetElement) time.Duration {
	if element.Timeout == 0 {
		return never
	}
	return f.clock() + element.Expires
}

// commit makes a transaction of what differs, and of the table if it is not as wanted.
// there is what was found, if that was looked for. It needs the lock.
func (f *Filter) commit(there *found, wanted layout, now time.Time, d *difference) (err error) {
	c, err := f.kernel.connect()
	if err != nil {
		return err
	}
	known := f.known
	f.known = false // where this fails, the next Replace reads all
	if there == nil && !slices.Equal(wanted.lengths, f.table.lengths) {
		if there, err = lookAtOurs(c, wanted.table()); err != nil {
			return err
		}
	}
	if there != nil && !there.isLayout(wanted) {
		if err := wanted.build(c, there); err != nil {
			return err
		}
		if err := f.addSpared(c, wanted, there, now); err != nil {
			return err
		}
	}
	if err := d.write(c, wanted, now); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return f.refused(err)
	}
	f.table = wanted
	d.noteInstalled(f.in, now, f.clock())
	after, err := f.kernel.generation()
	if err != nil {
		return err
	}
	f.known = known && (after == f.generation || after == next(f.generation))
	if f.known {
		f.generation = after
	}
	return nil
}

// next returns the generation that follows: 0 is none.
func next(generation uint32) uint32 { return max(generation+1, 1) }

// refused explains a transaction that the kernel refused.
func (f *Filter) refused(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("nftables: somebody changed the table %s, or this kernel lacks nft_fib: %w", f.config.Table, err)
	}
	return explain(err)
}

// lookAtOurs returns what the kernel has of a table. Somebody else's is an error.
func lookAtOurs(c *nftables.Conn, t *nftables.Table) (*found, error) {
	there, err := readTable(c, t)
	if err == nil && there.there && !there.ours {
		err = foreign(t)
	}
	return there, err
}

func foreign(t *nftables.Table) error {
	family := "inet"
	if t.Family == nftables.TableFamilyNetdev {
		family = "netdev"
	}
	return fmt.Errorf("nftables: table %s %s: %w: set enforce.nftables.table to another name, or delete it (nft delete table %s %s)",
		family, t.Name, enforce.ErrNotOurs, family, t.Name)
}

// Spare has packets of these single addresses pass until their ends, whatever is
// installed. It replaces those of the last call.
func (f *Filter) Spare(ctx context.Context, now time.Time, spared []enforce.Entry) error {
	for _, entry := range spared {
		if !entry.Prefix.IsSingleIP() {
			return fmt.Errorf("nftables: %s cannot be spared: only single addresses can", entry.Prefix)
		}
	}
	return f.locked(ctx, func() error { return f.spare(now, spared) })
}

// spare needs the lock.
func (f *Filter) spare(now time.Time, spared []enforce.Entry) error {
	f.spared = slices.Clone(spared)
	if f.in == nil {
		return nil // they go in with the table
	}
	c, err := f.kernel.connect()
	if err != nil {
		return err
	}
	f.known = false
	if err := f.addSpared(c, f.table, &found{}, now); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return f.refused(err)
	}
	return nil
}

// addSpared fills the sets of spared addresses, unless they were there already. It
// needs the lock.
func (f *Filter) addSpared(c *nftables.Conn, l layout, there *found, now time.Time) error {
	for _, v6 := range []bool{false, true} {
		s := l.spared(v6)
		if there.hasSet(s) {
			continue
		}
		c.FlushSet(s)
		var elements []nftables.SetElement
		for _, entry := range f.spared {
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
