package enforce

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// HAProxyProcess is what a process of HAProxy says of itself at its stats socket.
type HAProxyProcess struct {
	PID         uint64
	Uptime      uint64 // in seconds
	DroppedLogs uint64 // lines that no log server took, of all its log servers, since it started
}

// AskHAProxy returns what the process that answers at a stats socket says of itself. Any
// level of the socket may ask.
func AskHAProxy(ctx context.Context, socket string) (p HAProxyProcess, err error) {
	answer, err := haproxy{socket: socket}.askSocket(ctx, "show info")
	if err != nil {
		return p, err
	}
	found := 0
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(line, ":")
		for _, want := range []struct {
			name string
			to   *uint64
		}{{"Pid", &p.PID}, {"Uptime_sec", &p.Uptime}, {"DroppedLogs", &p.DroppedLogs}} {
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil && name == want.name {
				*want.to = n
				found++
			}
		}
	}
	if found != 3 {
		return p, fmt.Errorf("haproxy at %s: show info has no Pid, Uptime_sec or DroppedLogs: is it HAProxy's stats socket?", socket)
	}
	return p, nil
}

// HAProxyDrops adds up the lines that the processes of one HAProxy dropped since the first
// look: a reload starts another, whose count begins at 0. It is not safe for concurrent use.
type HAProxyDrops struct{ seen map[uint64]HAProxyProcess }

// mostProcesses bounds the processes that are remembered: those before a reload may go on
// for hours, and do not answer any more.
const mostProcesses = 16

// Since returns how many lines a process dropped since the last look at it. All that a
// process dropped that was never looked at is new, but for the first of all.
func (d *HAProxyDrops) Since(p HAProxyProcess) uint64 {
	before, known := d.seen[p.PID]
	first := len(d.seen) == 0
	if first || len(d.seen) >= mostProcesses {
		d.seen = make(map[uint64]HAProxyProcess)
	}
	d.seen[p.PID] = p
	switch {
	case first:
		return 0
	case known && p.Uptime >= before.Uptime && p.DroppedLogs >= before.DroppedLogs:
		return p.DroppedLogs - before.DroppedLogs
	}
	return p.DroppedLogs // another process; in a container each has the same number
}
