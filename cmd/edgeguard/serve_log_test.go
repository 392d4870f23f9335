package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// logObjects reads a log of JSON, each line an object.
func logObjects(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, o)
	}
	return all
}

func TestLogJSON(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, true)
	l.set(true, slog.LevelInfo)
	l.logger().With("node", "n").Info("blocked", "count", 1901, "for", 10*time.Minute, "error", errors.New("no"))
	l.logger().Debug("not written")
	l.page([]byte("edgeguard 1.0\nrule a\n"))
	got := logObjects(t, out.String())
	if len(got) != 3 {
		t.Fatalf("%v", got)
	}
	first := got[0]
	if first["msg"] != "blocked" || first["level"] != "INFO" || first["node"] != "n" || first["count"] != 1901.0 || first["for"] != "10m0s" || first["error"] != "no" {
		t.Errorf("%v", first)
	}
	if _, err := time.Parse(time.RFC3339Nano, first["time"].(string)); err != nil {
		t.Errorf("%v: %v", first, err)
	}
	if got[1]["msg"] != "edgeguard 1.0" || got[2]["msg"] != "rule a" {
		t.Errorf("the page is %v", got[1:])
	}
}

// TestLogHostile: whatever a stranger wrote is one line in both formats, and no terminal
// acts on it.
func TestLogHostile(t *testing.T) {
	text := "a\nb\r\x1b[2J\x00\x7f\u0085\u009b31m\u202e\u2066\u2028\ufeff\u200b\u200d\U000e0041\xff\"}{\\ é 漢 🎉"
	for _, format := range []bool{true, false} {
		var out bytes.Buffer
		l := newLog(&out, false)
		l.set(format, slog.LevelInfo)
		l.logger().Info(text, "path", text, text, "value")
		line, ended := strings.CutSuffix(out.String(), "\n")
		if !ended || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("json %v: %q", format, line)
		}
		if !format {
			continue
		}
		want := strings.ToValidUTF8(text, "\ufffd")
		if o := logObjects(t, out.String())[0]; o["msg"] != want || o["path"] != want || o[want] != "value" {
			t.Errorf("%q", o)
		}
	}
}

// TestLogSet: format and level change while loggers are in use.
func TestLogSet(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, true)
	log := l.logger().With("a", 1).WithGroup("g")
	log.Info("one", "b", 2)
	if got := out.String(); got != "level=INFO msg=one a=1 g.b=2\n" {
		t.Errorf("%q", got)
	}
	out.Reset()
	l.set(true, slog.LevelWarn)
	log.Info("two")
	log.Warn("three", "b", 2)
	if got := logObjects(t, out.String()); len(got) != 1 || got[0]["msg"] != "three" || got[0]["a"] != 1.0 || got[0]["g"].(map[string]any)["b"] != 2.0 {
		t.Errorf("%v", got)
	}
	out.Reset()
	l.set(false, slog.LevelDebug)
	log.Debug("four")
	if got := out.String(); got != "level=DEBUG msg=four a=1\n" {
		t.Errorf("%q", got)
	}
}

// TestLogTime: a line of text has its time, except in the journal.
func TestLogTime(t *testing.T) {
	for _, journal := range []bool{true, false} {
		var out bytes.Buffer
		newLog(&out, journal).logger().Info("x")
		if strings.HasPrefix(out.String(), "time=") == journal {
			t.Errorf("journal %v: %q", journal, out.String())
		}
	}
}

// TestLogManyWriters: messages of several goroutines stay whole while the format changes.
func TestLogManyWriters(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, true)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				l.set(i%2 == 0, slog.LevelInfo)
				l.logger().Info("message", "text", strings.Repeat("x", 100))
			}
		})
	}
	all.Wait()
	n := 0
	for line := range strings.Lines(out.String()) {
		n++
		if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "level=INFO msg=message text=x") || !strings.HasSuffix(strings.TrimRight(line, "}\"\n"), "xxx") {
			t.Errorf("%q", line)
		}
	}
	if n != 800 {
		t.Errorf("%d lines", n)
	}
}
