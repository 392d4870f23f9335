package main

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"edgeguard/loadtest/benign"
)

// busy is how many requests an attacker has sent who is to be found above all.
const busy = 10

// figures are what one set of rules did with one log, or with all.
type figures struct {
	attackers, found         int // all
	busy, busyFound          int // those with at least ten requests
	benign, blocked, unknown int // labelled benign, of these blocked, and blocked without a label
	times                    []time.Duration
	rules                    map[string]*ruleFigures
	rows                     []row
}

// ruleFigures are what one rule did.
type ruleFigures struct {
	found, alone, blocked, unknown int
	times                          []time.Duration
	// benign and generated are the greatest counts of those that may not be
	// blocked; scene is where the latter was.
	benign, generated uint32
	scene             string
}

// row is one address that a reader may want to look at.
type row struct {
	log   string
	addr  netip.Addr
	who   who // zero for an unknown
	rules []string
	visitor
}

// judgeLogs judges every labelled log, and returns the figures by log and the sum.
func judgeLogs(ctx context.Context, r ruleset, data string, l labels) (byLog []figures, all figures, err error) {
	all = newFigures(r)
	for _, folder := range l.folders {
		f := newFigures(r)
		if err := f.judgeLog(ctx, r, filepath.Join(data, folder), l.of[folder]); err != nil {
			return nil, all, fmt.Errorf("%s: %w", folder, err)
		}
		byLog = append(byLog, f)
		all.add(&f)
	}
	return byLog, all, nil
}

func newFigures(r ruleset) figures {
	f := figures{rules: make(map[string]*ruleFigures)}
	for i := range r.set.Rules {
		f.rules[r.set.Rules[i].Name] = &ruleFigures{}
	}
	return f
}

// judgeLog judges one log, and then its benign addresses alone: their peaks say
// how far they are from each limit.
func (f *figures) judgeLog(ctx context.Context, r ruleset, folder string, of map[netip.Addr]who) error {
	source, err := openLog(folder)
	if err != nil {
		return err
	}
	defer source.Close()
	o, err := judge(ctx, r, source)
	if err != nil {
		return err
	}
	for addr, v := range o.visitors {
		f.count(filepath.Base(folder), addr, of[addr], v)
	}
	again, err := openLog(folder)
	if err != nil {
		return err
	}
	defer again.Close()
	o, err = judge(ctx, r, only{again, func(a netip.Addr) bool { w := of[a]; return w.label != "" && !w.attacker() }})
	if err != nil {
		return err
	}
	for name, peak := range o.peaks {
		f.rules[name].benign = peak
	}
	return nil
}

// count counts one address of a log.
func (f *figures) count(log string, addr netip.Addr, w who, v *visitor) {
	after, blocked := v.since()
	var names []string
	for name, at := range v.blocked {
		names = append(names, name)
		f.rules[name].count(w, at.Sub(v.first), len(v.blocked) == 1)
	}
	slices.Sort(names)
	switch {
	case w.attacker():
		f.attackers++
		if w.requests >= busy {
			f.busy++
		}
		if blocked {
			f.found++
			f.times = append(f.times, after)
			if w.requests >= busy {
				f.busyFound++
			}
		}
	case w.label != "":
		f.benign++
		if blocked {
			f.blocked++
		}
	case blocked:
		f.unknown++
	}
	f.rows = append(f.rows, row{log, addr, w, names, *v})
}

func (r *ruleFigures) count(w who, after time.Duration, alone bool) {
	switch {
	case w.attacker():
		r.found++
		r.times = append(r.times, after)
		if alone {
			r.alone++
		}
	case w.label != "":
		r.blocked++
	default:
		r.unknown++
	}
}

// add adds the figures of one more log.
func (f *figures) add(o *figures) {
	f.attackers += o.attackers
	f.found += o.found
	f.busy += o.busy
	f.busyFound += o.busyFound
	f.benign += o.benign
	f.blocked += o.blocked
	f.unknown += o.unknown
	f.times = append(f.times, o.times...)
	f.rows = append(f.rows, o.rows...)
	for name, r := range o.rules {
		to := f.rules[name]
		to.found += r.found
		to.alone += r.alone
		to.blocked += r.blocked
		to.unknown += r.unknown
		to.times = append(to.times, r.times...)
		to.benign = max(to.benign, r.benign)
	}
}

// quantile returns the time that a share q of all times is at or under, and false
// where there is none.
func quantile(times []time.Duration, q float64) (time.Duration, bool) {
	if len(times) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)], true
}

// sceneFigures are what a set of rules did with one scene, of all seeds together.
type sceneFigures struct {
	scene              benign.Scene
	addresses, blocked int
	rules              []string // that blocked
}

// judgeScenes judges the generated traffic, and notes each rule's greatest count
// in f.
func judgeScenes(ctx context.Context, r ruleset, seeds int, f *figures) ([]sceneFigures, error) {
	var all []sceneFigures
	for _, scene := range benign.Scenes() {
		s := sceneFigures{scene: scene}
		for seed := range seeds {
			source, err := playScene(scene, uint64(seed)+1)
			if err != nil {
				return nil, err
			}
			o, err := judge(ctx, r, source)
			if err != nil {
				return nil, err
			}
			s.count(o)
			f.noteScene(scene.Name, o)
		}
		slices.Sort(s.rules)
		s.rules = slices.Compact(s.rules)
		all = append(all, s)
	}
	return all, nil
}

func (s *sceneFigures) count(o *outcome) {
	for _, v := range o.visitors {
		s.addresses++
		if len(v.blocked) > 0 {
			s.blocked++
		}
		for name := range v.blocked {
			s.rules = append(s.rules, name)
		}
	}
}

func (f *figures) noteScene(name string, o *outcome) {
	for rule, peak := range o.peaks {
		if to := f.rules[rule]; peak > to.generated {
			to.generated, to.scene = peak, name
		}
	}
}
