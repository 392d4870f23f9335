//go:build !linux

package nftables

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"edgeguard/enforce"
)

var errNoLinux = errors.New("nftables: only Linux has it: use another enforcer, such as a list")

// Filter is of Linux only.
type Filter struct{}

// New returns what is wrong with the settings, or that this is not Linux.
func New(c Config) (*Filter, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, errNoLinux
}

// Traits implements enforce.Enforcer.
func (*Filter) Traits() enforce.Traits { return enforce.Traits{Kernel: true, Takes: time.Second} }

// Close implements enforce.Enforcer.
func (*Filter) Close() error { return nil }

// Replace implements enforce.Enforcer.
func (*Filter) Replace(context.Context, time.Time, []enforce.Entry) error { return errNoLinux }

// Apply implements enforce.Incremental.
func (*Filter) Apply(context.Context, time.Time, []enforce.Entry, []netip.Prefix) error {
	return errNoLinux
}

// Spare returns that this is not Linux.
func (*Filter) Spare(context.Context, time.Time, []enforce.Entry) error { return errNoLinux }

// Watch waits for ctx.
func (*Filter) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

// Counts returns nothing.
func (*Filter) Counts() Counts { return Counts{} }

// Clear has nothing to delete.
func Clear(context.Context, string) error { return nil }

// Tables returns none.
func Tables(context.Context) ([]string, error) { return nil, nil }
