// Package safepath finds the folder in which a file is to be written. It refuses a path
// that another user of this host could have made. Otherwise, for a process of root,
// such a user's link could have any file of the host overwritten.
package safepath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// mostLinks is how many links a way may have, as for the kernel.
const mostLinks = 40

// ErrFolder is wrapped where the way ends at a folder and not at a file.
var ErrFolder = errors.New("a folder, not a file")

// Place is where a file lies, or would: a folder that stays the same whatever is
// renamed, and a name in it that is not a link. The caller closes it.
type Place struct {
	*os.Root
	Name string // of the file in the folder
	Path string // of the file, without links

	system int // who owns the root
}

// Open finds the place of a file. The folder must be there.
//
// It refuses links that belong neither to this user nor to the system, folders
// that are world-writable and have no sticky bit, and what others put into
// a world-writable folder. What a group may write is left to
// [Doubts].
func Open(path string) (*Place, error) {
	w, err := walkTo(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.at)
	if err != nil {
		return nil, err
	}
	// Where a folder of others lies on the way, it may have been replaced since.
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, w.folder) {
		_ = root.Close()
		return nil, fmt.Errorf("%s changed during the check", w.at)
	}
	return &Place{Root: root, Name: w.name, Path: filepath.Join(w.at, w.name), system: w.system}, nil
}

// OpenOwn opens the file for reading, if it is a file, and of this user or the
// system.
func (p *Place) OpenOwn() (*os.File, error) {
	info, err := p.Lstat(p.Name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", p.Path)
	}
	f, err := p.Root.Open(p.Name)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !trusted(ownerOf(now), p.system) {
		err = fmt.Errorf("%s belongs to user %s and is not trusted: remove it, or make it yours with chown", p.Path, userName(ownerOf(now)))
	}
	if err == nil && !os.SameFile(now, info) {
		err = fmt.Errorf("%s changed during the check", p.Path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadOwn returns what the file at a path has, up to most bytes of it: what has more is
// cut. The error is fs.ErrNotExist where there is no file, and otherwise that of Open or
// OpenOwn.
func ReadOwn(path string, most int64) ([]byte, error) {
	place, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = place.Close() }()
	f, err := place.OpenOwn()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, most))
}

// Sync makes a rename in the folder survive a crash of the machine.
func (p *Place) Sync() error {
	d, err := p.Root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // it was only read
	return d.Sync()
}

// Doubts returns who else could replace a file that Open does not refuse: the
// owner of its folder, or a group. The error is Open's.
func Doubts(path string) (doubts []string, err error) {
	w, err := walkTo(path)
	if err != nil {
		return nil, err
	}
	if !w.trusted(ownerOf(w.folder)) {
		doubts = append(doubts, fmt.Sprintf("%s belongs to user %s, who can replace the file", w.at, userName(ownerOf(w.folder))))
	}
	if w.folder.Mode().Perm()&0o020 != 0 && w.folder.Mode()&fs.ModeSticky == 0 {
		doubts = append(doubts, fmt.Sprintf("%s is group-writable (mode %04o), so its group can replace the file: `chmod g-w %s` unless that is needed",
			w.at, w.folder.Mode().Perm(), w.at))
	}
	return doubts, nil
}

// walk goes from the root to a file, link by link.
type walk struct {
	at     string      // the folder so far, without links
	folder fs.FileInfo // its own
	name   string      // of the file, at the end
	rest   []string    // of the way
	links  int
	system int // who owns the root: the system, also in a user namespace
}

func walkTo(path string) (*walk, error) {
	if !filepath.IsAbs(path) { // filepath.Abs would take "link/.." for nothing
		wd, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		path = wd + string(filepath.Separator) + path
	}
	w := &walk{rest: split(path)}
	if err := w.begin(); err != nil {
		return nil, err
	}
	w.system = ownerOf(w.folder)
	for len(w.rest) > 0 {
		w.name, w.rest = w.rest[0], w.rest[1:]
		if err := w.step(len(w.rest) == 0); err != nil {
			return nil, err
		}
	}
	if w.name == "" {
		return nil, fmt.Errorf("%s is %w: choose another name", path, ErrFolder)
	}
	return w, nil
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}

func (w *walk) begin() (err error) {
	w.at = string(filepath.Separator)
	w.folder, err = os.Lstat(w.at)
	return err
}

// step goes to the next name of the way; last says that it is the file's.
func (w *walk) step(last bool) error {
	switch w.name {
	case ".":
		w.name = ""
		return nil
	case "..":
		return w.enter(filepath.Dir(w.at))
	}
	full := filepath.Join(w.at, w.name)
	info, err := os.Lstat(full)
	switch {
	case last && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return w.follow(full, info)
	case everybody(w.folder) && !w.trusted(ownerOf(info)):
		return fmt.Errorf("%s belongs to user %s, in a world-writable folder: remove it, or choose another folder", full, userName(ownerOf(info)))
	case last && !info.IsDir():
		return nil
	}
	return w.enter(full)
}

// follow goes on where a link leads.
func (w *walk) follow(full string, info fs.FileInfo) error {
	if !w.trusted(ownerOf(info)) {
		return fmt.Errorf("%s is a link of user %s, who could overwrite any file through it: remove it, or, if it is intended, `chown -h root %s`",
			full, userName(ownerOf(info)), full)
	}
	if w.links++; w.links > mostLinks {
		return fmt.Errorf("%s: too many links", full)
	}
	to, err := os.Readlink(full)
	if err != nil {
		return err
	}
	w.name = ""
	w.rest = append(split(to), w.rest...)
	if filepath.IsAbs(to) {
		return w.begin()
	}
	return nil
}

// enter goes into a folder.
func (w *walk) enter(full string) error {
	info, err := os.Lstat(full)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: full, Err: errors.New("not a directory")}
	case everybody(info) && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("the folder %s is world-writable (mode %04o), so any user can replace the file: `chmod o-w %s`, or choose another folder",
			full, info.Mode().Perm(), full)
	}
	w.at, w.folder, w.name = full, info, ""
	return nil
}

func (w *walk) trusted(uid int) bool { return trusted(uid, w.system) }

// trusted reports whether what a user owns is as good as this process's own.
func trusted(uid, system int) bool {
	return uid < 0 || uid == 0 || uid == os.Geteuid() || uid == system
}

func everybody(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// Other returns the name of the user who owns the file at a path, if that is not this
// process's; empty where it is, or where there is no file.
func Other(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if uid := ownerOf(info); uid >= 0 && uid != os.Geteuid() {
		return userName(uid)
	}
	return ""
}

// Planted returns the name of the user who put what is at a path into a world-writable
// folder, if that is neither this user, nor root, nor who owns the file beside.
func Planted(path, beside string) string {
	info, err := os.Lstat(path)
	folder, folderErr := os.Stat(filepath.Dir(path))
	own, ownErr := os.Stat(beside)
	if err != nil || folderErr != nil || ownErr != nil || !everybody(folder) || trusted(ownerOf(info), ownerOf(own)) {
		return ""
	}
	return userName(ownerOf(info))
}

// User returns the name of this process's user.
func User() string { return userName(os.Geteuid()) }

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
