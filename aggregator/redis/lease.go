package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
)

const (
	// LeaseLasts is how long a term lasts that is not renewed, and Every the time between two
	// steps.
	LeaseLasts, LeaseEvery = time.Minute, 20 * time.Second
	// leaseMargin is how long before its end a term is given up, for clocks that do not run
	// alike. It is also how much longer than LeaseLasts a term of an honest node may seem.
	leaseMargin = 5 * time.Second
	// mostTerm and mostValue bound what a field may be.
	mostTerm, mostValue = 1 << 40, 1024
	// mostTerms is more fields than nodes leave.
	mostTerms = 16
	// leaseKept is how long Redis keeps a lease that nobody renews.
	leaseKept = 10 * LeaseLasts
)

// LeaseWay is the way to the others.
type LeaseWay struct {
	Client  goredis.UniversalClient
	Key     string // where leases are; a lease's name is added
	Judge   *fleet.Authority
	Now     time.Time // the fleet's
	Timeout time.Duration
}

// Lease is one node's part in a lease, by which one node of a fleet at a time does what
// all of them would do: keep a list that the whole fleet shares. Its methods are safe
// for concurrent use; make it with [NewLease].
//
// A lease is a hash in Redis with a field for each term, named by its number. The highest
// term that has not ended is in force. Who takes the next one writes its field where
// there is none (HSETNX), which one node alone can do; its holder alone writes it again,
// before it ends. No script, no SET and no new function of the library: the rights of a
// node's Redis user stay as they were.
//
// Who can write to Redis can take a lease from all nodes, or give it to two. With the
// fleet's key he can only do so by dropping what they write. What a lease guards must
// bear two holders for a moment, and that nobody holds it is to be an alarm.
type Lease struct {
	name, node, run string

	stepping sync.Mutex // guards idle, and that Redis is asked one thing at a time
	idle     time.Time  // since when nobody was seen to hold it, by the fleet's clock

	mu     sync.Mutex // guards all below
	term   uint64     // that this node holds; 0 for none
	until  time.Time  // when this node gives it up, by its own clock
	holder string     // another node that holds it
	rests  time.Time  // this node takes none before
}

// NewLease returns a node's part. The name says what is leased, in the whole fleet.
func NewLease(name, node string) *Lease {
	return &Lease{name: name, node: node, run: rand.Text()}
}

// term is a field of the hash.
type term struct {
	number uint64
	Node   string `json:"node"`
	Run    string `json:"run"`   // distinguishes processes
	Until  int64  `json:"until"` // milliseconds, by the fleet's clock
	// Spare says that the node lets any other have it: it is in mode monitor.
	Spare bool `json:"spare"`
}

// Until returns when this node has to stop, and false if it does not hold the lease.
func (l *Lease) Until(now time.Time) (until time.Time, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, l.term != 0 && now.Before(l.until)
}

// Holder returns the other node that held the lease at the last step; empty for none.
func (l *Lease) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// AbstainUntil has the node take no lease before a time: it holds one and can do nothing with it.
func (l *Lease) AbstainUntil(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rests = until
}

// TakeOrRenew takes the lease, or renews it, or learns who holds it. A spare node takes one
// that nobody else wants. After an error, a lease that is held stays so until its end.
func (l *Lease) TakeOrRenew(ctx context.Context, f LeaseWay, spare bool) error {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	l.stepping.Lock()
	defer l.stepping.Unlock()
	start := time.Now()
	terms, err := l.read(ctx, &f)
	if err != nil {
		return err
	}
	l.mu.Lock()
	mine, rests := l.term, start.Before(l.rests)
	l.mu.Unlock()
	last := newest(terms)
	ended := last.Until <= f.Now.UnixMilli()
	switch {
	case last.Run == l.run && rests:
		l.set(0, time.Time{}, "")
		return l.end(ctx, &f, last.number)
	case last.Run == l.run && last.number == mine && !ended:
		return l.write(ctx, &f, start, last.number, spare, false)
	case last.Run != l.run && !ended && (spare || !last.Spare):
		l.idle = time.Time{}
		l.set(0, time.Time{}, last.Node)
		return nil
	}
	l.set(0, time.Time{}, "")
	if l.idle.IsZero() {
		l.idle = f.Now
	}
	if rests || spare && last.Run != l.run && f.Now.Sub(l.idle) < LeaseLasts {
		return nil
	}
	return l.write(ctx, &f, start, last.number+1, spare, true)
}

