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

// Blocks in IP sets of AWS WAF, by its API of version 2019-07-29
// (https://docs.aws.amazon.com/waf/latest/APIReference/API_UpdateIPSet.html).
//
// A set is replaced as a whole, under a token that fails if somebody else changed it in
// between. Only a set that is empty, or whose description begins with the mark, is ever
// written. Entries of a set have no end: what is not taken out stays.

const (
	// between is the time between two writes: AWS allows one a second, of an account in
	// a region.
	between = 1100 * time.Millisecond
	// step is about how long a call waits that is to be made again.
	step = time.Second
	// lost is how often a set is read again, because it was changed in between.
	lost = 3
)

// AWSWAFSet names an IP set, as its ARN does. The zero value is none.
type AWSWAFSet struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// AWSWAFConfig is what a list needs.
type AWSWAFConfig struct {
	Region   string // also of the scope CLOUDFRONT, whose sets are in us-east-1
	Scope    string // REGIONAL or CLOUDFRONT
	Endpoint string // empty is AWS'
	V4, V6   AWSWAFSet
	// File has the credentials; empty: they are in the environment, by AWS' names.
	// Profile is the part of the file.
	File, Profile string
	Most          int // in each set
	Every         time.Duration
	Mark          string // the first word of the description of a set that is ours
	Rank          Rank   // nil for lists that are only emptied
}

// AWSWAF keeps blocks in the sets. It is safe for concurrent use.
type AWSWAF struct {
	Contents
	config AWSWAFConfig
	api    *awswafAPI
	wrote  time.Time // when a set was last written; of the runner's goroutine
	// The two above, and less in tests.
	step, between time.Duration
}

// NewAWSWAF returns a list. Nothing is sent before Replace.
func NewAWSWAF(c AWSWAFConfig) *AWSWAF {
	if c.Rank == nil {
		c.Rank = func(netip.Prefix) (uint32, time.Time) { return 0, time.Time{} }
	}
	return &AWSWAF{config: c, api: newAWSWAFAPI(c), step: step, between: between}
}

// Traits returns how to use it. What was learned behind a proxy is in force too: AWS WAF
// sees the client, or is that proxy.
func (l *AWSWAF) Traits() enforce.Traits {
	return enforce.Traits{Every: l.config.Every, Takes: takes(l.config.Every)}
}

// Close ends the connection. The sets stay as they are.
func (l *AWSWAF) Close() error {
	l.api.client.Close()
	return nil
}

// Replace makes the hottest of entries all that the sets hold.
func (l *AWSWAF) Replace(ctx context.Context, _ time.Time, entries []enforce.Entry) error {
	var failed error
	var in []netip.Prefix
	all := 0
	for _, f := range l.families() {
		kept, left := hottest(entries, l.config.Most, f.holds, l.config.Rank)
		all += len(entries) - left
		if err := l.write(ctx, f, kept); err != nil {
			failed = joinErrors(failed, fmt.Errorf("IP set %s: %w", f.set.Name, err))
		}
		in = append(in, kept...)
	}
	if failed != nil {
		return failed
	}
	l.SetContents(in, len(entries)-all)
	return nil
}

// family is one of the two sets.
type family struct {
	set     AWSWAFSet
	version string
	holds   func(netip.Prefix) bool
}

// families returns the sets that there are, IPv4 first.
func (l *AWSWAF) families() (all []family) {
	if l.config.V4.ID != "" {
		all = append(all, family{l.config.V4, "IPV4", func(p netip.Prefix) bool { return p.Addr().Is4() }})
	}
	if l.config.V6.ID != "" {
		all = append(all, family{l.config.V6, "IPV6", func(p netip.Prefix) bool { return p.Addr().Is6() }})
	}
	return all
}

// write makes prefixes all that a set holds. It reads the set first, and writes only
// what differs.
func (l *AWSWAF) write(ctx context.Context, f family, want []netip.Prefix) error {
	for try := 0; ; try++ {
		got, err := l.read(ctx, f)
		if err != nil {
			return err
		}
		if same(got.Addresses, want) {
			return nil
		}
		if !sleep.For(ctx, time.Until(l.wrote.Add(l.between))) {
			return ctx.Err()
		}
		err = repeat(ctx, l.step, func() error { return l.api.update(ctx, f.set, l.described(got), got.lock, want) })
		l.wrote = time.Now()
		if awsErrorName(err) != "WAFOptimisticLockException" || try == lost {
			return err
		}
	}
}

// read returns a set, if it may be written.
func (l *AWSWAF) read(ctx context.Context, f family) (got ipSet, err error) {
	err = repeat(ctx, l.step, func() error { got, err = l.api.getIPSet(ctx, f.set); return err })
	switch {
	case err != nil:
		return got, err
	case got.Version != f.version:
		return got, fmt.Errorf("it holds %s: name it by the other of ipv4 and ipv6", outbound.Shown(got.Version))
	case len(got.Addresses) > 0 && !l.marked(got):
		return got, fmt.Errorf("%w: its addresses (%d) are somebody else's, since its description does not begin with %s. It was left alone: use an empty set, or begin the description with that word if all addresses may go",
			enforce.ErrNotOurs, len(got.Addresses), l.config.Mark)
	}
	return got, nil
}

// marked reports whether a set carries the mark.
func (l *AWSWAF) marked(got ipSet) bool {
	words := strings.Fields(got.Description)
	return len(words) > 0 && words[0] == l.config.Mark
}

// described returns the description to write.
func (l *AWSWAF) described(got ipSet) string {
	if l.marked(got) {
		return got.Description
	}
	return l.config.Mark + " keeps this list"
}

// Look returns a line about each set, and what is wrong with them. It changes nothing.
func (l *AWSWAF) Look(ctx context.Context) (lines []string, err error) {
	var failed error
	for _, f := range l.families() {
		got, err := l.read(ctx, f)
		switch {
		case err != nil:
			failed = joinErrors(failed, fmt.Errorf("IP set %s: %w", f.set.Name, err))
		case l.marked(got):
			lines = append(lines, fmt.Sprintf("IP set %s carries the mark and has %d addresses", f.set.Name, len(got.Addresses)))
		default:
			lines = append(lines, fmt.Sprintf("IP set %s is empty and carries no mark yet", f.set.Name))
		}
	}
	return lines, failed
}

// same reports whether a set's addresses are these prefixes. AWS writes IPv6 out in full.
func same(addresses []string, want []netip.Prefix) bool {
	if len(addresses) != len(want) {
		return false
	}
	have := make([]netip.Prefix, 0, len(addresses))
	for _, text := range addresses {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return false
		}
		have = append(have, p.Masked())
	}
	slices.SortFunc(have, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return slices.Equal(have, want)
}
