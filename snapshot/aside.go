package snapshot

import (
	"errors"
	"fmt"
	"os"
)

// maxAside is how many files are kept that could not be used. The next one
// then takes the place of the last: a node that keeps failing must not fill
// the disk.
const maxAside = 9

// setAside renames a file that cannot be used, so that somebody can look at it
// and the next snapshot does not overwrite it, and says what became of it.
func setAside(path string) string {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.aside-%d", path, n)
		if _, err := os.Lstat(to); n < maxAside && !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return fmt.Sprintf("it could not be set aside (%v); starting without it", err)
		}
		return "it is set aside as " + to + "; starting without it"
	}
}
