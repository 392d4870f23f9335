package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf16"
)

// logFile is the log of a node, lines for people or JSON for programs, whose format and level may change while it is written. It is safe for
// concurrent use.
type logFile struct {
	level slog.LevelVar
	json  atomic.Bool
	both  logHandler
}

// newLog returns a log of text, from info on. journal leaves out the time of text lines:
// systemd's journal has its own.
func newLog(w io.Writer, journal bool) *logFile {
	l := &logFile{}
	out := &wholeLines{to: w}
	text := &slog.HandlerOptions{Level: &l.level}
	if journal {
		text.ReplaceAttr = withoutTime
	}
	objects := &slog.HandlerOptions{Level: &l.level, ReplaceAttr: durationText}
	l.both = logHandler{json: &l.json, text: slog.NewTextHandler(out, text), objects: slog.NewJSONHandler(escapedJSON{out}, objects)}
	return l
}

// logger returns what writes the log.
func (l *logFile) logger() *slog.Logger { return slog.New(l.both) }

// set puts another format and another level in force.
func (l *logFile) set(json bool, level slog.Level) {
	l.json.Store(json)
	l.level.Set(level)
}

// page writes a page of text line by line, each as a message.
func (l *logFile) page(page []byte) {
	log := l.logger()
	for line := range bytes.Lines(page) {
		log.Info(string(bytes.TrimRight(line, "\n")))
	}
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// durationText writes a duration as text does, "5m0s": JSON would have nanoseconds.
func durationText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}

// logHandler passes each message to one of two. Both know the attributes, since the
// format may change after a logger was made.
type logHandler struct {
	json          *atomic.Bool
	text, objects slog.Handler
}

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.text.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.json.Load() {
		return h.objects.Handle(ctx, r)
	}
	return h.text.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.json, h.text.WithAttrs(attrs), h.objects.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.json, h.text.WithGroup(name), h.objects.WithGroup(name)}
}

// wholeLines keeps the lines of the two handlers apart.
type wholeLines struct {
	mu sync.Mutex // guards to
	to io.Writer
}

// Write implements [io.Writer].
func (w *wholeLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// escapedJSON writes what is not seen in a line of JSON as \u…. JSON allows U+202E and C1 in
// a text, and a terminal that shows the line acts on them. Messages repeat what
// strangers wrote.
type escapedJSON struct{ to io.Writer }

// Write implements [io.Writer]. A handler writes each message by one call.
func (e escapedJSON) Write(p []byte) (int, error) {
	hides := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(p, hides) {
		return e.to.Write(p)
	}
	line := make([]byte, 0, len(p)+32)
	for _, r := range string(p) {
		switch {
		case !hides(r):
			line = append(line, string(r)...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			line = fmt.Appendf(line, `\u%04x\u%04x`, high, low)
		default:
			line = fmt.Appendf(line, `\u%04x`, r)
		}
	}
	if _, err := e.to.Write(line); err != nil {
		return 0, err
	}
	return len(p), nil
}
