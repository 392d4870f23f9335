package nodeaddr

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"edgeguard/internal/safepath"
)

// longest is how long a socket's path may be: the shortest bound of a system that
// edgeguard runs on is 104 bytes.
const longest = 100

// answerTime bounds the wait for a node to take a connection.
const answerTime = time.Second

// Host says where the folder for the unix socket of a node without a config may be on a
// host. Commands of the same user find the socket there.
//
// The folder is the user's alone: what another user of the host laid in its place is
// refused by the node and by the commands, since a command sends what an operator
// orders and prints the link that it receives.
type Host struct {
	Runtime string // XDG_RUNTIME_DIR
	User    int
	Temp    string // the folder for temporary files
	Run     string // /run
}

// Here is this process on its host.
func Here() Host {
	return Host{Runtime: os.Getenv("XDG_RUNTIME_DIR"), User: os.Geteuid(), Temp: os.TempDir(), Run: "/run"}
}

// candidates are the folders that may be used, the best first. The name in a shared
// folder has the user in it, so that users do not meet there.
func (h Host) candidates() []string {
	own := "edgeguard-" + strconv.Itoa(h.User)
	var all []string
	if filepath.IsAbs(h.Runtime) {
		all = append(all, filepath.Join(h.Runtime, "edgeguard"))
	}
	all = append(all, filepath.Join(h.Run, "user", strconv.Itoa(h.User), "edgeguard"))
	if h.User == 0 {
		all = append(all, filepath.Join(h.Run, own))
	}
	return append(all, filepath.Join(h.Temp, own))
}

// folder returns the first candidate in whose parent nobody else can replace it. The
// node and the commands make the same choice, since what is in the folder does not
// change it.
func (h Host) folder() (string, error) {
	var doubts []error
	for _, folder := range h.candidates() {
		found, err := safepath.Doubts(filepath.Join(filepath.Dir(folder), "x"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			doubts = append(doubts, err)
		case len(found) > 0:
			doubts = append(doubts, errors.New(found[0]))
		case len(folder)+len("/4194304.sock") > longest:
			doubts = append(doubts, fmt.Errorf("%s is too long for a socket", folder))
		default:
			return folder, nil
		}
	}
	return "", fmt.Errorf("no folder for a socket: set XDG_RUNTIME_DIR to one of your own: %w", errors.Join(doubts...))
}

// check refuses a folder that others can enter or replace.
func check(folder string) error {
	doubts, err := safepath.Doubts(filepath.Join(folder, "x"))
	if err != nil {
		return err
	}
	if len(doubts) > 0 {
		return errors.New(doubts[0])
	}
	if info, err := os.Stat(folder); err != nil {
		return err
	} else if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o): `chmod 700 %s`", folder, info.Mode().Perm(), folder)
	}
	return nil
}

// New makes the folder, if it is missing, and returns the path at which this process
// may listen. It removes the sockets of nodes that were killed.
func (h Host) New() (string, error) {
	folder, err := h.folder()
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(folder, 0o700); err == nil {
		err = os.Chmod(folder, 0o700) // the umask may have taken our own rights
		if err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := check(folder); err != nil {
		return "", err
	}
	for _, path := range sockets(folder) {
		if refuses(path) && ended(path) {
			_ = os.Remove(path)
		}
	}
	own := filepath.Join(folder, strconv.Itoa(os.Getpid())+suffix)
	if _, err := os.Lstat(own); err == nil { // in another namespace a process has our number
		return "", fmt.Errorf("%s is in use: set XDG_RUNTIME_DIR to another folder", own)
	}
	return own, nil
}

// Find returns the sockets at which nodes listen, in the order of their names.
func (h Host) Find() ([]string, error) {
	folder, err := h.folder()
	if err != nil {
		return nil, nil // there is no node either
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := check(folder); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sockets(folder), refuses), nil
}

// One returns the address of the only node, "" if there is none. Several are an error
// that names them.
func (h Host) One() (string, error) {
	found, err := h.Find()
	if err != nil {
		return "", fmt.Errorf("the socket of a node without a config: %w; or use --admin ADDRESS", err)
	}
	if len(found) == 0 {
		return "", nil
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%d nodes run here without a config: choose one with --admin unix:%s", len(found), strings.Join(found, ", or --admin unix:"))
	}
	return "unix:" + found[0], nil
}

const suffix = ".sock"

// sockets returns the sockets in the folder that have a node's name.
func sockets(folder string) []string {
	entries, _ := os.ReadDir(folder)
	var found []string
	for _, e := range entries {
		if e.Type() == fs.ModeSocket && number(e.Name()) > 0 {
			found = append(found, filepath.Join(folder, e.Name()))
		}
	}
	return found
}

// number returns the process in a socket's name, 0 if the name is another.
func number(name string) int {
	text, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}

// refuses reports whether no process listens at the socket.
func refuses(path string) bool {
	c, err := net.DialTimeout("unix", path, answerTime)
	if err == nil {
		_ = c.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// ended reports whether the process of the socket is not there. A node that has just
// bound its socket refuses connections for a moment, too. Our own number is that of a
// process before us, as in a container, where every program is the first.
func ended(path string) bool {
	pid := number(filepath.Base(path))
	if pid == os.Getpid() {
		return true
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	defer func() { _ = process.Release() }()
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
