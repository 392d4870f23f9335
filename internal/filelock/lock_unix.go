//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errMustWrite is what NFS answers to who locks a file alone that he has not opened to be
// written.
const errMustWrite = syscall.EBADF

// open opens or makes the file of a lock. What is not a file, as a pipe, does not hold it up.
func open(name string, access int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, access|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
}

// lock locks it without waiting; ErrInUse where another process is in the way.
func lock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}