// Release ends this node's term: another may take the next.
func (l *Lease) Release(ctx context.Context, f LeaseWay) error {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	l.stepping.Lock()
	defer l.stepping.Unlock()
	l.mu.Lock()
	mine := l.term
	l.mu.Unlock()
	if mine == 0 {
		return nil
	}
	l.set(0, time.Time{}, "")
	return l.end(ctx, &f, mine)
}

// set notes which term this node holds until when, or who else does.
func (l *Lease) set(term uint64, until time.Time, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term, l.until, l.holder = term, until, holder
}

// newest returns the highest term; the zero value is none.
func newest(terms []term) (last term) {
	for _, t := range terms {
		if t.number > last.number {
			last = t
		}
	}
	return last
}

// read returns the terms, and removes what no node writes: it would be in the way of the
// next.
func (l *Lease) read(ctx context.Context, f *LeaseWay) (terms []term, err error) {
	fields, err := f.Client.HGetAll(ctx, f.Key+l.name).Result()
	if errors.Is(err, errLarge) || err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") || len(fields) > mostTerms {
		return nil, f.Client.Del(ctx, f.Key+l.name).Err()
	}
	if err != nil {
		return nil, fmt.Errorf("read the lease %s: %w", l.name, err)
	}
	var wrong []string
	for field, value := range fields {
		t, ok := l.open(f, field, value)
		if !ok {
			wrong = append(wrong, field)
			continue
		}
		terms = append(terms, t)
	}
	if len(wrong) > 0 {
		err = f.Client.HDel(ctx, f.Key+l.name, wrong...).Err()
	}
	return terms, err
}

// open returns the term of a field.
func (l *Lease) open(f *LeaseWay, field, value string) (t term, ok bool) {
	number, err := strconv.ParseUint(field, 10, 64)
	if err != nil || number == 0 || number > mostTerm || strconv.FormatUint(number, 10) != field || len(value) > mostValue {
		return t, false
	}
	text, ok := f.Judge.OpenLease(l.signed(number), value)
	if !ok || json.Unmarshal([]byte(text), &t) != nil || t.Until > f.Now.Add(LeaseLasts+leaseMargin).UnixMilli() {
		return t, false
	}
	t.number = number
	return t, true
}

// signed is what a term's MAC is about, beside its text.
func (l *Lease) signed(number uint64) string { return fmt.Sprintf("%s %d", l.name, number) }

// write writes this node's term, the first time only where there is none.
func (l *Lease) write(ctx context.Context, f *LeaseWay, start time.Time, number uint64, spare, first bool) error {
	key, field := f.Key+l.name, strconv.FormatUint(number, 10)
	if number > mostTerm {
		return f.Client.Del(ctx, key).Err() // no node has written as many
	}
	value, err := l.value(f, term{number: number, Until: f.Now.Add(LeaseLasts).UnixMilli(), Spare: spare})
	if err != nil {
		return err
	}
	if first {
		won, err := f.Client.HSetNX(ctx, key, field, value).Result()
		if err != nil || !won {
			return err // the next step says who was first
		}
	} else if err := f.Client.HSet(ctx, key, field, value).Err(); err != nil {
		return err
	}
	terms, err := l.read(ctx, f)
	if err != nil {
		return err
	}
	if last := newest(terms); last.number != number {
		l.set(0, time.Time{}, last.Node) // this node was away for longer than its term
		return nil
	}
	l.idle = time.Time{}
	l.set(number, start.Add(LeaseLasts-leaseMargin), "")
	pipe := f.Client.Pipeline()
	pipe.Expire(ctx, key, leaseKept)
	for _, t := range terms {
		if t.number < number {
			pipe.HDel(ctx, key, strconv.FormatUint(t.number, 10))
		}
	}
	_, err = pipe.Exec(ctx)
	return err
}

// end writes a term of this node as ended.
func (l *Lease) end(ctx context.Context, f *LeaseWay, number uint64) error {
	value, err := l.value(f, term{number: number, Until: f.Now.UnixMilli()})
	if err != nil {
		return err
	}
	return f.Client.HSet(ctx, f.Key+l.name, strconv.FormatUint(number, 10), value).Err()
}

// value returns the text of a term of this node.
func (l *Lease) value(f *LeaseWay, t term) (string, error) {
	t.Node, t.Run = l.node, l.run
	text, err := json.Marshal(t)
	return f.Judge.SignLease(l.signed(t.number), string(text)), err
}
