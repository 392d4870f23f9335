package main

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"edgeguard/loadtest/scenes"
	"edgeguard/loadtest/tuned"
	"edgeguard/replay"
)

// busy is how many requests an attacker has sent who is to be found above all.
const busy = 10

// half is one of the two halves of the evidence: limits may be chosen on the first,
// and the second is only reported.
type half int

const (
	tunedOn half = iota
	reported
	halves
)

func (h half) String() string { return [...]string{"tuned on", "reported"}[h] }

// halfOf returns the half of a scene's name, or of a log's folder and an address.
func halfOf(name string) half {
	if scenes.Reported(name) {
		return reported
	}
	return tunedOn
}

// split are figures by halves.
type split [halves]figures

// both returns the figures of both halves together.
func (s *split) both() figures {
	all := newFigures()
	for h := range s {
		all.add(&s[h])
	}
	return all
}

// figures are what one set of rules did with one log, or with all.
type figures struct {
	attackers, found         int // all
	busy, busyFound          int // those with at least ten requests
	denied, told             int // attackers who were not blocked
	attacks, letIn           int // attackers' requests, and those that were not refused
	benign, blocked, unknown int // labelled benign, of these blocked or denied, and blocked without a label
	benignTold               int
	times                    []time.Duration
	rules                    map[string]*ruleFigures
	rows                     []row
}

// ruleFigures are what one rule did.
type ruleFigures struct {
	found, alone, blocked, unknown int
	times                          []time.Duration
	// benign and generated are the greatest counts of those that may not be
	// blocked; scene is where the latter was, and scenes has that of each.
	benign, generated uint32
	scene             string
	scenes            map[string]uint32
}

// row is one address that a reader may want to look at.
type row struct {
	log   string
	addr  netip.Addr
	who   tuned.Who // zero for an unknown
	rules []string
	visitor
}

// judgeLogs judges every labelled log, and returns the figures by log and the sum.
func judgeLogs(ctx context.Context, r ruleset, data string, l tuned.Labels) (byLog []split, all split, err error) {
	all = newSplit()
	for _, folder := range l.Folders {
		s := newSplit()
		if err := s.judgeLog(ctx, r, filepath.Join(data, folder), l.Of[folder]); err != nil {
			return nil, all, fmt.Errorf("%s: %w", folder, err)
		}
		byLog = append(byLog, s)
		for h := range s {
			all[h].add(&s[h])
		}
	}
	return byLog, all, nil
}

func newSplit() split { return split{newFigures(), newFigures()} }

func newFigures() figures { return figures{rules: make(map[string]*ruleFigures)} }

// rule returns the figures of a rule.
func (f *figures) rule(name string) *ruleFigures {
	r := f.rules[name]
	if r == nil {
		r = &ruleFigures{}
		f.rules[name] = r
	}
	return r
}

// judgeLog judges one log, and then the benign addresses of each half alone: their
// peaks say how far they are from each limit.
func (s *split) judgeLog(ctx context.Context, r ruleset, folder string, of map[netip.Addr]tuned.Who) error {
	log := filepath.Base(folder)
	o, err := judgeFile(ctx, r, folder, nil)
	if err != nil {
		return err
	}
	for addr, v := range o.visitors {
		s[halfOf(log+"/"+addr.String())].count(log, addr, of[addr], v)
	}
	for h := range s {
		o, err := judgeFile(ctx, r, folder, func(a netip.Addr) bool {
			w := of[a]
			return w.Label != "" && !w.Attacker() && halfOf(log+"/"+a.String()) == half(h)
		})
		if err != nil {
			return err
		}
		for name, peak := range o.peaks {
			s[h].rule(name).benign = peak
		}
	}
	return nil
}

// judgeFile judges the log of a folder, or what some addresses did in it.
func judgeFile(ctx context.Context, r ruleset, folder string, keep func(netip.Addr) bool) (*outcome, error) {
	log, err := openLog(folder)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var source replay.Source = log
	if keep != nil {
		source = only{log, keep}
	}
	return judge(ctx, r, replay.SortByTime(source, 0))
}

// count counts one address of a log.
func (f *figures) count(log string, addr netip.Addr, w tuned.Who, v *visitor) {
	after, isBlocked := v.since()
	var names []string
	for name, at := range v.by[blocked] {
		names = append(names, name)
		f.rule(name).count(w, at.Sub(v.first), len(v.by[blocked]) == 1)
	}
	slices.Sort(names)
	switch {
	case w.Attacker():
		f.countAttacker(w, v, after, isBlocked)
	case w.Label != "":
		f.benign++
		switch {
		case v.stopped():
			f.blocked++
		case len(v.by[told]) > 0:
			f.benignTold++
		}
	case isBlocked:
		f.unknown++
	}
	f.rows = append(f.rows, row{log, addr, w, names, *v})
}

func (f *figures) countAttacker(w tuned.Who, v *visitor, after time.Duration, isBlocked bool) {
	f.attackers++
	f.attacks += v.events
	f.letIn += v.events - v.refused
	if w.Requests >= busy {
		f.busy++
	}
	switch {
	case isBlocked:
		f.found++
		f.times = append(f.times, after)
		if w.Requests >= busy {
			f.busyFound++
		}
	case len(v.by[denied]) > 0:
		f.denied++
	case len(v.by[told]) > 0:
		f.told++
	}
}

func (r *ruleFigures) count(w tuned.Who, after time.Duration, alone bool) {
	switch {
	case w.Attacker():
		r.found++
		r.times = append(r.times, after)
		if alone {
			r.alone++
		}
	case w.Label != "":
		r.blocked++
	default:
		r.unknown++
	}
}

// add adds the figures of one more log, or half.
func (f *figures) add(o *figures) {
	f.attackers += o.attackers
	f.found += o.found
	f.busy += o.busy
	f.busyFound += o.busyFound
	f.denied += o.denied
	f.told += o.told
	f.attacks += o.attacks
	f.letIn += o.letIn
	f.benign += o.benign
	f.blocked += o.blocked
	f.benignTold += o.benignTold
	f.unknown += o.unknown
	f.times = append(f.times, o.times...)
	f.rows = append(f.rows, o.rows...)
	for name, r := range o.rules {
		to := f.rule(name)
		to.found += r.found
		to.alone += r.alone
		to.blocked += r.blocked
		to.unknown += r.unknown
		to.times = append(to.times, r.times...)
		to.benign = max(to.benign, r.benign)
		for scene, peak := range r.scenes {
			to.noteScene(scene, peak)
		}
	}
}

// noteScene notes the greatest count in a scene.
func (r *ruleFigures) noteScene(name string, peak uint32) {
	if r.scenes == nil {
		r.scenes = make(map[string]uint32)
	}
	r.scenes[name] = max(r.scenes[name], peak)
	if peak > r.generated || peak == r.generated && peak > 0 && name < r.scene {
		r.generated, r.scene = peak, name
	}
}

// but returns the greatest count in the scenes other than these.
func (r *ruleFigures) but(names []string) *ruleFigures {
	others := &ruleFigures{}
	for scene, peak := range r.scenes {
		if !slices.Contains(names, scene) {
			others.noteScene(scene, peak)
		}
	}
	return others
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
