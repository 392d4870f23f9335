// Package report measures edgeguard beside its goals, beside other ways to limit a
// rate and beside other programs, and shows it: tables for the terminal, and the pages
// docs/benchmarks.md and docs/figures.md with the pictures of README.md. The command is
//
//	go run ./loadtest report
//
// Parts are loadtest's own comparisons (algorithms, fleet, tools). Groups are
// benchmarks of this module and of loadtest/peers, and races of the built program
// against mawk, goaccess and tcpdump on files that it makes. What is compared runs by
// turns, several rounds, and the median round counts.
//
// It is for people. It is not a test: a figure that is short does not fail the run,
// since a busy machine is not a defect, and what cannot be measured is said in its row.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say what is measured.
type Options struct {
	Root string // the project's folder
	Seed uint64 // of all traffic
	// Full measures everything at length, some half an hour; without it parts are
	// short and groups are those that need seconds.
	Full bool
	// Only names the parts and groups to measure; none means those of Full or of the
	// short run.
	Only []string
}

// groups are the figures in the order in which they are shown.
func groups() []group {
	return []group{
		instructionsGroup(), addGroup(), decideGroup(), rulesGroup(), memoryGroup(), distinctGroup(), logGroup(), captureGroup(), packetsGroup(),
		edgesGroup(), haproxyPeersGroup(), envoyGroup(), kernelGroup(), namesGroup(), crossingGroup(), redisGroup(), blocksGroup(),
		listsGroup(), decisionsGroup(), bouncersGroup(), consoleGroup(), attacksGroup(), eventsGroup(),
	}
}

// Names are what [Options.Only] may name.
func Names() []string {
	names := partNames()
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

// Check says what is wrong with the options, if anything.
func (o *Options) Check() error {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no part or group %q to measure, there are %s", name, strings.Join(Names(), ", "))
		}
	}
	if _, err := os.Stat(filepath.Join(o.Root, "cmd", "edgeguard")); err != nil {
		return errors.New("this is not edgeguard's folder: run it where its go.mod is")
	}
	return nil
}

// wants reports whether a part or group is measured; quick is whether it belongs to
// the short run.
func (o *Options) wants(name string, quick bool) bool {
	if len(o.Only) > 0 {
		return slices.Contains(o.Only, name)
	}
	return o.Full || quick
}

// Run measures. Notes are told what is being done, a line for each step. What ctx ends
// leaves nothing running and no file behind.
func Run(ctx context.Context, o Options, notes io.Writer) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "eg-") // short: names of sockets below it are bounded
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &runner{ctx: ctx, root: o.Root, dir: dir, rounds: 1, benchtime: "100ms", notes: notes} // a million decisions: what differs between rounds is the machine
	if o.Full {
		r.rounds = 3
	}
	all := &Report{Full: o.Full, Only: o.Only, Time: begin(o.Root, r.rounds)}
	if err := all.Parts.run(ctx, o, notes); err != nil {
		return nil, err
	}
	r.counted, r.quoted = all.Parts.counted()
	for _, g := range groups() {
		if !o.wants(g.name, g.quick) {
			continue
		}
		begun := time.Now()
		all.Groups = append(all.Groups, r.measure(g))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fmt.Fprintf(notes, "%s took %s\n", g.name, time.Since(begun).Round(time.Second))
	}
	all.Time.end()
	return all, nil
}
