package nftables

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"edgeguard/enforce"
)

// Kernel is an enforcer whose elements the kernel ends by itself.
type Kernel interface {
	enforce.Incremental
	// Spare keeps single addresses from being dropped until their ends, whatever is
	// installed, and no others.
	Spare(ctx context.Context, now time.Time, spared []enforce.Entry) error
	// Watch calls lost when something installed may be lost, until ctx is done.
	Watch(ctx context.Context, lost func())
	// Counts returns the packets of blocked addresses.
	Counts() Counts
}

// TrialList is an enforcer whose list is in force as the trial says. Its methods may be
// called at the same time: they wait for each other.
type TrialList struct {
	kernel Kernel
	trial  *Trial

	turn   chan struct{}   // of length 1: one call at a time
	spared []enforce.Entry // as the kernel was asked last; of who has the turn
}

// NewTrialList returns the kernel's list under a trial.
func NewTrialList(k Kernel, t *Trial) *TrialList {
	return &TrialList{kernel: k, trial: t, turn: make(chan struct{}, 1)}
}

// Traits implements enforce.Enforcer.
func (l *TrialList) Traits() enforce.Traits { return l.kernel.Traits() }

// Close implements enforce.Enforcer.
func (l *TrialList) Close() error {
	l.turn <- struct{}{}
	defer l.done()
	return l.kernel.Close()
}

// Watch implements enforce.Watched.
func (l *TrialList) Watch(ctx context.Context, lost func()) { l.kernel.Watch(ctx, lost) }

// Counts returns the packets of blocked addresses.
func (l *TrialList) Counts() Counts { return l.kernel.Counts() }

// Replace implements enforce.Enforcer. The state is looked at when it is this call's
// turn: an operator who pauses the list waits for the call before, and not after.
func (l *TrialList) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	defer l.done()
	s := l.trial.StatusAt(now)
	if err := l.spare(ctx, now, &s); err != nil {
		return err
	}
	return l.kernel.Replace(ctx, now, s.limit(entries))
}

// spare has the kernel spare what the trial spares. It asks only where that is another
// than before: an answer of the kernel costs reading what is installed.
func (l *TrialList) spare(ctx context.Context, now time.Time, s *TrialStatus) error {
	var spared []enforce.Entry
	for _, a := range s.Spared {
		spared = append(spared, enforce.Entry{Prefix: netip.PrefixFrom(a, a.BitLen()), Until: s.Until})
	}
	if slices.Equal(spared, l.spared) {
		return nil
	}
	if err := l.kernel.Spare(ctx, now, spared); err != nil {
		return err
	}
	l.spared = spared
	return nil
}

// Apply implements enforce.Incremental.
func (l *TrialList) Apply(ctx context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	defer l.done()
	s := l.trial.StatusAt(now)
	return l.kernel.Apply(ctx, now, s.limit(add), remove)
}

// Empty takes every element out, and then has the kernel spare what the trial spares.
// What is installed after it is as the trial says.
func (l *TrialList) Empty(ctx context.Context, now time.Time) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	defer l.done()
	if err := l.kernel.Replace(ctx, now, nil); err != nil {
		return err
	}
	s := l.trial.StatusAt(now)
	return l.spare(ctx, now, &s)
}

// wait waits for this call's turn: an answer to an operator does not wait for ever.
func (l *TrialList) wait(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *TrialList) done() { <-l.turn }

// limit returns what of the entries is in force: none, or none for longer than the
// trial.
func (s *TrialStatus) limit(entries []enforce.Entry) []enforce.Entry {
	switch s.State {
	case Paused:
		return nil
	case Trying:
		limited := make([]enforce.Entry, len(entries))
		for i, e := range entries {
			if e.Until.After(s.Until) {
				e.Until = s.Until
			}
			limited[i] = e
		}
		return limited
	}
	return entries
}
