package accesslog

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// socketFile is the file of a unix socket of ours.
type socketFile struct {
	path string
	info os.FileInfo
}

// clearStale removes what an earlier run left: a socket file at which no process
// listens.
func clearStale(network, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket: choose another path or remove it", path)
	}
	conn, err := net.DialTimeout(network, path, time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("%s is in use by another process", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, syscall.EPROTOTYPE):
		return fmt.Errorf("%s is in use by another process, as a socket of another kind", path)
	}
	return err
}

func newSocketFile(path string) (*socketFile, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return &socketFile{path, info}, nil
}

// remove takes the file away, unless another process has put its own there.
func (s *socketFile) remove() {
	if s == nil {
		return
	}
	if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.info) {
		_ = os.Remove(s.path)
	}
}
