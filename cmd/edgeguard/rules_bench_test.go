package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/internal/realdata"
	"edgeguard/logline"
	"edgeguard/packaging"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
)

// BenchmarkPackagedLog replays the events of a real log by one rule and by those that packages
// install, in turns, and reports the processor time of an event without that of reading it:
// "one-ns" and "packaged-ns", of which "times" is the quotient, and "failed-ns" and
// "others-ns" for those whose status is an error's and the rest, each by themselves, with
// their quotient "failed-times".
func BenchmarkPackagedLog(b *testing.B) {
	all := logged(b, "weblog-wordpress-2016", "access.log.gz")
	var failed, others []edgeguard.Event
	for i := range all {
		if all[i].Status >= 400 {
			failed = append(failed, all[i])
		} else {
			others = append(others, all[i])
		}
	}
	one, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 2000}})
	packaged, err := config.Parse("packaged", []byte(packaging.Config))
	if problems != nil || err != nil {
		b.Fatal(problems, err)
	}
	runs := []struct {
		unit   string
		rules  *rules.Set
		events []edgeguard.Event
		took   time.Duration
	}{{"one-ns", one, all, 0}, {"packaged-ns", packaged.Rules, all, 0}, {"failed-ns", packaged.Rules, failed, 0}, {"others-ns", packaged.Rules, others, 0}}
	rounds := 0
	for b.Loop() {
		for i := range runs {
			runs[i].took += replayed(b, runs[i].rules, runs[i].events)
		}
		rounds++
	}
	b.ReportMetric(0, "ns/op")
	for _, r := range runs {
		b.ReportMetric(float64(r.took.Nanoseconds())/float64(rounds*len(r.events)), r.unit)
	}
	each := func(i int) float64 { return float64(runs[i].took) / float64(len(runs[i].events)) }
	b.ReportMetric(each(1)/each(0), "times")
	b.ReportMetric(each(2)/each(3), "failed-times")
}

// logged returns the events of a combined log, in their order.
func logged(b *testing.B, elem ...string) (events []edgeguard.Event) {
	format, _ := logline.ParseFormat("combined")
	r, err := accesslog.Open(realdata.Path(b, elem...), format, accesslog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		some, err := r.Next()
		for _, ev := range some { // its texts are valid until the next call
			for _, text := range textsOf(&ev) {
				*text = strings.Clone(*text)
			}
			events = append(events, ev)
		}
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// replayed returns the processor time that a replay of the events takes, without reading them.
func replayed(b *testing.B, set *rules.Set, events []edgeguard.Event) time.Duration {
	source := lines{left: events}
	if _, err := replay.Run(b.Context(), &source, replay.Config{Rules: set, Memory: shard.NewMemory(512 << 20)}); err != nil {
		b.Fatal(err)
	}
	return source.took
}

// lines hands events over as a log's reader does: some hundred at once, whose texts were
// written just before.
type lines struct {
	left        []edgeguard.Event
	room        []byte
	begun, took time.Duration // when the last were handed over, and the processor time between
}

func (l *lines) Next() ([]edgeguard.Event, error) {
	if now := processorTime(); l.begun > 0 {
		l.took += now - l.begun
	}
	if len(l.left) == 0 {
		return nil, io.EOF
	}
	n := min(len(l.left), 512)
	some := slices.Clone(l.left[:n])
	l.left, l.room = l.left[n:], l.room[:0]
	for i := range some {
		for _, text := range textsOf(&some[i]) {
			l.room = append(l.room, *text...)
		}
	}
	rest := string(l.room)
	for i := range some {
		for _, text := range textsOf(&some[i]) {
			*text, rest = rest[:len(*text)], rest[len(*text):]
		}
	}
	l.begun = processorTime()
	return some, nil
}

// textsOf returns those of an event that a log line has.
func textsOf(ev *edgeguard.Event) []*string {
	return []*string{&ev.Host, &ev.Method, &ev.Path, &ev.Agent, &ev.Referer}
}

// processorTime returns that of this process so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it cannot fail for these arguments
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
