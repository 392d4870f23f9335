package doctor

import (
	"fmt"
	"os"
	"path/filepath"

	"edgeguard/config"
)

// OpenSecrets says which of the config's secrets every user of this host can
// read. What is not there, or in a folder that is closed to this user too, is
// not looked at.
func OpenSecrets(c *config.Config) []string {
	var texts []string
	for _, e := range c.Entries() {
		for _, s := range e.Secrets {
			info, err := os.Stat(s.File)
			if s.File == "" || err != nil || info.Mode().Perm()&0o004 == 0 || closedFolder(s.File) {
				continue
			}
			texts = append(texts, fmt.Sprintf("%s: every user of this host can read %s (mode %04o); run `chmod 0640 %s` and `chgrp edgeguard %s`",
				c.Located(e.Key+"."+s.Key), s.File, info.Mode().Perm(), s.File, s.File))
		}
	}
	return texts
}

// closedFolder reports whether a folder on the way keeps others out.
func closedFolder(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	for folder := filepath.Dir(real); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return true
		}
		if folder == filepath.Dir(folder) {
			return false
		}
	}
}
