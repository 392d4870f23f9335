package hostaddr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile is how much of a file is read. A router with a full table has a
// hundred megabytes of routes; its default ones come first.
const maxFile = 4 << 20

// parser reads one line. A line that says nothing of interest gives no
// address and no error.
type parser func(line []byte) (found Protected, ok bool, err error)

// file is the source at a path. A file that does not exist names no address: IPv6
// may be off, systemd absent, and /proc is Linux's.
func (c *Config) file(path string, parse parser) source {
	return func() ([]Protected, error) {
		at := filepath.Join(c.Root, path)
		if c.Root == "" {
			at = path
		}
		f, err := os.Open(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		found, err := parseLines(f, parse)
		if err != nil {
			err = fmt.Errorf("%s: %w", at, err)
		}
		return found, err
	}
}

// parseLines takes what it can from every line and reports the first that is
// wrong.
func parseLines(r io.Reader, parse parser) (list []Protected, first error) {
	all, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		first = err
	}
	if len(all) > maxFile {
		first = fmt.Errorf("longer than %d bytes: the rest was not read; add what is missing to trusted_proxies or allowlist", maxFile)
		all = all[:bytes.LastIndexByte(all, '\n')+1]
	}
	known := make(map[Protected]bool)
	number := 0
	for line := range bytes.Lines(all) {
		number++
		p, ok, err := parse(bytes.TrimSpace(line))
		if err != nil && first == nil {
			first = fmt.Errorf("line %d: %w", number, err)
		}
		if ok && !known[p] {
			known[p] = true
			list = append(list, p)
		}
	}
	return list, first
}
