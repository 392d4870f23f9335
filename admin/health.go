package admin

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"edgeguard/internal/words"
)

// The parts of a node that are judged by themselves, in the order in which equal ones are
// shown. A kind of alarm belongs to one of them.
const (
	PartMode      = "mode"
	PartLogs      = "logs"
	PartListeners = "listeners"
	PartFleet     = "fleet"
	PartLists     = "lists" // of its blocks, which others read
	PartRequests  = "requests"
	PartSite      = "site"
	PartBlocks    = "blocks"
	PartMemory    = "memory"
	PartState     = "state"
	PartClock     = "clock"
	PartConfig    = "config"
	PartImports   = "imports" // lists of others
	PartBouncers  = "bouncers"
	PartCrowdSec  = "crowdsec"
	PartNotify    = "notifications"
	PartCrawlers  = "crawlers"
	PartHost      = "host"
)

// How a part is, from the worst.
const (
	HealthBad     = "bad"     // something does not work until somebody acts
	HealthWarn    = "warn"    // something is to be looked at
	HealthUnknown = "unknown" // nothing shows that it works, or that it does not
	HealthWell    = "well"
)

// Alarm is an alarm that lasts.
type Alarm struct {
	Kind  string `json:"kind"`
	State string `json:"state"` // bad or warn
	// Awaits says that something waits until an operator confirms it.
	Awaits bool      `json:"awaits,omitempty"`
	Text   string    `json:"text"` // what is wrong, and what to do
	Since  time.Time `json:"since"`

	part string
}

// NewAlarm returns an alarm about a part; acts says that something does not work until somebody acts.
func NewAlarm(kind, part, text string, since time.Time, acts, awaits bool) Alarm {
	a := Alarm{Kind: kind, State: HealthWarn, Awaits: awaits, Text: text, Since: since, part: part}
	if acts {
		a.State = HealthBad
	}
	return a
}

// HealthRow is how one part of a node is.
type HealthRow struct {
	Part  string `json:"part"`
	State string `json:"state"` // bad, warn, unknown or well
	// Text is the part's figure in a few words, such as "1 log, read to 0 s ago", whatever its alarms say.
	Text string `json:"text"`
	// Since is when the oldest of the alarms began that make up the state.
	Since  time.Time `json:"since,omitzero"`
	Alarms []Alarm   `json:"alarms,omitempty"` // the worst first
}

// Judge fills in how the parts of the node are, the worst first, by the alarms that last: its
// figures say what a part does, and no more than that nothing shows whether it works.
func (s *Stats) Judge(alarms []Alarm) {
	s.Health = s.figures()
	for _, a := range alarms {
		at := slices.IndexFunc(s.Health, func(r HealthRow) bool { return r.Part == a.part })
		if at < 0 {
			at = len(s.Health)
			s.Health = append(s.Health, HealthRow{Part: a.part})
		}
		s.Health[at].Alarms = append(s.Health[at].Alarms, a)
	}
	for i := range s.Health {
		if r := &s.Health[i]; len(r.Alarms) > 0 {
			slices.SortStableFunc(r.Alarms, func(a, b Alarm) int {
				return cmp.Or(badness(a.State)-badness(b.State), a.Since.Compare(b.Since), cmp.Compare(a.Text, b.Text))
			})
			r.State, r.Since = r.Alarms[0].State, r.Alarms[0].Since
			r.Text = cmp.Or(r.Text, "The "+r.Part)
			if r.Part == PartMode && r.State == HealthBad {
				r.Text = "Blocking; not everything is refused"
			}
		}
	}
	slices.SortStableFunc(s.Health, func(a, b HealthRow) int { return badness(a.State) - badness(b.State) })
}

func badness(state string) int {
	return slices.Index([]string{HealthBad, HealthWarn, HealthUnknown, HealthWell}, state)
}

// Alarms returns the alarms that last, the worst part first.
func (s *Stats) Alarms() (all []Alarm) {
	for i := range s.Health {
		all = append(all, s.Health[i].Alarms...)
	}
	return all
}

// Health returns how the parts of the node are, the worst first.
func (v *View) Health() []HealthRow { return v.Stats().Health }

