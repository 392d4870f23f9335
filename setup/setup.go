// Package setup decides what a first config counts from.
//
// It reads in the configurations of proxies where their access logs are, judges the logs
// that were found on a host, and writes the config and the unit's drop-in as texts.
//
// The paths and formats come from configurations of other programs, and the lines from
// clients. So what is written is quoted, what is printed is cleaned by the caller, and
// no text of a line is shown: whoever may write to a folder of logs could put a link to
// a secret there, and setup runs as root.
package setup

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"edgeguard/frontdoor"
	"edgeguard/logline"
)

// Look is what was seen of a log's file.
type Look struct {
	Missing bool
	Problem string // why it cannot be read even by who looks; empty if it can
	Changed time.Time
	Tail    []byte // its last lines, the first of them whole
	Steps   []Step // the folders on its way, and the file
}

// Step is a folder on the way to a file, or the file at the end.
type Step struct {
	Path  string
	Mode  fs.FileMode
	UID   uint32
	Group string // its name, or number
}

// Account is as whom the node runs.
type Account struct {
	UID    uint32
	Groups []string
}

// Source is a log, and what setup does with it.
type Source struct {
	Log
	Follow bool
	Says   string   // what was seen of it, or why it is left out
	Groups []string // that the node's account needs for it, and has not
	Fix    string   // what an operator must change before it can be read
	shows  shown    // of the applications behind it
}

// Judge decides whether a log is followed, and in which format.
func Judge(log Log, look *Look, account *Account, now time.Time) Source {
	s := Source{Log: log}
	switch {
	case log.Unusable != "":
		s.Says = log.Unusable
		return s
	case look.Problem != "":
		s.Says = look.Problem
		return s
	case !s.judgeFormat():
		return s
	case look.Missing && s.Format == "":
		s.Says = fmt.Sprintf("does not exist, and its format is not known: if it will be made, name it with --log FORMAT=%s", log.File)
		return s
	case look.Missing:
		s.Follow, s.Says = true, "does not exist yet: counted from when the proxy makes it"
		return s
	}
	s.judgeLines(look, now)
	if s.Follow {
		s.judgeRights(look.Steps, account)
	}
	return s
}

// judgeFormat reports whether a log's format can be used. One that a configuration names
// and that is refused, because its address is a client's header, must not be replaced by
// what its lines look like.
func (s *Source) judgeFormat() bool {
	if s.Format == "" {
		return true
	}
	if _, err := logline.ParseFormat(s.Format); err != nil {
		s.Says = err.Error()
		return false
	}
	return true
}

// judgeLines decides by the last lines, where there are any.
func (s *Source) judgeLines(look *Look, now time.Time) {
	lines := uint64(len(logline.FirstLines(look.Tail, 1<<20)))
	if lines == 0 {
		s.Format = cmp.Or(s.Format, "combined")
		s.Follow, s.Says = true, fmt.Sprintf("is empty: that its format is %s is not confirmed by a line", s.Format)
		return
	}
	format, seen := s.look(look)
	if format == "" && strings.HasSuffix(s.File, ".gz") {
		s.Says = "is compressed, and nothing is added to it: name the log that is written now (edgeguard replay and tune read compressed ones)"
		return
	}
	if format == "" {
		s.Says = fmt.Sprintf("the format of its last %d lines is not known: try `edgeguard replay --format FORMAT FILE`, and name it with --log FORMAT=FILE", lines)
		return
	}
	s.Format = cmp.Or(s.Format, format)
	r := seen
	s.shows = seen.shows
	s.Says = fmt.Sprintf("%d of its last %d lines read as %s, last written %s", r.events, r.lines, s.Format, ago(now.Sub(look.Changed)))
	switch {
	case 2*(r.events+r.aside) < r.lines || r.events == 0 && r.aside == 0:
		s.Says = fmt.Sprintf("only %d of its last %d lines have the format that is configured, %s: name another with --log FORMAT=FILE", r.events, r.lines, s.Format)
	case r.local == r.events && r.events > 0 && s.trial(r.events):
		s.Follow = true
		s.Says += ", all from this host itself: if clients come through another proxy, have this one take their addresses from it (nginx set_real_ip_from, Apache mod_remoteip)"
	case r.local == r.events && r.events > 0:
		s.Says = "all its clients are this host itself: it is behind another proxy, and must take the client's address from that one (nginx set_real_ip_from, Apache mod_remoteip), or be named with --log"
	default:
		s.Follow = true
		if r.door != "" {
			s.Says += ", but its clients are " + frontdoor.Whose(r.door) + ". " + frontdoor.Fix + ". Until then nobody in it is blocked"
		}
	}
}

