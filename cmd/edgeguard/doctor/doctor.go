// Package doctor finds what would keep a node from working on this host. It looks at
// ports, files with their permissions, the logs' formats, the kernel's datagram queue,
// the clock, lists that are no longer updated, and settings that cancel each other out,
// as the user that systemd runs the node as. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"edgeguard/config"
	"edgeguard/setup"
)

// severity is how bad a finding is.
type severity int

const (
	fine  severity = iota // as it should be
	doubt                 // works, and may not be what is wanted
	wrong                 // does not work
)

// finding is one thing that was looked at.
type finding struct {
	Severity severity `json:"severity"`
	About    string   `json:"about"`
	Text     string   `json:"text"`
}

// examination collects findings.
type examination struct {
	unit     *Unit // that runs the node, nil if none does
	findings []finding
	named    bool // the config says which networks are clients
	doors    []string
	unusable map[string]int // folders, with the number of the finding that says so
}

func (x *examination) note(s severity, about, format string, args ...any) {
	x.findings = append(x.findings, finding{s, about, fmt.Sprintf(format, args...)})
}

// stranger reports whether the unit runs the node as another user than the one that
// looks. What is denied to that one says nothing of the node.
func (x *examination) stranger() bool {
	uid := os.Getuid()
	return x.unit != nil && uid != 0 && uint32(uid) != x.unit.UID
}

// denied notes that a stranger may not look at something, and reports whether it did.
func (x *examination) denied(about string, err error) bool {
	if !x.stranger() || !errors.Is(err, fs.ErrPermission) {
		return false
	}
	x.note(doubt, about, "not checked: this user may not, and %s runs the node as %s; run edgeguard doctor as root", UnitName, x.unit.User)
	return true
}

// examine looks at the host as the node of c would use it, and asks that node
// if it is running. A node that hangs makes it wait, by
// askFor and lineFor for each question. The unit is the one that runs
// the node, or nil.
func examine(ctx context.Context, c *config.Config, u *Unit) []finding {
	x := &examination{unit: u}
	for _, w := range c.Warnings {
		x.note(doubt, "config", "%s", w)
	}
	for _, text := range OpenSecrets(c) {
		x.note(doubt, "secret", "%s", text)
	}
	for _, text := range OldHosts(ctx, c) {
		x.note(doubt, "log", "%s", text)
	}
	x.listeners(c)
	x.state(c)
	x.fleetKey(c)
	x.fleetRedis(ctx, c)
	x.crowdsec(ctx, c)
	x.logs(c)
	x.enforcers(c)
	x.names(c, setup.Places())
	x.packetFilter(c, "/")
	x.interfaces(c)
	x.leftLists(c)
	x.clouds(ctx, c)
	x.datagrams(c)
	x.clock()
	x.node(ctx, c)
	return x.findings
}
