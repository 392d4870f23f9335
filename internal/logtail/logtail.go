// Package logtail reads the end of a log that others may have replaced. It opens
// nothing but a regular file, of which it reads a bounded part.
package logtail

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file, through links. A pipe would hold up who opens it, and
// opening a device can act, so what a file is, is looked at first.
func Open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a file, but a %s", path, sort(info.Mode()))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// most is how much is read.
const most = 64 << 10

// Last returns the last lines of a file of that size that are whole.
func Last(f io.ReaderAt, size int64) ([]byte, error) {
	from := max(0, size-most)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return nil, err
	}
	if from > 0 { // its first line is not whole
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	return tail[:bytes.LastIndexByte(tail, '\n')+1], nil
}
