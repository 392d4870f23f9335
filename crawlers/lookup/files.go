package lookup

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"edgeguard/crawlers"
)

// Files reads the range files of the crawlers.
type Files struct {
	crawlers *crawlers.Crawlers
	seen     map[string]stamp
}

// stamp is what tells a file from its next version.
type stamp struct {
	size     int64
	modified time.Time
	read     bool // without an error
}

// NewFiles returns a reader of the files of c. It reads none yet.
func NewFiles(c *crawlers.Crawlers) *Files {
	return &Files{crawlers: c, seen: make(map[string]stamp)}
}

// Read reads the files of the crawlers of which one has changed, or could not be
// read before. A crawler with a bad file keeps the addresses that it had. The
// errors are by the crawler's name; all that is not among them is in force.
func (f *Files) Read() (changed []string, errs map[string]error) {
	errs = make(map[string]error)
	for i, spec := range f.crawlers.Specs() {
		if len(spec.Ranges) == 0 || !f.isNew(spec.Ranges) {
			continue
		}
		r, err := f.read(spec.Ranges)
		if err != nil {
			errs[spec.Name] = err
			continue
		}
		f.crawlers.SetRanges(i, r)
		changed = append(changed, fmt.Sprintf("%s: %d prefixes", spec.Name, r.Prefixes()))
	}
	return changed, errs
}

// isNew reports whether one of a crawler's files is not the one that was read last.
func (f *Files) isNew(files []string) bool {
	for _, file := range files {
		if was := f.seen[file]; !was.read || was != stampOf(file) {
			return true
		}
	}
	return false
}

func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), true}
}

// read reads all files of one crawler.
func (f *Files) read(files []string) (*crawlers.Ranges, error) {
	var all []netip.Prefix
	for _, file := range files {
		stamp := stampOf(file) // before it is read: what changes meanwhile is read again
		delete(f.seen, file)
		prefixes, err := readFile(file)
		if err != nil {
			return nil, err
		}
		f.seen[file] = stamp
		all = append(all, prefixes...)
	}
	return crawlers.NewRanges(all), nil
}

// readFile reads one range file.
func readFile(file string) ([]netip.Prefix, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a file; use the published JSON, saved as a file", file)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(in, crawlers.MaxFile+1))
	if err == nil && len(data) > crawlers.MaxFile {
		err = errors.New("is larger than 4 MiB: it is not the list of a crawler")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	prefixes, err := crawlers.ParseRanges(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return prefixes, nil
}
