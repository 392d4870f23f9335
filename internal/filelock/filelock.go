// Package filelock locks a file for as long as a process lives: the kernel frees it when
// the process ends, however it does. So nothing is left to clean up after a kill, as would
// be with a file that holds a number.
package filelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"edgeguard/internal/safetext"
)

// ErrInUse says that another process has the lock.
var ErrInUse = errors.New("another edgeguard keeps it")

const (
	// tryEvery is how often Hold tries again.
	tryEvery = 100 * time.Millisecond
	// mostHolder bounds what is read of who holds a lock.
	mostHolder = 512
)

// Lock is a lock that is held.
type Lock struct{ file *os.File }

// Take locks a file, for one process alone or with all others that share it; ErrInUse where
// another process is in the way. It makes the file where it is missing, and does not
// follow a link in its place. Nothing is written to it.
func Take(path string, alone bool) (*Lock, error) {
	f, err := open(path, os.O_RDONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockNamed(f, alone); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// lockNamed locks an open file, if it still is what its name says: who removes the file
// removes the lock, and then this one protects nothing.
func lockNamed(f *os.File, alone bool) error {
	if err := lock(f, alone); err != nil {
		return err
	}
	if !isNamed(f) {
		return ErrInUse
	}
	return nil
}

func isNamed(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, named)
}

// Holds reports whether it keeps others out: not if its file was removed. nil is no lock.
func (l *Lock) Holds() bool { return l != nil && isNamed(l.file) }

// Hold locks a file alone, and writes into it who does, for the others. While another
// process has it, it tries again until the patience or ctx ends: then the error is
// ErrInUse with what that one wrote. Only this user can open the file: who can open it
// can lock it.
func Hold(ctx context.Context, path, holder string, patience time.Duration) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	for {
		l, err := hold(path, holder)
		if !errors.Is(err, ErrInUse) {
			return l, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func hold(path, holder string) (*Lock, error) {
	// A file that is open to be written keeps its disk from being remounted read-only.
	f, err := locked(path, os.O_RDONLY)
	if errors.Is(err, errMustWrite) {
		f, err = locked(path, os.O_RDWR)
	}
	if err != nil {
		return nil, err
	}
	if w, err := open(path, os.O_WRONLY|os.O_TRUNC, 0o600); err == nil { // the lock counts; the text is for people
		_, _ = w.WriteString(holder + "\n")
		_ = w.Close()
	}
	return &Lock{f}, nil
}

// locked opens a file and locks it alone.
func locked(path string, access int) (*os.File, error) {
	f, err := open(path, access, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockNamed(f, true); err != nil {
		if errors.Is(err, ErrInUse) {
			err = fmt.Errorf("%w: %s", err, writtenIn(f))
		}
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// writtenIn returns what the holder of a lock wrote.
func writtenIn(f *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(f, mostHolder))
	return cmp.Or(strings.TrimSpace(safetext.Strip(string(text))), "it has not written which one it is")
}

// Release gives up the lock; nil is none.
func (l *Lock) Release() {
	if l != nil {
		_ = l.file.Close()
	}
}

// Remove gives up a lock that was held alone, with its file.
func (l *Lock) Remove() {
	_ = os.Remove(l.file.Name())
	l.Release()
}
