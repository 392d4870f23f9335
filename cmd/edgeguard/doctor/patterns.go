package doctor

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/sensor/accesslog"
)

// newest is how many files of a pattern are looked at, those that were written to last.
const newest = 10

// pattern looks at the files that match a log's pattern: how many there are, and whether the last
// lines of the newest are of its format.
func (x *examination) pattern(c *config.Config, log int) {
	l := &c.Sensors.AccessLog[log]
	others := c.Sensors.OtherFiles(log)
	type match struct {
		path    string
		size    int64
		written time.Time
	}
	var all []match
	paths, _ := filepath.Glob(l.File) // the config was checked
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(others, func(other string) bool { return (&config.AccessLog{File: other}).Reads(path) }) {
			all = append(all, match{path, info.Size(), info.ModTime()})
		}
	}
	about := "log " + l.File
	if len(all) == 0 {
		x.note(doubt, about, "no file matches: the node will wait for one; it sees only what its user may search")
		return
	}
	slices.SortFunc(all, func(a, b match) int { return cmp.Or(b.written.Compare(a.written), cmp.Compare(a.path, b.path)) })
	one := examination{unit: x.unit, named: x.named}
	for _, m := range all {
		compressed := slices.Contains([]string{".gz", ".bz2", ".xz", ".zst"}, filepath.Ext(m.path))
		if len(one.findings) < newest && m.size > 0 && !compressed {
			one.log(m.path, l.Format)
		}
	}
	looked := len(one.findings)
	for _, f := range one.findings {
		if f.Severity != fine {
			looked--
			x.note(f.Severity, safetext.Strip(f.About), "%s", f.Text)
		}
	}
	x.doors = append(x.doors, one.doors...)
	x.note(fine, about, "%s; of the newest, %s as the format has it", words.Plural(len(all), "file matches", "files match"), words.Plural(looked, "is", "are"))
	if n := len(all); n > accesslog.MostFollowed && time.Since(all[accesslog.MostFollowed].written) < time.Minute {
		x.note(doubt, about, "%d files were written to within a minute, and at most %d are read together", n, accesslog.MostFollowed)
	}
}
