package enforce

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
)

// Owned is a list that this node writes: what must be known of it once the
// config no longer has it.
type Owned struct {
	Path   string   `json:"path"` // as in the config
	File   string   `json:"file"` // where that is, through symbolic links
	Format string   `json:"format"`
	Name   string   `json:"name"`
	Reload []string `json:"reload,omitempty"`
	Socket string   `json:"socket,omitempty"`
	// Settings say where a list is that is neither a file nor of this host.
	Settings string `json:"settings,omitempty"`
	// Keep has the list left as it is when no enforcer keeps it any more.
	Keep bool `json:"keep,omitempty"`
}

// NewOwned returns the record of a list.
func NewOwned(c FileConfig, keep bool) Owned {
	return Owned{Path: c.Path, File: place(c.Path), Format: c.Format.String(), Name: c.Name, Reload: c.Reload, Socket: c.Socket, Keep: keep}
}

// place is the file that a path means, whether it is there or not.
func place(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(filepath.Join(dir, ".")); err == nil {
		return filepath.Join(real, base)
	}
	return path
}

// Why a list is not emptied.
var (
	ErrNotOurs = errors.New("it is not the list that edgeguard wrote")
	ErrInUse   = filelock.ErrInUse
	// ErrNotLoaded is wrapped where the file is empty, and its reader could not be notified.
	ErrNotLoaded = errors.New("the file is empty, but its reader was not notified")
)

// Empty removes every address from the list, and puts that in force by the reload or
// socket that was recorded. It does not touch a file that is not the recorded one, one
// that does not parse as its format, or one that another process has claimed. A
// missing file needs nothing, except for HAProxy, which holds the list itself.
func (o *Owned) Empty(ctx context.Context, now time.Time) error {
	alone, err := takeClaim(o.Path, true)
	switch {
	case errors.Is(err, safepath.ErrFolder):
		return fmt.Errorf("%s: %w", o.Path, ErrNotOurs)
	case err != nil:
		return err
	}
	defer alone.Remove()
	format, err := ParseFormat(o.Format)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	f, err := NewFile(FileConfig{Path: o.Path, Format: format, Name: o.Name, Reload: o.Reload, Socket: o.Socket})
	if err != nil {
		return err
	}
	f.claim = alone
	ours, err := o.isOurs(format)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Socket == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = f.putInForce(ctx, nil)
	case err != nil:
		return err
	case !ours:
		return fmt.Errorf("%s: %w", o.Path, ErrNotOurs)
	default:
		err = f.Replace(ctx, now, nil)
	}
	if err != nil && f.written != nil {
		err = fmt.Errorf("%w: %w", ErrNotLoaded, err)
	}
	return err
}

// isOurs reports whether the file is where it was and reads like a list.
func (o *Owned) isOurs(format Format) (bool, error) {
	if place(o.Path) != o.File {
		return false, nil
	}
	info, err := os.Lstat(o.File)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	f, err := os.Open(o.File)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return format.wrote(f, o.Name), nil
}

// wrote reports whether a text is a list of the format: every line of a simple
// one, and the head of a script.
func (f Format) wrote(r io.Reader, name string) bool {
	l := &layouts[f]
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4<<10), 4<<10) // no line of a simple list is longer
	if l.head != "" && (!lines.Scan() || lines.Text()+"\n" != l.head) {
		return false
	}
	if l.program != nil {
		var script bytes.Buffer
		w := bufio.NewWriter(&script)
		l.program(w, name, time.Time{}, nil)
		_ = w.Flush() // a buffer takes all
		first, _, _ := strings.Cut(script.String(), "\n")
		return lines.Scan() && lines.Text() == first
	}
	for lines.Scan() {
		text, begins := strings.CutPrefix(lines.Text(), l.before)
		text, ends := strings.CutSuffix(text, l.after)
		if !begins || !ends || !isPrefix(text) {
			return false
		}
	}
	return lines.Err() == nil
}

func isPrefix(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(text)
	return err == nil
}

const (
	// OwnedName is the name, in the state folder, of the record of lists.
	OwnedName = "lists.state"
	ownedHead = "edgeguard lists 1 " // and the hash of the rest
	// mostOwned bounds the lists, and mostOwnedBytes what is read of a record.
	mostOwned      = 256
	mostOwnedBytes = 1 << 20
)

// SaveOwned writes the record of lists to a file, whole or not at all.
func SaveOwned(path string, lists []Owned) error {
	if len(lists) > mostOwned {
		return fmt.Errorf("%s: %d lists: not over %d: delete unused ones (edgeguard doctor names them)", path, len(lists), mostOwned)
	}
	body, err := json.Marshal(lists)
	if err != nil {
		return err
	}
	at, err := safepath.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	_, err = writeFile(at, func(w *bufio.Writer) {
		fmt.Fprintf(w, "%s%016x\n", ownedHead, xxhash.Sum64(body))
		w.Write(body)
	})
	return err
}

// LoadOwned reads what [SaveOwned] wrote. The error is fs.ErrNotExist's where
// there is none, and says what is wrong with one that cannot be used: one of
// another user too, since it names commands that would be run.
func LoadOwned(path string) ([]Owned, error) {
	at, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }()
	f, err := at.OpenOwn()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostOwnedBytes+1))
	if err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	switch {
	case len(text) > mostOwnedBytes:
		return nil, fmt.Errorf("%s: over %d bytes: it is not a record of lists", path, mostOwnedBytes)
	case !bytes.HasPrefix(head, []byte(ownedHead)):
		return nil, fmt.Errorf("%s: it is not a record of lists, or one of a later version", path)
	case string(head[len(ownedHead):]) != fmt.Sprintf("%016x", xxhash.Sum64(body)):
		return nil, fmt.Errorf("%s: it is damaged: the checksum differs", path)
	}
	var lists []Owned
	if err := json.Unmarshal(body, &lists); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lists) > mostOwned {
		return nil, fmt.Errorf("%s: %d lists: not over %d", path, len(lists), mostOwned)
	}
	return lists, nil
}

// mostLooked bounds how many files of a folder are looked at.
const mostLooked = 4096

// Written returns the files of a folder that begin as edgeguard's lists do, at most
// some thousand. A plain list begins like nothing and is not among them.
func Written(folder string) (files []string) {
	d, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(mostLooked)
	for _, e := range entries {
		file := filepath.Join(folder, e.Name())
		if e.Type().IsRegular() && begins(file, heading) {
			files = append(files, file)
		}
	}
	return files
}

func begins(file, text string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(text))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == text
}