// figures returns a row for each part that the node has, as it is without alarms.
func (s *Stats) figures() (rows []HealthRow) {
	for _, part := range []struct {
		name string
		say  func(*Stats) (text string, known bool)
	}{
		{PartMode, (*Stats).modeText},
		{PartLogs, (*Stats).logsText},
		{PartListeners, (*Stats).listenersText},
		{PartFleet, (*Stats).fleetText},
		{PartLists, (*Stats).listsText},
		{PartRequests, (*Stats).requestsText},
		{PartSite, (*Stats).siteText},
		{PartBlocks, (*Stats).blocksText},
		{PartMemory, (*Stats).memoryText},
		{PartState, (*Stats).stateText},
		{PartClock, (*Stats).clockText},
		{PartConfig, (*Stats).configText},
		{PartImports, (*Stats).importsText},
		{PartBouncers, (*Stats).bouncersText},
		{PartCrowdSec, (*Stats).crowdSecText},
		{PartNotify, (*Stats).notifyText},
		{PartCrawlers, (*Stats).crawlersText},
	} {
		if text, known := part.say(s); text != "" {
			row := HealthRow{Part: part.name, State: HealthWell, Text: text}
			if !known {
				row.State = HealthUnknown
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// ago writes how long ago something was.
func (s *Stats) ago(t time.Time) string {
	return words.Length(max(0, s.Time.Sub(t))) + " ago"
}

// Lag returns how old what was read of the log last is: 0 where all that was written is read.
func (l *Log) Lag(now time.Time) time.Duration {
	if l.Behind <= 0 || l.Last.IsZero() {
		return 0
	}
	return max(0, now.Sub(l.Last)) + time.Duration(l.Age*float64(time.Second))
}

func (s *Stats) logsText() (string, bool) {
	var oldest time.Duration
	var empty []string
	for i := range s.Logs {
		l := &s.Logs[i]
		oldest = max(oldest, l.Lag(s.Time))
		if l.Last.IsZero() {
			empty = append(empty, l.Name)
		}
	}
	text := words.Plural(len(s.Logs), "log", "logs")
	if len(empty) < len(s.Logs) {
		text += ", read to " + words.Length(oldest) + " ago"
	}
	switch {
	case len(s.Logs) == 0:
		return "", true
	case len(empty) == 0:
		return text, true
	case len(empty) > 1:
		return fmt.Sprintf("%s; nothing counted yet of %s and %s more", text, empty[0], words.Number(len(empty)-1)), false
	}
	return text + "; nothing counted yet of " + empty[0], false
}

func (s *Stats) listenersText() (string, bool) {
	var parts []string
	var listeners, connected int
	var questions uint64
	for i := range s.Sources {
		if one := &s.Sources[i]; one.Asked {
			listeners, questions = listeners+1, questions+one.Events
		}
	}
	switch {
	case questions > 0:
		parts = append(parts, words.Plural(listeners, "listener", "listeners")+", asked "+words.Plural(questions, "time", "times"))
	case listeners > 0:
		parts = append(parts, words.Plural(listeners, "listener", "listeners")+", and no proxy has asked yet")
	}
	for i := range s.HAProxies {
		connected += len(s.HAProxies[i].HAProxies)
	}
	if len(s.HAProxies) > 0 {
		parts = append(parts, words.Plural(connected, "HAProxy", "HAProxies")+" connected")
	}
	if s.Monitor || questions > 0 || connected > 0 || len(s.Ways()) > 0 || len(parts) == 0 {
		return strings.Join(parts, "; "), true
	}
	return strings.Join(parts, "; ") + ": `edgeguard snippets` prints what one needs", false
}

func (s *Stats) fleetText() (string, bool) {
	f := s.Fleet
	switch lost := f.Lost(); {
	case f == nil:
		return "", true
	case lost != "" && f.Since.IsZero():
		return upper(lost), false
	case lost != "":
		return upper(lost) + " for " + words.Length(max(0, s.Time.Sub(f.Since))), false
	}
	return fmt.Sprintf("Redis %.1f s, %s", f.PushLag, words.Plural(f.Alive, "node", "nodes")), true
}

// listsText says when the lists were written, and whether a log shows that somebody goes by them.
func (s *Stats) listsText() (string, bool) {
	var newest time.Time
	files, turned := 0, uint64(0)
	for i := range s.Enforcers {
		e := &s.Enforcers[i]
		if e.Success.After(newest) {
			newest = e.Success
		}
		if strings.HasPrefix(e.Name, "/") {
			files++
		}
	}
	for i := range s.Logs {
		turned += s.Logs[i].TurnedAway
	}
	if len(s.Enforcers) == 0 {
		return "", true
	}
	text, unread := words.Plural(len(s.Enforcers), "list", "lists"), "; nobody is known to read them"
	if len(s.Enforcers) == 1 {
		text, unread = path.Base(s.Enforcers[0].Name), "; nobody is known to read it"
	}
	switch {
	case newest.IsZero():
		return text + ", not written yet", false
	case files == 0 || turned > 0 || s.Monitor:
		return text + ", written " + s.ago(newest), true
	}
	return text + ", written " + s.ago(newest) + unread, false
}

func (s *Stats) requestsText() (string, bool) {
	text, missed := words.Plural(s.Events.Decided, "request", "requests")+" decided", uint64(0)
	for _, u := range s.Uncounted {
		missed += u.Count
	}
	if missed > 0 {
		text += ", " + words.Number(missed) + " not counted"
	}
	return text, true
}

func (s *Stats) siteText() (string, bool) {
	switch {
	case s.Site == nil:
		return "", true
	case s.Site.Fails() > 0:
		return "The site fails", true
	case len(s.Site.Parts) == 0:
		return "No answer of the site is known yet", false
	}
	return "The site answers", true
}

func (s *Stats) blocksText() (string, bool) {
	return words.Plural(s.V4+s.V6, "block", "blocks"), true
}

func (s *Stats) memoryText() (string, bool) {
	if s.Tables.Limit <= 0 {
		return "", true
	}
	return "Memory " + words.PercentShare(float64(s.Tables.Used)/float64(s.Tables.Limit)), true
}

func (s *Stats) stateText() (string, bool) {
	switch {
	case s.Snapshot == nil:
		return "Nothing is saved: no state folder", false
	case s.Snapshot.Success.IsZero():
		return "Not saved yet", true
	}
	return "Saved " + s.ago(s.Snapshot.Success), true
}

func (s *Stats) clockText() (string, bool) {
	if s.Fleet == nil || s.Fleet.Lost() != "" {
		return "", true
	}
	return fmt.Sprintf("Clock %+.3f s beside Redis", s.Fleet.Ahead), true
}

func (s *Stats) configText() (string, bool) {
	if s.Reload == nil || s.Reload.Success.IsZero() {
		return "", true
	}
	return "Config read " + s.ago(s.Reload.Success), true
}

func (s *Stats) importsText() (string, bool) {
	if len(s.Imports.Feeds) == 0 {
		return "", true
	}
	return fmt.Sprintf("%s of others, %s in force", words.Plural(len(s.Imports.Feeds), "list", "lists"), words.Plural(s.Imports.Blocks, "entry", "entries")), true
}

func (s *Stats) bouncersText() (string, bool) {
	if s.Bouncers == nil {
		return "", true
	}
	var newest time.Time
	for _, b := range s.Bouncers.Bouncers {
		if b.LastPull.After(newest) {
			newest = b.LastPull
		}
	}
	text := words.Plural(len(s.Bouncers.Bouncers), "bouncer", "bouncers")
	if newest.IsZero() {
		return text + ", none has asked", false
	}
	return text + ", the last asked " + s.ago(newest), true
}

func (s *Stats) crowdSecText() (string, bool) {
	if s.CrowdSec == nil {
		return "", true
	}
	var newest time.Time
	if d := s.CrowdSec.Decisions; d != nil {
		newest = d.Last
	}
	if a := s.CrowdSec.Alerts; a != nil && a.Last.After(newest) {
		newest = a.Last
	}
	if newest.IsZero() {
		return "CrowdSec has not answered yet", false
	}
	return "CrowdSec answered " + s.ago(newest), true
}

func (s *Stats) notifyText() (string, bool) {
	if len(s.Notified) == 0 {
		return "", true
	}
	var newest time.Time
	for _, r := range s.Notified {
		if r.Success.After(newest) {
			newest = r.Success
		}
	}
	text := words.Plural(len(s.Notified), "receiver", "receivers")
	if newest.IsZero() {
		return text + ", told nothing yet", true
	}
	return text + ", the last told " + s.ago(newest), true
}

func (s *Stats) crawlersText() (string, bool) {
	if s.Crawlers == nil {
		return "", true
	}
	return fmt.Sprintf("%s of crawlers, %s", words.Plural(s.Crawlers.Verified, "request", "requests"), words.Plural(s.Crawlers.Impostors, "impostor", "impostors")), true
}
