package neighbours

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"edgeguard/blocklist/imported"
	"edgeguard/feed"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
)

// state is what is known of a list. Times are the node's own.
type state struct {
	// good is the list that is in force, or was until it was stale; nil for none. at is
	// when its source last had it.
	good  *feed.Kept
	at    time.Time
	stale bool
	saved time.Time // what at is on disk
	// until is when the blocks end by themselves; outcome is what became of them.
	until   time.Time
	outcome imported.Outcome
	waits   *waiting // awaits confirmation; nil for none
	// failures are the tries since the last answer that could be used, and failed what
	// was wrong with the newest; next is when the source is asked again.
	failures int
	failed   string
	next     time.Time
}

// waiting is a list that awaits confirmation.
type waiting struct {
	list  *feed.Kept
	why   string
	since time.Time
}

const (
	// alarmAfter is after how many failures one after another an alarm is raised, if
	// there is a list in force.
	alarmAfter = 3
	// rarely is how often it is written to disk that a list is still the same.
	rarely = time.Hour
	// firstWithin is within which time after a start a list is asked for that is not on
	// disk: the nodes of a fleet may start together.
	firstWithin = 2 * time.Second
)

// begin puts the list on disk in force, and returns how long to wait.
func (s *Subscription) begin() time.Duration {
	k, err := load(s.State, s.config.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.state.next = now.Add(time.Duration(rand.Float64() * float64(firstWithin)))
	switch {
	case err != nil:
		s.Log.Warn("the list on disk cannot be used, and is fetched again", "list", s.config.Name, "error", err)
	case k == nil:
	case k.Source != identity(s.config): // another list, of which none of it is known to be good
		s.Set.Replace(s.config.Name, nil, now)
	default:
		s.state.good, s.state.at = k, s.Local(k.Good)
		if s.state.at.After(now) {
			s.state.at = now
		}
		s.state.saved = s.state.at
		if now.Sub(s.state.at) < s.config.Stale {
			s.enforce(now, true)
			s.Log.Info("the list is in force as it was fetched before", "list", s.config.Name, "entries", k.List.Len(), "fetched", words.Instant(k.Good))
		}
		if due := s.state.at.Add(feed.Pause(s.config.Every, 0, 0, rand.Float64())); due.After(s.state.next) {
			s.state.next = due
		}
	}
	return s.pause(now)
}

// pause returns how long nothing has to be done. It needs the lock.
func (s *Subscription) pause(now time.Time) time.Duration {
	at := s.state.next
	if end := s.state.at.Add(s.config.Stale); s.state.good != nil && !s.state.stale && end.Before(at) {
		at = end
	}
	return max(0, at.Sub(now))
}

func (s *Subscription) rest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pause(s.now())
}

func (s *Subscription) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.state.next)
}

// ages ends the blocks of a list that was not good for too long: else a source that is
// gone would block its addresses for ever.
func (s *Subscription) ages(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.good == nil || now.Sub(s.state.at) < s.config.Stale {
		return
	}
	if !s.state.stale {
		s.state.stale, s.state.until = true, time.Time{}
		s.state.outcome = s.Set.Replace(s.config.Name, nil, now)
	}
	s.alarms.Begins(now, alarm.BlocklistStale, s.config.Name, fmt.Sprintf(
		"list %s: its source last had a list that could be used at %s, longer ago than %s: its blocks have ended; run 'edgeguard blocklists' for the reason",
		s.config.Name, words.Instant(s.Epoch(s.state.at)), words.Span(s.config.Stale)))
}

