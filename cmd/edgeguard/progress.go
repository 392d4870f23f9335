package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/words"
)

// progress draws how far a long input has been read: one line on a terminal,
// drawn over, gone at the end. It appears after a second, so that short inputs
// show none.
type progress struct {
	out     io.Writer // nil draws nothing
	started time.Time
	drawn   time.Time
	shown   bool
}

// How often the line is drawn, and how long an input must take to have one.
const (
	progressDelay = time.Second
	progressEvery = 200 * time.Millisecond
	progressWidth = 24
)

func newProgress(e *command.Env) *progress {
	p := &progress{started: time.Now()}
	if e.Progress {
		p.out = e.Stderr
	}
	return p
}

// due reports whether it is time to draw.
func (p *progress) due() bool {
	if p.out == nil {
		return false
	}
	now := time.Now()
	return now.Sub(p.started) >= progressDelay && now.Sub(p.drawn) >= progressEvery
}

// draw draws the line: events so far, bytes read of total (0 if that is not
// known).
func (p *progress) draw(events uint64, read, total int64) {
	p.drawn, p.shown = time.Now(), true
	fmt.Fprintf(p.out, "\r%s\x1b[K", progressLine(p.drawn.Sub(p.started), events, read, total))
}

// progressLine is what is drawn after so long.
func progressLine(elapsed time.Duration, events uint64, read, total int64) string {
	rate := float64(events) / elapsed.Seconds()
	line := fmt.Sprintf("%s events, %s/s", words.Number(events), words.Number(int64(rate)))
	if total <= 0 || read <= 0 {
		return line
	}
	share := min(1, float64(read)/float64(total))
	filled := int(share * progressWidth)
	left := time.Duration(float64(elapsed) * (1 - share) / share).Round(time.Second)
	return fmt.Sprintf("[%s%s] %3.0f %%  %s, %s left", strings.Repeat("=", filled), strings.Repeat(" ", progressWidth-filled), 100*share, line, left)
}

// done wipes the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
