package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// Rules that a log asks for: a path where passwords are guessed. A [Draft] is a rule without a threshold; the log is replayed with it, and
// [Draft.Choose] takes the threshold from what it counted.

// What makes a draft: so many addresses that look hostile, or so many requests of
// theirs.
const (
	fewAddresses = 3
	fewRequests  = 100
	mostPaths    = 3 // drafts for paths
	// fewVisitors is how many addresses must look benign. A proposed rule only reports.
	fewVisitors = 10
	// surer is how many of those that a rule catches must look hostile for each that
	// nothing is known of. A rule that somebody pastes is looked at less than a
	// threshold that he chooses.
	surer      = 10
	pathLength = 80
)

// windows are those that a draft is tried with.
var windows = []time.Duration{5 * time.Minute, time.Hour}

// Draft is a rule without a threshold.
type Draft struct {
	spec rules.Spec
	// what says what it counts, for a sentence: "POSTs go to /login".
	what string
	// share is the part of all such requests.
	share              float64
	addresses, hostile int
	// people is how high people count where other rules count what is sent, by window.
	people []rules.People
}

// Specs returns the draft as rules to count by, one a window. Their threshold refuses
// nothing.
func (d *Draft) Specs() (specs []rules.Spec) {
	for i, window := range windows {
		spec := d.spec
		spec.Window, spec.Threshold, spec.Guard = window, edgeguard.MaxLimit, "1"
		if i > 0 {
			spec.Name = fmt.Sprintf("%s-%d", spec.Name, i+1)
		}
		specs = append(specs, spec)
	}
	return specs
}

// Proposed is a proposed rule.
type Proposed struct {
	Spec       rules.Spec
	Suggestion tuning.Suggestion
	// Says is why, in a sentence without a full stop. It has the path, encoded.
	Says string
}

// Counted is what one of a draft's Specs counted, and how high it counted on a normal
// day; 0 if there is no log of one.
type Counted struct {
	Tally  *tuning.Tally
	Normal uint32
}

// Choose returns the draft with a threshold, from what each of its Specs counted, in
// their order; ok is false if no threshold separates anything. A longer window is
// chosen only if it catches more that look hostile.
func (d *Draft) Choose(counted []Counted, book *Book) (rule Proposed, ok bool) {
	for i, c := range counted {
		if c.Normal == 0 && book.people() < fewVisitors {
			continue // nobody is there to compare with
		}
		basis := book.basis(edgeguard.MaxLimit, c.Normal)
		basis.Parts = surer
		if d.people != nil {
			basis.People = d.people[i]
		}
		s := c.Tally.SuggestBy(usualLimit, basis)
		if s.Threshold == 0 || s.Keep || s.Above.Hostile == 0 || ok && s.Above.Hostile <= rule.Suggestion.Above.Hostile {
			continue
		}
		ok = true
		rule = Proposed{Spec: d.spec, Suggestion: s}
		rule.Spec.Window, rule.Spec.Threshold, rule.Spec.Action = windows[i], s.Threshold, edgeguard.ActionShadow
	}
	if ok {
		rule.Says = d.says(rule.Suggestion.Above)
	}
	return rule, ok
}

// usualLimit is the limit of a threshold with the default guard, 0.95.
func usualLimit(threshold uint32) uint32 { return uint32((uint64(threshold)*95 + 99) / 100) }

func (d *Draft) says(above tuning.Caught) string {
	unknown := ""
	if above.Unknown > 0 {
		unknown = fmt.Sprintf(" (and %d of which nothing is known)", above.Unknown)
	}
	from := "1 address that looks hostile"
	if d.addresses > 1 {
		from = fmt.Sprintf("%d addresses of which %d look hostile", d.addresses, d.hostile)
	}
	return fmt.Sprintf("%.0f %% of %s, from %s: this rule would catch %d of them%s and none that looks like a customer",
		100*d.share, d.what, from, above.Hostile, unknown)
}

// Drafts returns the rules that a log asks for and that none of those that are had counts: in force, or
// in a preset, whose limits leave people room that a log may not show. A path where nobody's rule looks has
// the room of those that count what is sent elsewhere.
func Drafts(book *Book, have []rules.Spec) []Draft {
	all, people := book.Records(), peopleWhoSend(have)
	names := make(map[string]bool)
	for _, spec := range have {
		names[spec.Name] = true
	}
	var drafts []Draft
	for _, p := range posts(all, book) {
		if !counts(have, "POST", p.path, 200, func(m *rules.Match) bool { return len(m.Path) > 0 }) {
			d := p.draft(free(names, nameOf(p.path)))
			d.people = people
			drafts = append(drafts, d)
		}
	}
	return drafts
}

