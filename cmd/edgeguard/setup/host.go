package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/internal/logtail"
	"edgeguard/setup"
)

// mostConfig bounds what is read of a proxy's file.
const mostConfig = 1 << 20

// files reads the configurations of proxies.
type files struct{}

func (files) Read(path string) (string, error) {
	f, _, err := logtail.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	if err == nil && len(text) > mostConfig {
		err = fmt.Errorf("%s is longer than %d bytes", path, mostConfig)
	}
	return string(text), err
}

func (files) Glob(pattern string) []string {
	names, _ := filepath.Glob(pattern) // a wrong pattern has no files
	return names
}

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
