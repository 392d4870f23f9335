package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/internal/logtail"
	"edgeguard/setup"
)

// look looks at a log.
func look(path string) setup.Look {
	f, info, err := logtail.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return setup.Look{Missing: true}
	case errors.Is(err, fs.ErrPermission):
		return setup.Look{Problem: "permission denied: run setup as root"}
	case err != nil:
		return setup.Look{Problem: err.Error()}
	}
	defer func() { _ = f.Close() }() // it was only read
	l := setup.Look{Changed: info.ModTime(), Steps: steps(path)}
	if l.Tail, err = logtail.Last(f, info.Size()); err != nil {
		return setup.Look{Problem: err.Error()}
	}
	return l
}

// steps returns the folders on the way to a file, and the file, without links.
func steps(path string) []setup.Step {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	var all []setup.Step
	for end := range len(real) + 1 {
		if end > 0 && end < len(real) && real[end] != '/' {
			continue
		}
		at := real[:end]
		if at == "" {
			at = "/"
		}
		info, err := os.Lstat(at)
		if err != nil {
			return nil
		}
		step := setup.Step{Path: at, Mode: info.Mode()}
		step.UID, step.Group = ownerOf(info)
		all = append(all, step)
	}
	return all
}

// account returns as whom the node runs: by the unit, and without one as the packaged
// unit says.
func account(u *doctor.Unit) *setup.Account {
	if !u.Found {
		return &setup.Account{UID: ^uint32(0), Groups: []string{"edgeguard", "adm"}}
	}
	return &setup.Account{UID: u.UID, Groups: u.Groups}
}
