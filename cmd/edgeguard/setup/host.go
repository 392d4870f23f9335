package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"edgeguard/cmd/edgeguard/unit"
	"edgeguard/setup"
)

// The bounds of what is read of a host.
const (
	mostConfig = 1 << 20 // of a proxy's file
	mostTail   = 64 << 10
)

// open opens a regular file, through links. A pipe would hold up who opens it, and
// opening a device can act, so what a file is, is looked at first.
func open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a file, but a %s", path, sort(info.Mode()))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s changed while it was looked at", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func sort(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// files reads the configurations of proxies.
type files struct{}

func (files) Read(path string) (string, error) {
	f, _, err := open(path)
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
	f, info, err := open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return setup.Look{Missing: true}
	case errors.Is(err, fs.ErrPermission):
		return setup.Look{Problem: "permission denied: run setup as root"}
	case err != nil:
		return setup.Look{Problem: err.Error()}
	}
	defer func() { _ = f.Close() }() // it was only read
	l := setup.Look{Size: info.Size(), Changed: info.ModTime(), Steps: steps(path)}
	from := max(0, info.Size()-mostTail)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, mostTail))
	if err != nil {
		return setup.Look{Problem: err.Error()}
	}
	if from > 0 { // its first line is not whole
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	l.Tail = tail[:bytes.LastIndexByte(tail, '\n')+1]
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
func account(u *unit.Unit) *setup.Account {
	if !u.Found {
		return &setup.Account{UID: ^uint32(0), Groups: []string{"edgeguard", "adm"}}
	}
	return &setup.Account{UID: u.UID, Groups: u.Groups}
}
