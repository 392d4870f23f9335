package doctor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"edgeguard/internal/logtail"
	"edgeguard/internal/words"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
)

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
	s := accesslog.Stats{Lines: chunk.Lines, Events: uint64(len(chunk.Events)), Skipped: chunk.Skipped, First: chunk.Shown}
	x.lines(about, "last", parsed, &s)
}

// firstLines looks at the beginning of a log, where its lines say what the others are.
func (x *examination) firstLines(about, file string, parsed *logline.Format) {
	r, err := accesslog.Open(file, parsed, accesslog.Options{})
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	defer func() { _ = r.Close() }() // it was only read
	if _, err = r.Next(); err != nil && !errors.Is(err, io.EOF) {
		x.note(wrong, about, "%v", err)
		return
	}
	s := r.Stats()
	x.lines(about, "first", r.Format(), &s)
}

// lines says what was read of a log's first or last lines.
func (x *examination) lines(about, which string, format *logline.Format, s *accesslog.Stats) {
	switch {
	case s.Lines == 0:
		x.note(doubt, about, "is readable but empty: nothing is counted until the server writes to it")
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

func firstSkipped(first []logline.Skipped) string {
	if len(first) == 0 {
		return "no example"
	}
	return first[0].String()
}
