package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/frontdoor"
	"edgeguard/internal/logtail"
	"edgeguard/internal/words"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
)

// enoughLines is how many lines of a log of which none is counted raise a doubt.
const enoughLines = 20

// log looks whether a file can be read, and whether its last lines are of its format.
func (x *examination) log(file, format string) {
	about := "log " + file
	parsed, err := logline.ParseFormat(format)
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	f, info, err := logtail.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.note(doubt, about, "does not exist yet: the node will wait for it")
		return
	case errors.Is(err, fs.ErrPermission) && x.lacksGroups():
		x.note(doubt, about, "%v: this user has not all groups that %s adds; run edgeguard doctor as root", err, UnitName)
		return
	case err != nil && x.denied(about, err):
		return
	case errors.Is(err, fs.ErrPermission):
		x.note(wrong, about, "%v: %s", err, x.letRead(file))
		return
	case err != nil:
		x.note(wrong, about, "%v", err)
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	if parsed == nil || parsed.HasHeader() {
		x.firstLines(about, file, parsed)
		return
	}
	text, err := logtail.Last(f, info.Size())
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	chunk := logline.Chunk{Text: text}
	p := parsed.Parser(file, nil)
	p.SetLatest(info.ModTime().Add(time.Hour))
	p.Parse(&chunk)
	s := accesslog.Stats{Lines: chunk.Lines, Events: uint64(len(chunk.Events)), Skipped: chunk.Skipped, First: chunk.Shown, Others: chunk.Others, Suppressed: chunk.Suppressed, Quiet: chunk.Quiet, Unread: chunk.Unread}
	x.lines(about, "last", parsed, &s)
	x.clients(about, chunk.Events)
}

// letRead says how the node's user comes to read a file.
func (x *examination) letRead(file string) string {
	who := "root"
	if x.unit != nil && x.unit.User != "" {
		who = x.unit.User
	} else if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return fmt.Sprintf("%s must read it and search its folders: add %[1]s to the group that may (usermod -aG GROUP %[1]s, then restart), "+
		"or `setfacl -m u:%[1]s:r %[2]s` and in logrotate's postrotate again", who, file)
}

// firstLines looks at the beginning of a log, where its lines say what the others are.
func (x *examination) firstLines(about, file string, parsed *logline.Format) {
	r, err := accesslog.Open(file, parsed, accesslog.Options{})
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	defer func() { _ = r.Close() }() // it was only read
	events, err := r.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		x.note(wrong, about, "%v", err)
		return
	}
	s := r.Stats()
	x.lines(about, "first", r.Format(), &s)
	x.clients(about, events)
}

// clients says where a log knows only what stands before the server.
func (x *examination) clients(about string, events []edgeguard.Event) {
	if door := frontdoor.Shown(events); door != "" && !x.named {
		x.note(doubt, about, "%s", frontDoor(door))
		x.doors = append(x.doors, about+": "+frontDoor(door))
	}
}

func frontDoor(door string) string {
	return "its clients are " + frontdoor.Whose(door) + ", so nobody in it is blocked. " + frontdoor.Fix
}

// FrontDoors says which logs know only what stands before the server, by their last lines; it says nothing of
// those that it cannot read.
func FrontDoors(c *config.Config) []string {
	var x examination
	x.logs(c)
	return x.doors
}

// lines says what was read of a log's first or last lines.
func (x *examination) lines(about, which string, format *logline.Format, s *accesslog.Stats) {
	if s.Suppressed > 0 {
		x.note(doubt, about, "its %s lines say that %s", which, words.Suppressed(s.Suppressed))
	}
	for _, unread := range s.Unread {
		x.note(doubt, about, "of its %s lines, %s", which, unread)
	}
	switch {
	case s.Events == 0 && len(s.Unread) > 0:
	case s.Lines == 0:
		x.note(doubt, about, "is readable but empty: nothing is counted until the server writes to it")
	case s.Events == 0 && s.Skipped == 0 && s.Lines-s.Quiet >= enoughLines && len(s.Others) > 0:
		x.note(doubt, about, "none of its %s %d lines is one that format %s counts; if they should be, set the log's own format. The first: %s", which, s.Lines, format, firstTexts(s.Others))
	case s.Events == 0 && s.Skipped == 0:
		x.note(fine, about, "none of its %s %d lines is one that format %s counts", which, s.Lines, format)
	case s.Events == 0:
		x.note(wrong, about, "none of its %s %d lines has format %s: %s", which, s.Lines, format, firstSkipped(s.First))
	case s.Skipped*10 > s.Lines:
		x.note(doubt, about, "%d of its %s %d lines do not have format %s: %s", s.Skipped, which, s.Lines, format, firstSkipped(s.First))
	default:
		x.note(fine, about, "format %s matches its %s %s", format, which, words.Plural(s.Lines, "line", "lines"))
	}
}

// lacksGroups reports whether this process has the unit's user and not all of its groups,
// as after sudo -u.
func (x *examination) lacksGroups() bool {
	if x.unit == nil || os.Getuid() != int(x.unit.UID) {
		return false
	}
	groups, err := os.Getgroups()
	return err == nil && slices.ContainsFunc(x.unit.GIDs, func(gid uint32) bool {
		return int(gid) != os.Getgid() && !slices.Contains(groups, int(gid))
	})
}

// firstTexts quotes lines.
func firstTexts(lines []logline.Skipped) string {
	quoted := make([]string, len(lines))
	for i := range lines {
		quoted[i] = strconv.Quote(lines[i].Text)
	}
	return strings.Join(quoted, ", ")
}

func firstSkipped(first []logline.Skipped) string {
	if len(first) == 0 {
		return "no example"
	}
	return first[0].String()
}
