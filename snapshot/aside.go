package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const (
	// maxAside is how many files are kept that could not be used. The next one
	// then takes the place of the last: a node that keeps failing must not fill
	// the disk.
	maxAside = 9
	// asideFor is how long such a file is spoken of: by then it was looked at, or nobody
	// will.
	asideFor = 7 * 24 * time.Hour
)

// SetAside renames a file that cannot be used, so that it can be looked at
// and the next snapshot does not overwrite it, and says what became of it.
func SetAside(path string) string {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.aside-%d", path, n)
		if _, err := os.Lstat(to); n < maxAside && !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return fmt.Sprintf("it could not be renamed (%v); starting without it", err)
		}
		return "it is renamed to " + to + "; starting without it"
	}
}

// asideName is what SetAside makes of a name.
var asideName = regexp.MustCompile(`^(.+)\.aside-[1-9]$`)

// Aside is a file that could not be used, and was renamed.
type Aside struct {
	Path string // what it is called now
	Was  string // its name before, without the folder
	At   time.Time
}

// Asides returns the files of a folder that were renamed because they could not be used,
// in the seven days before now.
func Asides(folder string, now time.Time) (all []Aside) {
	entries, _ := os.ReadDir(folder) // one that cannot be read has other alarms
	for _, e := range entries {
		name := asideName.FindStringSubmatch(e.Name())
		if name == nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it was removed
		}
		if at := renamed(info); now.Sub(at) < asideFor {
			all = append(all, Aside{Path: filepath.Join(folder, e.Name()), Was: name[1], At: at})
		}
	}
	return all
}

// String says what is lost, and what to do.
func (a *Aside) String() string {
	return fmt.Sprintf("%s could not be used on %s, and what it had is not in force: it is renamed to %s. If it is good again (another owner, a later version): stop edgeguard, rename it back, start. Else remove it: this condition ends then, or seven days after",
		a.Was, a.At.UTC().Format("2006-01-02 15:04 UTC"), a.Path)
}
