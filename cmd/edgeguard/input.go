package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/words"
	"edgeguard/logline"
	"edgeguard/replay"
	"edgeguard/sensor/accesslog"
	"edgeguard/sensor/packet"
)

// input is one file being read, a log or a capture.
type input struct {
	name string
	// what says in a few words how it is read: "combined log", "capture".
	what   string
	zone   string         // of times that name none, as it is called
	kinds  edgeguard.Kind // that a log's lines can be
	source replay.Source
	close  func() error
	status func() inputStatus
}

// inputStatus is how far an input has been read and what was passed over.
type inputStatus struct {
	events, units uint64 // events returned; lines or packets read
	skipped       uint64
	first         []string // the first skipped, with their places
	bare          bool     // there were times without a zone
	suppressed    uint64   // lines that never came, by what the log says
	warning       string   // reading ended early
	read, total   int64    // bytes
}

// inputOptions say how inputs are opened.
type inputOptions struct {
	format string
	zones  zones
	// window is how far ahead of its neighbours a time may be; 0 for no bound.
	window time.Duration
	kinds  edgeguard.Kind
	asks   bool // a rule counts what packets asked for
	local  []netip.Prefix
	// period, if set, passes over the events outside it.
	period *period
	// stdin is what "-" names; stdinCapture: it is a capture.
	stdin        io.Reader
	stdinCapture bool
}

// completions returns the kinds that captures are read for beside those of the
// rules: a handshake shows that the source of a SYN was not forged.
func (o *inputOptions) completions() edgeguard.Kind { return edgeguard.KindHandshake &^ o.kinds }

// sniff looks at the first input, if its format is left open: standard input
// is read for that, and put back.
func sniff(e *command.Env, name, format string) (capture bool) {
	if format != "auto" {
		return format == "pcap"
	}
	if name != "-" {
		return isCapture(name)
	}
	b := bufio.NewReaderSize(e.Stdin, packet.SniffSize)
	e.Stdin = b
	head, _ := b.Peek(4)
	if string(head[:min(2, len(head))]) == "\x1f\x8b" {
		head, _ = b.Peek(packet.SniffSize)
	}
	return packet.Sniff(head)
}

// isCapture says whether a file begins like a capture. One that cannot be read
// does not; opening it says why. A pipe is not looked at: what is read of it is
// gone. For a capture in one, use --format pcap.
func isCapture(name string) bool {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReaderSize(f, packet.SniffSize).Peek(packet.SniffSize)
	return packet.Sniff(head)
}

// open opens one file.
func (o *inputOptions) open(name string) (*input, error) {
	capture := o.format == "pcap"
	if o.format == "auto" {
		capture = o.stdinCapture && name == "-" || name != "-" && isCapture(name)
	}
	if capture {
		return o.openCapture(name)
	}
	return o.openLog(name)
}

func (o *inputOptions) openLog(name string) (*input, error) {
	format, err := logline.ParseFormat(o.format)
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--format: %w", err))
	}
	zone, called, err := o.zones.of(name)
	if err != nil {
		return nil, err
	}
	r, err := accesslog.Open(name, format, accesslog.Options{Zone: zone, Window: o.window, Stdin: o.stdin})
	if err != nil {
		return nil, err
	}
	status := func() inputStatus {
		s := r.Stats()
		out := inputStatus{events: s.Events, units: s.Lines, skipped: s.Skipped, bare: s.Bare, suppressed: s.Suppressed, read: s.Read, total: s.Total}
		for _, line := range s.First {
			out.first = append(out.first, line.String())
		}
		if s.Events == 0 && s.Passed > 0 {
			out.warning = fmt.Sprintf("none of its lines is one that format %s counts: %s passed over, the first:", r.Format(), words.Plural(s.Passed, "line was", "lines were"))
			for _, line := range s.Others {
				out.warning += "\n  " + line.String()
			}
		}
		for _, unread := range s.Unread {
			out.warning = strings.TrimPrefix(out.warning+"\n"+unread.String(), "\n")
		}
		return out
	}
	return &input{name: name, what: r.Format().String() + " log", zone: called, kinds: r.Format().Kinds(), source: r, close: r.Close, status: status}, nil
}

func (o *inputOptions) openCapture(name string) (*input, error) {
	options := packet.Options{Kinds: o.kinds | o.completions(), Answers: o.asks, Local: o.local}
	var r *packet.Reader
	var err error
	if name == "-" {
		r, err = packet.New(o.stdin, "standard input", options)
	} else {
		r, err = packet.Open(name, options)
	}
	if err != nil {
		return nil, err
	}
	status := func() inputStatus {
		s := r.Stats()
		return inputStatus{events: s.Events, units: s.Packets, skipped: s.Malformed + s.Timeless, warning: s.Truncated, read: s.BytesRead, total: s.BytesTotal}
	}
	var source replay.Source = r
	if o.window > 0 {
		source = accesslog.NewStrays(r, o.window, nil)
	}
	return &input{name: name, what: "capture", source: source, close: r.Close, status: status}, nil
}

// inputs are all files of one command.
type inputs []*input

// openAll opens every file, or none.
func (o *inputOptions) openAll(names []string) (inputs, error) {
	var all inputs
	for _, name := range names {
		in, err := o.open(name)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// ofLogins reports whether all are logs that have failed logins, and no requests.
func (all inputs) ofLogins() bool {
	return !slices.ContainsFunc(all, func(in *input) bool {
		return in.kinds&(edgeguard.KindRequest|edgeguard.KindAuthFailure) != edgeguard.KindAuthFailure
	})
}

func (all inputs) close() {
	for _, in := range all {
		_ = in.close()
	}
}

// source merges the inputs by time, as far as they lie in a period; one alone is read as it
// is.
func (all inputs) source(within *period) replay.Source {
	sources := make([]replay.Source, len(all))
	for i, in := range all {
		sources[i] = in.source
	}
	if within == nil {
		return replay.Merge(sources...)
	}
	within.outside = 0
	return &periodSource{Source: replay.Merge(sources...), period: within}
}

// period is a part of the inputs' time; a zero time is no bound.
type period struct {
	from, to time.Time
	outside  uint64 // events that were passed over
	// first and last are the times of the first of these, and of the last.
	first, last time.Time
}

// periodSource is the events of a source that lie in a period.
type periodSource struct {
	replay.Source
	period *period
}

// Next implements [replay.Source]. What it returns stands in the place of what it was given.
func (p *periodSource) Next() ([]edgeguard.Event, error) {
	events, err := p.Source.Next()
	kept := events[:0]
	for i := range events {
		if t := events[i].Time; t.Before(p.period.from) || !p.period.to.IsZero() && !t.Before(p.period.to) {
			if p.period.outside == 0 {
				p.period.first = t
			}
			p.period.outside, p.period.last = p.period.outside+1, t
			continue
		}
		kept = append(kept, events[i])
	}
	return kept, err
}

// total adds up the statuses.
func (all inputs) total() inputStatus {
	var sum inputStatus
	for _, in := range all {
		s := in.status()
		sum.events += s.events
		sum.units += s.units
		sum.skipped += s.skipped
		sum.suppressed += s.suppressed
		sum.read += s.read
		sum.total += s.total
	}
	return sum
}