// look asks the source, and reports whether its answer could be used.
func (s *Subscription) look(ctx context.Context) bool {
	answer, err := s.from.get(ctx, s.marks())
	if ctx.Err() != nil {
		return false
	}
	var read *feed.Reading
	if err == nil && !answer.Same {
		read, err = s.read(answer.Data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if err != nil {
		s.from.forget()
		s.fails(now, err)
		return false
	}
	s.state.failures, s.state.failed = 0, ""
	s.state.next = now.Add(feed.Pause(s.config.Every, 0, 0, rand.Float64()))
	if answer.Same {
		s.same(now)
		return true
	}
	s.judge(now, read, answer.Marks)
	return true
}

// read reads a list. What it shows of lines that cannot be read has no secret: a server may
// name the token that it refuses.
func (s *Subscription) read(data []byte) (*feed.Reading, error) {
	r, err := feed.Read(data, s.config.Wide)
	if err == nil && r.Unreadable == 0 {
		return r, nil
	}
	hidden, found := s.from.hide(data)
	if !found {
		return r, err
	}
	shown, shownErr := feed.Read(hidden, s.config.Wide)
	switch {
	case err == nil && shownErr == nil:
		r.Bad, r.BadLine = shown.Bad, shown.BadLine
	case err == nil:
		r.Bad = "…"
	default:
		err = cmp.Or(shownErr, errors.New("is not a list"))
	}
	return r, err
}

// marks returns what the server called the list that is in force, if it would be read
// the same way again.
func (s *Subscription) marks() feed.Marks {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.state.good; k != nil && k.Wide == s.config.Wide {
		return feed.Marks{ETag: k.ETag, Modified: k.Modified}
	}
	return feed.Marks{}
}

// fails notes a try that failed. It needs the lock.
func (s *Subscription) fails(now time.Time, err error) {
	var asked time.Duration
	if busy := new(feed.Busy); errors.As(err, &busy) {
		asked = busy.For
	}
	s.state.failures++
	s.state.failed = safetext.Strip(err.Error())
	pause := feed.Pause(s.config.Every, s.state.failures, asked, rand.Float64())
	s.state.next = now.Add(pause)
	text := fmt.Sprintf("list %s: %s; ", s.config.Name, s.state.failed)
	if s.config.File == "" { // an error about a file names it
		text = fmt.Sprintf("list %s: %s: %s; ", s.config.Name, place(s.config), s.state.failed)
	}
	switch {
	case s.state.good == nil:
		text += "nothing of it is in force"
	case s.state.stale:
		text += "its blocks have ended"
	default:
		text += fmt.Sprintf("the list of %s stays in force, until %s at most",
			words.Instant(s.Epoch(s.state.at)), words.Instant(s.Epoch(s.state.at.Add(s.config.Stale))))
	}
	if s.state.failures >= alarmAfter || s.state.good == nil {
		s.alarms.Begins(now, alarm.Blocklist, s.config.Name, text)
		return
	}
	s.Log.Warn(text, "again_in", pause.Round(time.Second))
}

// same notes that the source has the list that it had before. Of a file, that may be the
// one that awaits confirmation. It needs the lock.
func (s *Subscription) same(now time.Time) {
	if s.state.waits != nil && s.config.File != "" {
		return
	}
	s.withdraw()
	s.renew(now)
	s.enforce(now, s.state.stale || s.state.outcome.NoRoom > 0)
	if now.Sub(s.state.saved) >= min(rarely, s.config.Stale/4) {
		s.save()
	}
}

// judge takes a list in that was read, or has it wait. It needs the lock.
func (s *Subscription) judge(now time.Time, r *feed.Reading, m feed.Marks) {
	next := &feed.Kept{
		List: r.List, Source: identity(s.config), Wide: s.config.Wide, ETag: m.ETag, Modified: m.Modified, Counts: r.Counts,
	}
	var good *feed.List
	if s.state.good != nil {
		good = s.state.good.List
	}
	why := feed.Judge(good, r.List, s.config.Most)
	if left := r.Left(); why != "" && r.List.Len() == 0 && left > 0 { // it is not what its publisher would call empty
		why = fmt.Sprintf("has nothing that can be blocked: of %s %s of addresses that no client on the internet has, %s too wide, %s no address",
			words.Plural(left, "line", "lines"), words.Number(r.Special), words.Number(r.Wide), words.Number(r.Unreadable))
	}
	if why == "" {
		s.withdraw()
		s.accept(now, next, "the list is taken in")
		if r.Unreadable > 0 {
			s.Log.Warn("lines of the list could not be read", "list", s.config.Name, "lines", r.Unreadable, "first", r.BadLine, "text", r.Bad)
		}
		return
	}
	since := now
	if s.state.waits != nil {
		since = s.state.waits.since
	}
	s.state.waits = &waiting{list: next, why: why, since: since}
	stays := "nothing of it is in force"
	if s.state.good != nil && !s.state.stale {
		stays = fmt.Sprintf("the list of %s stays in force, until %s at most",
			words.Instant(s.Epoch(s.state.at)), words.Instant(s.Epoch(s.state.at.Add(s.config.Stale))))
	}
	s.alarms.Begins(now, alarm.BlocklistWaits, s.config.Name, fmt.Sprintf(
		"list %s of %s %s, and awaits confirmation: %s; if that is right, run 'edgeguard blocklists confirm %s'", s.config.Name, place(s.config), why, stays, s.config.Name))
}

// withdraw forgets the list that awaits confirmation: its source has another. It needs
// the lock.
func (s *Subscription) withdraw() {
	if s.state.waits != nil {
		s.state.waits = nil
		s.alarms.Recovers(alarm.BlocklistWaits, s.config.Name)
	}
}

// confirm puts in force what awaits it.
func (s *Subscription) confirm() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.state.waits
	if w == nil {
		return fmt.Errorf("nothing of list %s awaits confirmation", s.config.Name)
	}
	s.state.waits = nil
	s.alarms.Ends(alarm.BlocklistWaits, s.config.Name)
	s.accept(s.now(), w.list, "the list is taken in: an operator confirmed it")
	return nil
}

// forgets ends the service: who confirms now would put a list in force that nobody follows.
func (s *Subscription) forgets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.waits = nil
}