// peopleWhoSend returns for each of the windows how often an address of people sends, by the rules that
// know it: of those that count an address's POSTs to some paths within the window, the highest.
func peopleWhoSend(have []rules.Spec) []rules.People {
	most := make([]rules.People, len(windows))
	for i := range have {
		spec := &have[i]
		m := meterOf(*spec)
		if spec.People.Count == 0 || !m.Sends || spec.Match.Path == nil || spec.Distinct != "" || spec.Key.V4 != 0 || spec.Key.Everybody {
			continue
		}
		unit := m.MeasureOf().Each
		count := (spec.People.Count + unit - 1) / unit
		for w, window := range windows {
			if m.Window <= window && count > most[w].Count {
				most[w] = rules.People{Count: count, Scene: spec.People.Scene}
			}
		}
	}
	return most
}

// posted is a path where hostile addresses send much.
type posted struct {
	path               string
	addresses, hostile int
	requests, from     uint64 // of all, and of those that look hostile
	of                 uint64 // all POSTs of the log
}

func (p *posted) draft(name string) Draft {
	return Draft{
		spec: rules.Spec{Name: name, Match: rules.Match{Method: []string{"POST"}, Path: []string{pattern(p.path)}}},
		what: "POSTs go to " + encode(p.path), share: float64(p.requests) / math.Max(1, float64(p.of)), addresses: p.addresses, hostile: p.hostile,
	}
}

// posts returns the paths to which hostile addresses send most.
func posts(all []*Record, book *Book) []posted {
	byPath, total := make(map[string]*posted), uint64(0)
	for _, hostile := range []bool{true, false} { // the others count only where a hostile one posts
		for _, r := range all {
			if (book.Judge(edgeguard.Key{Prefix: r.Prefix}).Looks == tuning.Hostile) != hostile {
				continue
			}
			total += uint64(r.Posts)
			add(byPath, r, hostile)
		}
	}
	var out []posted
	for _, p := range byPath {
		p.of = total
		if p.hostile >= fewAddresses || p.from >= fewRequests {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(x, y posted) int {
		return compare(y.hostile, x.hostile, strings.Compare(x.path, y.path))
	})
	return out[:min(len(out), mostPaths)]
}

func compare(a, b, then int) int {
	if a != b {
		return a - b
	}
	return then
}

func add(byPath map[string]*posted, r *Record, hostile bool) {
	for _, o := range r.Paths() {
		path, isPost := strings.CutPrefix(o.Text, "POST ")
		if !isPost || len(o.Text) >= pathLength {
			continue
		}
		p := byPath[path]
		if p == nil {
			if !hostile {
				continue
			}
			p = &posted{path: path}
			byPath[path] = p
		}
		p.addresses++
		p.requests += uint64(o.N)
		if hostile {
			p.hostile++
			p.from += uint64(o.N)
		}
	}
}

// counts reports whether a rule in force that is as narrow as it should be counts such
// a request.
func counts(have []rules.Spec, method, path string, status uint16, narrow func(*rules.Match) bool) bool {
	ev := edgeguard.Event{Kind: edgeguard.KindRequest | edgeguard.KindResponse, Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
		Method: method, Path: encode(path), Status: status}
	for _, spec := range have {
		if !narrow(&spec.Match) {
			continue
		}
		set, problems := rules.Compile([]rules.Spec{spec})
		if len(problems) > 0 {
			continue
		}
		if _, ok := set.Meters[0].Match(&ev); ok {
			return true
		}
	}
	return false
}

// nameOf returns what a rule for a path may be called.
func nameOf(path string) string {
	parts := strings.Split(strings.Trim(strings.ToLower(path), "/"), "/")
	name, _, _ := strings.Cut(parts[len(parts)-1], ".")
	if name == "index" && len(parts) > 1 {
		name = parts[len(parts)-2] + "-index"
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, name)
	if name == "" {
		return "posts"
	}
	return name[:min(len(name), 40)]
}

// free returns a name that no rule has, and takes it.
func free(names map[string]bool, name string) string {
	for i := 2; names[name]; i++ {
		name = fmt.Sprintf("%s-%d", strings.TrimRight(name, "0123456789-"), i)
	}
	names[name] = true
	return name
}
