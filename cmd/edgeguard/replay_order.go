package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"edgeguard"
	"edgeguard/internal/words"
	"edgeguard/replay"
)

// fileOrder is what came of files whose events are out of order.
type fileOrder int

const (
	orderKept     fileOrder = iota // few enough came too late
	orderSorted                    // they were sorted
	orderOnce                      // they cannot be read a second time
	orderPrinted                   // too much was printed already
	orderTooLarge                  // they do not fit into the memory
)

// lateOne is the part of the events, one in so many, that may come too late
// before the order is mistrusted: 5 %.
const lateOne = 20

func outOfOrder(r *replay.Report) bool { return r.Late > r.Events/lateOne }

// mayRepeat reports whether the files can be read a second time.
func (j *job) mayRepeat() bool {
	for _, name := range j.names {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return !j.settings.sort
}

// runSorted replays the files a second time, in the order of time, and returns the
// first report where that cannot be. They are opened without a look at strays:
// in the order of time no line makes a later one late.
func (j *job) runSorted(ctx context.Context, first *replay.Report) (*replay.Report, error) {
	j.lateShare = words.Percent(first.Late, first.Events)
	switch {
	case !j.mayRepeat():
		j.order = orderOnce
		return first, nil
	case j.printed != nil && j.printed():
		j.order = orderPrinted
		return first, nil
	}
	options := j.options
	options.window = 0
	again, err := options.openAll(j.names)
	if err != nil {
		return first, err
	}
	report, err := j.runOnce(ctx, again, &second{Source: replay.SortByTime(again.source(j.options.period), j.limits.Memory), begins: j.takeBack})
	if errors.Is(err, replay.ErrTooLarge) {
		again.close()
		j.order = orderTooLarge
		return first, nil
	}
	j.inputs.close()
	j.inputs, j.order = again, orderSorted
	return report, err
}

// second is the source of a second run: begins is called, if set, once there are
// events.
type second struct {
	replay.Source
	begins func()
}

// Next implements replay.Source.
func (s *second) Next() ([]edgeguard.Event, error) {
	events, err := s.Source.Next()
	if s.begins != nil && !errors.Is(err, replay.ErrTooLarge) {
		s.begins()
		s.begins = nil
	}
	return events, err
}

// printOrder prints what was done about many events that came too late.
func (j *job) printOrder(out io.Writer) {
	tooLow := fmt.Sprintf("NOT IN ORDER: %s of the events came too late to be counted, so the counts below are too low: ", j.lateShare)
	switch j.order {
	case orderSorted:
		fmt.Fprintf(out, "%s of the events came too late to be counted, so all were sorted by time\n", j.lateShare)
	case orderOnce:
		fmt.Fprintln(out, tooLow+"use files instead of a pipe, or --sort")
	case orderPrinted:
		fmt.Fprintln(out, tooLow+"use --sort")
	case orderTooLarge:
		fmt.Fprintf(out, "%sthey do not fit into `memory` (%s MiB) for sorting: raise it in the config, or use --sort, which has no limit\n",
			tooLow, words.Number(j.limits.Memory>>20))
	}
}

// mostPending is how much JSON is kept back until a file's order is known.
const mostPending = 64 << 20

// pendingOutput holds back what is written, until it is open or too much.
type pendingOutput struct {
	out     io.Writer
	pending bytes.Buffer
	open    bool
}

// Write implements io.Writer.
func (h *pendingOutput) Write(p []byte) (int, error) {
	if !h.open && h.pending.Len()+len(p) <= mostPending {
		return h.pending.Write(p)
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.out.Write(p)
}

// flush writes what is held back, and holds no more.
func (h *pendingOutput) flush() error {
	h.open = true
	_, err := h.pending.WriteTo(h.out)
	return err
}

// drop forgets what is held back.
func (h *pendingOutput) drop() { h.pending.Reset() }
