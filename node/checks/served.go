package checks

import (
	"fmt"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

const (
	// leastServed is how many of its requests were served before that says something.
	leastServed = 20
	// unaskedFor is how long no proxy has asked before that says something.
	unaskedFor = 5 * time.Minute
)

// Served raises the alarm about blocked addresses whose requests are served: by what a log
// says, whichever way broke or was never set up. Where there is no log, it raises one
// if there is no way at all that this node knows.
type Served struct {
	Begun   time.Time
	Current func() *pipeline.Generation
	Answers *pipeline.Answers
	Report  func(*admin.Stats) // the figures of lists, bouncers and sources
	Blocks  func() int         // in force
	Alarms  *alarm.Tracker

	said map[string]string // the text's example, of each log whose alarm is active
}

// Check raises the alarms, or ends them.
func (s *Served) Check(now time.Time) {
	c := s.Current().Config
	var figures admin.Stats
	s.Report(&figures)
	takes := pipeline.LeastTakes
	for _, way := range figures.Ways() {
		takes = max(takes, way.Takes)
	}
	s.Answers.Takes.Store(int64(takes))
	said := make(map[string]string)
	for i := range figures.Logs {
		name := figures.Logs[i].Name
		r := s.Answers.Recent("log "+name, now)
		if c.Monitor || r.Served < leastServed || r.Served <= r.TurnedAway {
			continue
		}
		// The example stays while the alarm lasts: another would be another text.
		if said[name] = s.said[name]; said[name] == "" {
			said[name] = fmt.Sprintf("%s's with status %d", r.Addr, r.Status)
		}
		s.Alarms.Begins(now, alarm.Served, name, fmt.Sprintf("log %s: %s of the last %s of blocked addresses were served, such as %s: %s",
			name, words.Number(r.Served), words.Plural(r.Served+r.TurnedAway, "request", "requests"), said[name], advice(&figures)))
	}
	for name := range s.said {
		if said[name] == "" {
			s.Alarms.Recovers(alarm.Served, name)
		}
	}
	s.said = said
	if s.nothing(now, &figures) {
		s.Alarms.Begins(now, alarm.Nothing, "", fmt.Sprintf("%s in force, and there is no way that this node knows which refuses what they send: %s",
			words.Plural(s.Blocks(), "block is", "blocks are"), snippets))
	} else {
		s.Alarms.Recovers(alarm.Nothing, "")
	}
}

const snippets = "`edgeguard snippets` prints what a proxy needs"

// advice says what to do about a server that serves blocked addresses.
func advice(s *admin.Stats) string {
	var names []string
	for _, way := range s.Ways() {
		names = append(names, way.Name)
	}
	names = append(names, s.Askers()...)
	if len(names) == 0 {
		return "no list is written and no proxy has asked this node; " + snippets
	}
	return "its server does not go by " + strings.Join(names, " or ") + ", or not everywhere; " + snippets +
		"; name a status with which it turns clients away, other than 403, 429 and 444, in refused_with"
}

// nothing reports whether blocks are in force, nothing can refuse them, and no log would
// show it. What others may read is left to them: a fleet's nodes, and programs that have a
// token.
func (s *Served) nothing(now time.Time, figures *admin.Stats) bool {
	c := s.Current().Config
	for _, l := range c.Listen.Admin {
		if l.TokenFile != "" || l.ReaderTokenFile != "" {
			return false
		}
	}
	return !c.Monitor && c.Fleet == nil && !c.Tells() && len(c.Copies()) == 0 && len(figures.Askers()) == 0 && now.Sub(s.Begun) >= unaskedFor && s.Blocks() > 0
}
