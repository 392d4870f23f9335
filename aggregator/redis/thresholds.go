package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

const (
	// thresholdEvery is the time between two looks. All nodes together look at most 500
	// times a second.
	thresholdEvery, thresholdPerNode = time.Second, 2 * time.Millisecond
	// thresholdBatch is how many fields one answer has: a forger's may each have a megabyte.
	thresholdBatch = 16
	// longestThreshold is more than a node writes into a field.
	longestThreshold = aggregator.MACSize + fleet.MaxThresholdRecord
)

// ThresholdNode is a node as it takes part. Its methods are safe for concurrent use.
type ThresholdNode interface {
	// Rules returns the names of the config's rules.
	Rules() []string
	// Book returns what the node knows of the fleet's thresholds.
	Book() fleet.ThresholdBook
	// Take is called with records that are later than those in the book. They come
	// again where the node could not take them.
	Take(ctx context.Context, news []fleet.ThresholdRecord)
	// Changed has a value when the book has a record to publish.
	Changed() <-chan struct{}
}

// thresholdSync keeps a node's book of the thresholds that operators set for the
// whole fleet, and the fleet's hash alike, which has a field for each rule. Each node
// looks at the fields of its own rules about once a second, takes what is later than
// what it knows, and writes again what Redis lacks. Nothing rests on what Redis
// keeps: who can write to it can neither set a threshold nor undo one. It is of the
// threshold loop.
type thresholdSync struct {
	Client  goredis.UniversalClient
	Key     string
	Timeout time.Duration
	// Monitor: the node publishes nothing.
	Monitor bool
	Node    ThresholdNode
	Judge   func() *fleet.Authority
	// Now returns the fleet's time, Nodes how many nodes it has.
	Now   func() time.Time
	Nodes func() int64
	// Alarm and Calm raise and end an alarm.
	Alarm func(kind, about, text string)
	Calm  func(kind, about string)

	pace fleet.AcceptPace
}

// Run works until ctx ends or Redis fails.
func (s *thresholdSync) Run(ctx context.Context) error {
	for {
		if err := s.once(ctx); err != nil {
			return err
		}
		wait := max(thresholdEvery, time.Duration(s.Nodes())*thresholdPerNode)
		timer := time.NewTimer(wait - rand.N(wait/4))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.Node.Changed():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// once compares the book with the hash.
func (s *thresholdSync) once(ctx context.Context) error {
	book := s.Node.Book()
	values, err := s.read(ctx, thresholdNames(s.Node.Rules(), book))
	if errors.Is(err, errLarge) || err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
		err = s.bounded(ctx, func(ctx context.Context) error { return s.Client.Del(ctx, s.Key).Err() })
	}
	if err != nil {
		return fmt.Errorf("read the fleet's thresholds: %w", err)
	}
	news, lacks := s.compare(book, values)
	if len(news) > 0 {
		s.Node.Take(ctx, news)
	}
	if s.Monitor {
		return nil
	}
	if err := s.shrink(ctx, values); err != nil {
		return fmt.Errorf("remove what is no threshold: %w", err)
	}
	for _, r := range lacks {
		if err := s.write(ctx, r); err != nil {
			return fmt.Errorf("publish the threshold of rule %s: %w", r.Rule, err)
		}
	}
	return nil
}

// thresholdNames returns the rules to look at: the config's, and others that the book has.
func thresholdNames(rules []string, book fleet.ThresholdBook) []string {
	all := slices.Clone(rules)
	for _, e := range book.Entries() {
		all = append(all, e.Rule)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// read returns the values of some fields; "" for one that is not there. How many
// others there are does not matter.
func (s *thresholdSync) read(ctx context.Context, names []string) (map[string]string, error) {
	values := make(map[string]string, len(names))
	for _, name := range names {
		values[name] = ""
	}
	length, err := int64(0), error(nil)
	if err = s.bounded(ctx, func(ctx context.Context) error { length, err = s.Client.HLen(ctx, s.Key).Result(); return err }); err != nil || length == 0 {
		return values, err
	}
	for some := range slices.Chunk(names, thresholdBatch) {
		if err := s.bounded(ctx, func(ctx context.Context) error {
			got, err := s.Client.HMGet(ctx, s.Key, some...).Result()
			for i, value := range got {
				values[some[i]], _ = value.(string)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// compare returns what is news for the book, and what the hash lacks of it. A record
// of a later version stays where it is.
func (s *thresholdSync) compare(book fleet.ThresholdBook, values map[string]string) (news, lacks []fleet.ThresholdRecord) {
	wrong := ""
	for name, value := range values {
		r, err := s.open(name, value)
		known, ok := book.EntryOf(name)
		switch {
		case errors.Is(err, fleet.ErrNewer):
			continue
		case err != nil:
			wrong = fmt.Sprintf("the threshold of rule %s in Redis is rejected here: %v: find out who writes to the namespace", name, err)
		case value != "" && book.IsNews(&r):
			news = append(news, r)
			continue
		case value != "" && r == known.ThresholdRecord:
			continue
		}
		if ok {
			lacks = append(lacks, known.ThresholdRecord)
		}
	}
	if wrong != "" {
		s.Alarm("rejected", "thresholds", wrong)
	} else {
		s.Calm("rejected", "thresholds")
	}
	return news, lacks
}

// shrink removes values that no node writes: each node would read them each second.
func (s *thresholdSync) shrink(ctx context.Context, values map[string]string) error {
	for name, value := range values {
		if len(value) <= longestThreshold {
			continue
		}
		if err := s.bounded(ctx, func(ctx context.Context) error { return s.Client.HDel(ctx, s.Key, name).Err() }); err != nil {
			return err
		}
	}
	return nil
}

// open returns the record of a field.
func (s *thresholdSync) open(name, value string) (r fleet.ThresholdRecord, err error) {
	if value == "" {
		return r, nil
	}
	text, signed := s.Judge().OpenThreshold(name, value)
	if !signed {
		return r, fleet.ErrUnsigned
	}
	if r, err = fleet.DecodeThreshold(text); err != nil {
		return r, err
	}
	switch {
	case r.Rule != name:
		return r, errors.New("the record is of another rule")
	case time.UnixMilli(r.At).After(s.Now().Add(fleet.Ahead)):
		return r, errors.New("the record is from the future")
	}
	return r, nil
}

// write writes a record into the hash, one of the same text after 0, 1, 2, 4 and up to
// 60 seconds: a forger must not have all nodes write as fast as he does.
func (s *thresholdSync) write(ctx context.Context, r fleet.ThresholdRecord) error {
	if _, now := s.pace.MayReplace(fmt.Sprint(r.Rule, " ", r.At), time.Now()); !now {
		return nil
	}
	text, err := r.Encode()
	if err != nil {
		return err
	}
	return s.bounded(ctx, func(ctx context.Context) error {
		return s.Client.HSet(ctx, s.Key, r.Rule, s.Judge().Threshold(r.Rule, text)).Err()
	})
}

// bounded calls Redis within the timeout.
func (s *thresholdSync) bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return f(ctx)
}
