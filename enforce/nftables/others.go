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

// Enforcer is of Linux only.
type Enforcer struct{}

// New returns what is wrong with the settings, or that this is not Linux.
func New(c Config) (*Enforcer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, errNoLinux
}

// Traits implements enforce.Enforcer.
func (*Enforcer) Traits() enforce.Traits { return enforce.Traits{Kernel: true} }

// Close implements enforce.Enforcer.
func (*Enforcer) Close() error { return nil }

// Replace implements enforce.Enforcer.
func (*Enforcer) Replace(context.Context, time.Time, []enforce.Entry) error { return errNoLinux }

// Apply implements enforce.Incremental.
func (*Enforcer) Apply(context.Context, time.Time, []enforce.Entry, []netip.Prefix) error {
	return errNoLinux
}

// Spare returns that this is not Linux.
func (*Enforcer) Spare(context.Context, time.Time, []enforce.Entry) error { return errNoLinux }

// Watch waits for ctx.
func (*Enforcer) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

// Counts returns that this is not Linux.
func (*Enforcer) Counts() (Counts, error) { return Counts{}, errNoLinux }

// Clear has nothing to delete.
func Clear(context.Context, string) error { return nil }