// fewLocal is how many lines of this host alone are taken for the first tries of
// somebody who sets a server up. More of them, and no other, are another proxy's.
const fewLocal = 100

// trial reports whether lines of this host alone do not show another proxy, or the
// operator asks for the log.
func (s *Source) trial(events uint64) bool { return events < fewLocal || s.Proxy == GivenLog }

// reading is how many of the last lines are of which sort.
type reading struct {
	lines, events, aside, local uint64
	door                        string // whose all clients are, as [frontdoor.Shown]

	shows shown
}

// look reads the last lines, in the format of the configuration or in the one that they
// have; format is empty if they have none that is known.
func (s *Source) look(look *Look) (format string, r reading) {
	f, err := logline.ParseFormat(s.Format)
	if f == nil || err != nil {
		f, err = logline.Detect(look.Tail, nil)
	}
	if err != nil || f.Caution() != "" && s.Format == "" {
		return "", reading{}
	}
	return f.String(), readLines(f, look)
}

// readLines reads the last lines in a format.
func readLines(format *logline.Format, look *Look) reading {
	p := format.Parser("", nil)
	p.SetLatest(look.Changed.Add(time.Hour))
	chunk := logline.Chunk{Text: slices.Clone(look.Tail)}
	p.Parse(&chunk)
	r := reading{lines: chunk.Lines, events: uint64(len(chunk.Events))}
	r.door = frontdoor.Shown(chunk.Events)
	r.aside = r.lines - min(r.lines, r.events+chunk.Skipped)
	for i := range chunk.Events {
		r.shows.noteAnswer(&chunk.Events[i])
		if chunk.Events[i].Addr.IsLoopback() {
			r.local++
		}
	}
	return r
}

// powerful are groups that the node must not get: their members are as good as root.
// Who may write to a folder of logs could have put a link to a file of theirs there.
var powerful = []string{"root", "shadow", "disk", "docker", "sudo", "wheel", "kmem", "lxd", "incus", "libvirt"}

// judgeRights finds which groups the account needs on the way to a log.
func (s *Source) judgeRights(steps []Step, account *Account) {
	for i := range steps {
		step := &steps[i]
		bit, word := fs.FileMode(0o001), "g+x"
		if i == len(steps)-1 {
			bit, word = 0o004, "g+r"
		}
		switch mode := step.Mode.Perm(); {
		case step.UID == account.UID && mode&(bit<<6) != 0, mode&bit != 0:
		case mode&(bit<<3) == 0:
			s.Fix = fmt.Sprintf("only the owner of %s may read it: chmod %s %s, and have what makes it (the proxy, logrotate) do the same", step.Path, word, step.Path)
		case slices.Contains(account.Groups, step.Group) || slices.Contains(s.Groups, step.Group):
		case slices.Contains(powerful, step.Group):
			s.Fix = fmt.Sprintf("only the group %s may read %s: chgrp adm %s, and have what makes it (the proxy, logrotate) do the same", step.Group, step.Path, step.Path)
		default:
			s.Groups = append(s.Groups, step.Group)
		}
	}
}

// ago returns how long something is past, in its greatest unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute ago"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// Given reads a log as the flag --log names it: FILE, or FORMAT=FILE.
func Given(text string) (Log, error) {
	format, file, found := strings.Cut(text, "=/")
	switch {
	case found:
		file = "/" + file
		if f, err := logline.ParseFormat(format); err != nil {
			return Log{}, err
		} else if f == nil {
			format = ""
		}
	default:
		format, file = "", text
	}
	if !strings.HasPrefix(file, "/") {
		return Log{}, fmt.Errorf("%q: use an absolute path, such as /var/log/nginx/access.log", text)
	}
	return Log{Proxy: GivenLog, File: file, Format: format, At: "--log"}, nil
}
