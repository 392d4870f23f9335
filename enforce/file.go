package enforce

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
)

// The defaults of a FileConfig.
const (
	// defaultEveryReload spaces the reloads of a proxy: each costs it new
	// workers, and old ones that drain.
	defaultEveryReload = 10 * time.Second
	// defaultEvery spaces everything else.
	defaultEvery = time.Second
	// defaultTimeout ends a reload that hangs.
	defaultTimeout = 10 * time.Second
	// defaultName is the nft table and the beginning of the ipset names.
	defaultName = "edgeguard"
)

// FileConfig says which list to keep, and what to reload.
type FileConfig struct {
	// Path is the file. Its folder must be there and writable; a symbolic link
	// is followed, unless a stranger could have made it: see package safepath. An
	// existing file keeps its mode and owner, a new one gets
	// 0644: the proxy reads it, and who is blocked is in its log anyway.
	Path   string
	Format Format
	// Name is the nft table and the beginning of the ipset names;
	// defaultName if empty.
	Name string
	// Kernel says of a format that does not say so itself that the list ends
	// up in a packet filter.
	Kernel bool

	// Reload is a command with its arguments, run without a shell after the
	// file has changed. No part of it is ever made from a block.
	Reload []string
	// Socket is HAProxy's stats socket, for FormatHAProxy and FormatHAProxyMap:
	// the list is put in force through it, whole and without
	// a reload. Path must then be what haproxy.cfg says, letter by letter; the
	// file is what a restarted HAProxy reads. One of Reload and Socket at most.
	Socket string
	// Timeout ends a reload, or an update through the socket, that hangs;
	// DefaultTimeout if 0.
	Timeout time.Duration
	// Every is the shortest time between two updates; if 0,
	// defaultEveryReload where a proxy is reloaded and defaultEvery else.
	Every time.Duration
}

// File is the enforcer that keeps a list in a file. It holds the hidden file of
// its claim open, which keeps other processes from emptying the list. Not safe
// for concurrent use. Make one with [NewFile].
//
// The file is written to a temporary one beside it, synced and renamed, so
// that no reader ever sees a part of it; and only where the list changed, or
// another program changed the file. After the start it is written and put in
// force once in any case, because what an earlier run left undone is unknown.
type File struct {
	config FileConfig
	claim  *filelock.Lock // nil until there is a list, or where it cannot be had

	written os.FileInfo // the file as written last, nil if never
	sum     uint64      // of the list in it
	loaded  bool        // the reload after it worked
}

var (
	goodName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`) // ipset takes 31 bytes, "6_new" included
	goodListID = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+:=,~-]*$`)
)

