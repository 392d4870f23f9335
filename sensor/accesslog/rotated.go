package accesslog

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rotated is a file beside a log.
type rotated struct {
	path string
	info os.FileInfo
}

// isRotated reports whether name is what a rotation calls the log base:
// access.log.1, access.log-20261121, access-20261121.log. Compressed files are
// none: what was not read before is gone.
//
// Only digits may follow: access.log-ssl is another log, with other lines.
func isRotated(base, name string) bool {
	ext := filepath.Ext(base)
	for _, stem := range []string{base, strings.TrimSuffix(base, ext)} {
		rest, ok := strings.CutPrefix(name, stem)
		if ok && stem != base {
			rest, ok = strings.CutSuffix(rest, ext)
		}
		if ok && len(rest) > 1 && strings.ContainsRune(".-_", rune(rest[0])) && rest[1]-'0' < 10 &&
			strings.Trim(rest, ".-_0123456789") == "" {
			return true
		}
	}
	return false
}

// list returns the regular files of a folder whose name may be one and that keep says yes to. What cannot
// be read is not there: this is only asked where a file was missed.
func list(folder string, named func(string) bool, keep func(rotated) bool) (found []rotated) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if !e.Type().IsRegular() || !named(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if r := (rotated{filepath.Join(folder, e.Name()), info}); keep(r) {
			found = append(found, r)
		}
	}
	return found
}

// clockGrain is by how much a file's time may be behind the clock: the kernel
// stamps files with the time of its last tick.
const clockGrain = 20 * time.Millisecond

// between returns the logs that were made and rotated away since the path was last
// looked at, the oldest first. Those that are read already are known.
func between(path string, since time.Time, known func(os.FileInfo) bool) []rotated {
	base := filepath.Base(path)
	found := list(filepath.Dir(path), func(name string) bool { return isRotated(base, name) }, func(r rotated) bool {
		return !r.info.ModTime().Before(since.Add(-clockGrain)) && !known(r.info)
	})
	slices.SortFunc(found, func(a, b rotated) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), -cmp.Compare(a.path, b.path))
	})
	return found
}

// find opens the file of a place, wherever in its folder it is now: under its
// inode, or as the copy that was made before the file was emptied. nil if it is
// gone.
func find(path string, p *Place) *tail {
	if t, err := openTail(p.Name); err == nil { // as nearly always; its folder may be large
		if p.of(t.info) && t.info.Size() >= p.Offset && t.resume(p) {
			return t
		}
		_ = t.file.Close()
	}
	for _, folder := range []string{filepath.Dir(p.Name), filepath.Dir(path)} {
		base := filepath.Base(p.Name)
		copies := list(folder, func(string) bool { return true }, func(r rotated) bool {
			return r.info.Size() >= p.Offset && (p.of(r.info) || isRotated(base, filepath.Base(r.path)))
		})
		slices.SortStableFunc(copies, func(a, b rotated) int { return cmp.Compare(p.rank(a.info), p.rank(b.info)) })
		for _, r := range copies {
			if p.Offset == 0 && !p.of(r.info) {
				continue // nothing was read of it that could be compared
			}
			t, err := openTail(r.path)
			if err != nil {
				continue
			}
			if t.resume(p) {
				return t
			}
			_ = t.file.Close()
		}
	}
	return nil
}