// accept puts a list in force, and keeps it. It needs the lock.
func (s *Subscription) accept(now time.Time, next *feed.Kept, text string) {
	changed := true
	if s.state.good != nil {
		added, gone := s.state.good.List.Changes(next.List)
		changed = added+gone > 0 || s.state.stale
	}
	s.state.good = next
	s.renew(now)
	s.enforce(now, changed || s.state.outcome.NoRoom > 0)
	s.save()
	if changed {
		o, c := &s.state.outcome, &next.Counts
		s.Log.Info(text, "list", s.config.Name, "entries", c.Entries, "added", o.Added, "lifted", o.Lifted, "special", c.Special, "wide", c.Wide,
			"unreadable", c.Unreadable, "protected", o.Protected, "allowed", o.Allowed, "no_room", o.NoRoom)
	}
}

// renew notes that the list in force is what its source has. It needs the lock.
func (s *Subscription) renew(now time.Time) {
	s.state.at, s.state.good.Good = now, s.Epoch(now)
	if s.state.stale {
		s.state.stale = false
		s.alarms.Recovers(alarm.BlocklistStale, s.config.Name)
	}
}

// enforce puts the list in force, if it changed or its blocks would end too soon. They
// end by themselves a quarter later than `stale` says, for enforcers that outlive this
// process, and are renewed after that quarter: not with each fetch, since an enforcer may
// have to write each of them. It needs the lock.
func (s *Subscription) enforce(now time.Time, changed bool) {
	if s.state.until.Sub(now) < s.config.Stale {
		s.state.until, changed = s.state.at.Add(s.config.Stale+s.config.Stale/4), true
	}
	if !changed {
		return
	}
	reason := "listed at " + place(s.config)
	if s.config.File != "" {
		reason = "listed in " + place(s.config)
	}
	entries := make([]imported.Entry, 0, s.state.good.List.Len())
	for p := range s.state.good.List.Prefixes() {
		entries = append(entries, imported.Entry{Prefix: p, Until: s.state.until, Reason: reason, Wide: s.config.Wide})
	}
	s.state.outcome = s.Set.Replace(s.config.Name, entries, now)
}

func (s *Subscription) save() {
	s.state.saved = s.state.at
	if err := save(s.State, s.config.Name, s.state.good); err != nil {
		s.Log.Warn("the list cannot be kept on disk, and will be missing after a restart without its source", "list", s.config.Name, "error", err)
	}
}