// NewFile checks the config. It reads and writes nothing.
func NewFile(c FileConfig) (*File, error) {
	if c.Name == "" {
		c.Name = defaultName
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Every <= 0 {
		c.Every = defaultEvery
		if len(c.Reload) > 0 && int(c.Format) < len(layouts) && !layouts[c.Format].kernel {
			c.Every = defaultEveryReload
		}
	}
	return &File{config: c}, c.check()
}

func (c *FileConfig) check() error {
	switch {
	case c.Path == "":
		return errors.New("a list needs the path of its file")
	case int(c.Format) >= len(layouts):
		return fmt.Errorf("%s: unknown list format %d", c.Path, c.Format)
	case !goodName.MatchString(c.Name):
		return fmt.Errorf("%s: the name %q must be a small letter and at most 23 more of a-z, 0-9 and _", c.Path, c.Name)
	case len(c.Reload) > 0 && c.Reload[0] == "":
		return fmt.Errorf("%s: the reload command is empty", c.Path)
	case c.Socket == "":
		return nil
	case len(c.Reload) > 0:
		return fmt.Errorf("%s: give a reload command or a socket, not both", c.Path)
	case !layouts[c.Format].socket:
		return fmt.Errorf("%s: format %s cannot go through a socket: use %s or %s", c.Path, c.Format, FormatHAProxy, FormatHAProxyMap)
	case !goodListID.MatchString(c.Path):
		return fmt.Errorf("%s: HAProxy's socket cannot name this path: use letters, digits and / . _ - only", c.Path)
	}
	return nil
}

// readerTakes is how long a program may take that reads a file by itself, or in which a
// reload of a proxy is over.
const readerTakes = 20 * time.Second

// Traits are the format's and the config's.
func (f *File) Traits() Traits {
	t := Traits{Kernel: f.config.Kernel || layouts[f.config.Format].kernel, Every: f.config.Every, Takes: 2 * f.config.Every}
	if f.config.Socket == "" && (!t.Kernel || len(f.config.Reload) == 0) {
		t.Takes = max(t.Takes, readerTakes)
	}
	return t
}

// Replace writes the list if it changed, and has it put in force if that has
// not been done since.
func (f *File) Replace(ctx context.Context, now time.Time, entries []Entry) error {
	if f.claim == nil {
		var err error
		if f.claim, err = takeClaim(f.config.Path, false); errors.Is(err, ErrInUse) {
			return fmt.Errorf("write %s: another edgeguard is emptying it", f.config.Path)
		}
	}
	if err := f.write(now, entries); err != nil {
		return fmt.Errorf("write %s: %w", f.config.Path, err)
	}
	if f.loaded {
		return nil
	}
	if err := f.putInForce(ctx, entries); err != nil {
		return fmt.Errorf("%s is written but not in force: %w", f.config.Path, err)
	}
	f.loaded = true
	return nil
}

// Close gives up the claim. The file stays as it is.
func (f *File) Close() error {
	f.claim.Release()
	f.claim = nil
	return nil
}

func (f *File) write(now time.Time, entries []Entry) error {
	sum := f.fingerprint(now, entries)
	place, err := safepath.Open(f.config.Path)
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }()
	if f.written != nil && sum == f.sum && same(place, f.written) {
		return nil
	}
	f.loaded = false
	f.written, err = writeFile(place, func(w *bufio.Writer) {
		f.config.Format.write(w, f.config.Name, now, entries)
	})
	f.sum = sum
	return err
}

// putInForce puts the file in force.
func (f *File) putInForce(ctx context.Context, entries []Entry) error {
	late := fmt.Errorf("no answer after %s", f.config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, f.config.Timeout, late)
	defer cancel()
	switch {
	case f.config.Socket != "":
		return f.haproxy().replace(ctx, entries)
	case len(f.config.Reload) > 0:
		return runCommand(ctx, f.config.Reload)
	}
	return nil
}

func (f *File) haproxy() haproxy {
	h := haproxy{socket: f.config.Socket, id: f.config.Path, kind: "acl"}
	if f.config.Format == FormatHAProxyMap {
		h.kind, h.value = "map", " 1"
	}
	return h
}

// fingerprint is a hash of what the file says. A timed format says when
// entries end, and what it says grows stale with its longest timeout, so that
// it is due again every day.
func (f *File) fingerprint(now time.Time, entries []Entry) uint64 {
	timed := layouts[f.config.Format].timed
	var h xxhash.Digest
	h.Reset()
	var buf [33]byte
	if timed {
		binary.LittleEndian.PutUint64(buf[:], uint64(now.Unix()/86400))
		h.Write(buf[:8])
	}
	for _, e := range entries {
		addr := e.Prefix.Addr().As16()
		copy(buf[:], addr[:])
		buf[16] = byte(e.Prefix.Bits())
		buf[17] = byte(e.Prefix.Addr().BitLen())
		n := 18
		if timed {
			binary.LittleEndian.PutUint64(buf[n:], uint64(e.Until.Unix()))
			n += 8
		}
		h.Write(buf[:n])
	}
	return h.Sum64()
}

// same reports whether the file at a place is still the one that was written.
func same(place *safepath.Place, written os.FileInfo) bool {
	now, err := place.Lstat(place.Name)
	return err == nil && os.SameFile(now, written) && now.Size() == written.Size() && now.ModTime().Equal(written.ModTime())
}
