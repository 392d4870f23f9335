package evidence

import (
	"fmt"
	"maps"
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// A log in which nobody logged in does not show how often people mistype, and one with a
// few visitors not what people ask for that is gone. A limit that follows from such a log
// refuses those who were not there. So a rule gets a lower one only where the log shows
// people.

// What a log must show before a lower limit follows from it.
const (
	fewSuccesses = 10  // addresses with a success where a rule of logins looks
	manyPeople   = 100 // addresses that look benign, for any other rule
	mostWatched  = 4096
)

// need is what a log must show for a rule.
type need uint8

const (
	needPeople    need = iota // manyPeople
	needSuccesses             // fewSuccesses
	needOther                 // what no log has that has this rule's events
)

// watched is a rule with those who had a success where it looks.
type watched struct {
	need
	door      bool         // where people log in
	near, own *rules.Meter // without the terms of status, and with them
	// succeeded are by redirects, as forms answer a login that succeeds, and by others.
	redirected, succeeded map[netip.Prefix]struct{}
}

// Watch notes from now on who has a success where these rules look: an answer below 400 to
// a request that meets a rule's terms other than those of status, and that the rule does not
// count for its status. Of each rule the first 4,096 are known. The rules must compile.
func (b *Book) Watch(specs []rules.Spec) {
	b.watched = nil
	for i := range specs {
		b.watched = append(b.watched, newWatched(&specs[i]))
	}
}

func newWatched(spec *rules.Spec) watched {
	own := meterOf(*spec)
	near := *spec
	near.Match.Kind, near.Match.Status, near.Costs, near.Distinct = []string{"response"}, nil, nil, ""
	if not := near.Match.Not; not != nil {
		others := *not
		others.Status = nil
		near.Match.Not = &others
	}
	w := watched{own: own, near: meterOf(near), need: needOf(spec, own), door: len(spec.Match.Path) > 0, redirected: make(map[netip.Prefix]struct{}), succeeded: make(map[netip.Prefix]struct{})}
	for _, path := range spec.Match.Path {
		w.door = w.door && isDoor(path)
	}
	return w
}

// meterOf compiles one rule.
func meterOf(spec rules.Spec) *rules.Meter {
	set, _ := rules.Compile([]rules.Spec{spec})
	if set == nil || len(set.Meters) == 0 {
		return &rules.Meter{} // matches nothing
	}
	return &set.Meters[0]
}

// needOf returns what a log must show for a rule.
func needOf(spec *rules.Spec, m *rules.Meter) need {
	status := spec.Match.Status != nil || spec.Match.Not != nil && spec.Match.Not.Status != nil
	switch {
	case m.Kind&(edgeguard.KindAuthFailure|edgeguard.KindRejection) != 0:
		return needOther
	case m.Sends && spec.Match.Path != nil && spec.Distinct == "":
		return needSuccesses
	case !status:
		return needPeople
	}
	only := rules.Spec{Name: "status", Threshold: 1, Match: rules.Match{Status: spec.Match.Status}}
	if spec.Match.Not != nil {
		only.Match.Not = &rules.Match{Status: spec.Match.Not.Status}
	}
	gone := edgeguard.Event{Kind: edgeguard.KindResponse, Known: edgeguard.FieldStatus, Status: 404}
	if _, ok := meterOf(only).Match(&gone); ok {
		return needPeople
	}
	return needSuccesses
}

// noteSuccess notes a success.
func (w *watched) noteSuccess(e *edgeguard.Event) {
	if w.need != needSuccesses || e.Status == 0 || e.Status >= 400 || len(w.succeeded)+len(w.redirected) >= mostWatched {
		return
	}
	if _, ok := w.near.Match(e); !ok {
		return
	}
	if w.own.Kind == edgeguard.KindResponse {
		if _, counts := w.own.Match(e); counts {
			return
		}
	}
	into := w.succeeded
	if e.Status >= 300 {
		into = w.redirected
	}
	into[Prefix(e.Addr)] = struct{}{}
}

// successes is how many addresses had a success where a rule looks, without those that
// look hostile: who guesses long enough has one, too. A form that redirects anybody shows
// itself again to who mistypes: then other answers are none.
func (b *Book) successes(rule int) (n int) {
	w := &b.watched[rule]
	had := w.redirected
	if len(had) == 0 || !w.door {
		had = maps.Clone(w.succeeded)
		maps.Copy(had, w.redirected)
	}
	for p := range had {
		if b.Judge(edgeguard.Key{Prefix: p}).Looks != tuning.Hostile {
			n++
		}
	}
	return n
}

// people is how many addresses look benign.
func (b *Book) people() int {
	read := b.reading()
	if read.people < 0 {
		read.people = 0
		for _, r := range read.all {
			if b.Judge(edgeguard.Key{Prefix: r.Prefix}).Looks == tuning.Benign {
				read.people++
			}
		}
	}
	return read.people
}

// lacks says what a log does not show that a lower limit of a rule would have to go by; empty
// if it shows it. Brief says it in a few words.
func (b *Book) lacks(rule int, normal *Normal) (says, brief string) {
	people, successes := b.people(), b.successes(rule)
	if normal != nil {
		people += normal.book.people()
		successes += normal.book.successes(rule)
	}
	of := func(n int, one, many string) string {
		if n == 1 {
			return "1 address " + one
		}
		return fmt.Sprintf("%d addresses %s", n, many)
	}
	w := &b.watched[rule]
	switch {
	case w.need == needOther:
		return "the log has only what was refused, so it does not show how often that happens to people", "no success is logged"
	case w.need == needSuccesses && successes == 0 && w.door:
		return "nobody logged in in this log, so it does not show how often people mistype", "nobody logged in"
	case w.need == needSuccesses && successes < fewSuccesses && w.door:
		return fmt.Sprintf("only %s in this log, and it takes %d to show how often people mistype", of(successes, "logged in", "logged in"), fewSuccesses), fmt.Sprintf("only %d logged in", successes)
	case w.need == needSuccesses && successes < fewSuccesses:
		return fmt.Sprintf("only %s a success where this rule looks, and it takes %d to show how often people have none", of(successes, "had", "had"), fewSuccesses), fmt.Sprintf("only %d with a success", successes)
	case w.need == needPeople && people < manyPeople:
		return fmt.Sprintf("only %s a customer in this log, and it takes %d to show what people do here (--normal adds another log)", of(people, "looks like", "look like"), manyPeople), fmt.Sprintf("only %d customers in this log", people)
	}
	return "", ""
}

// Question is which threshold a rule should have.
type Question struct {
	Rule  *rules.Rule
	Tally *tuning.Tally
	// Number is the rule's among those that the book watches.
	Number int
	// Normal is what the rule counted on a normal day; nil without a log of one.
	Normal *Normal
}

// Normal is what a rule counted on a normal day. Make one with [NormalOf].
type Normal struct {
	Tally *tuning.Tally
	// Highest is the highest count of a key that does not look hostile.
	Highest uint32
	book    *Book
}

// NormalOf returns what a rule counted on a normal day, of which the book watched the same
// rules.
func NormalOf(t *tuning.Tally, book *Book) *Normal {
	n := &Normal{Tally: t, book: book}
	for _, p := range t.Top.Sorted() {
		if book.Judge(p.Key).Looks != tuning.Hostile {
			n.Highest = p.Peak
			break
		}
	}
	return n
}

// Suggest answers a question: by what the keys look like, or by the counts alone if nothing
// is known of any. It suggests no lower limit where the log does not show people.
func (b *Book) Suggest(q Question) tuning.Suggestion {
	limitOf := q.Rule.Guard.Limit
	var s tuning.Suggestion
	if q.Rule.Learned {
		return q.Tally.SuggestLearned(limitOf)
	}
	if b.Len() > 0 {
		highest := uint32(0)
		if q.Normal != nil {
			highest = q.Normal.Highest
		}
		basis := b.basis(q.Rule.Threshold, highest)
		basis.People = q.Rule.People
		s = q.Tally.SuggestBy(limitOf, basis)
	} else if s = q.Tally.Suggest(limitOf, q.Rule.People); b.watched[q.Number].need == needPeople {
		return s // a capture
	}
	says, brief := b.lacks(q.Number, q.Normal)
	switch {
	case says == "" || s.Threshold == 0:
	case !s.Keep && s.Limit < q.Rule.Limit:
		return tuning.Suggestion{Reason: says + ": the limit stays", Brief: brief}
	case s.Keep:
		s.Reason += "; " + says
	}
	return s
}
