// Package sockets keeps listening sockets open while the servers on them change. That
// is through a reload, and from systemd to the node.
package sockets

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"edgeguard/internal/unixsocket"
)

// Sockets holds the listening sockets apart from the servers that use them, so
// that a reload passes a port to the next server while clients can connect at
// any moment. It is safe for concurrent use. Make one with [New].
type Sockets struct {
	mu   sync.Mutex // guards all below
	open map[string]reusable
	// passed are those that systemd opened and that are not in use yet. theirs are
	// the addresses of all that systemd opened: it sets their mode and group.
	passed map[string]reusable
	theirs map[string]bool
	warn   func(text string)
}

// reusable is a socket at which several servers can listen in turn.
type reusable interface {
	net.Listener
	File() (*os.File, error)
}

// New returns sockets of which none is open. warn is called about a socket of
// systemd that differs from the config.
func New(warn func(text string)) *Sockets {
	return &Sockets{open: make(map[string]reusable), passed: make(map[string]reusable), theirs: make(map[string]bool), warn: warn}
}

// TakeOver uses the sockets of sd_listen_fds(3): descriptors from 3 on,
// LISTEN_FDS of them, if LISTEN_PID is us.
func (s *Sockets) TakeOver(getenv func(string) string) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return
	}
	count, _ := strconv.Atoi(getenv("LISTEN_FDS"))
	for fd := 3; fd < 3+count; fd++ {
		file := os.NewFile(uintptr(fd), "passed socket")
		l, err := net.FileListener(file)
		_ = file.Close() // l has its own copy
		if h, ok := l.(reusable); err == nil && ok {
			s.passed[addressOf(l)] = h
			s.theirs[addressOf(l)] = true
		}
	}
}

// addressOf writes a listener's address as the config does.
func addressOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return l.Addr().String()
}

// Open returns a listener at host:port or unix:PATH; access says who may connect
// to the latter. Closing the listener does not close the port: see [Sockets.Keep].
func (s *Sockets) Open(address string, access unixsocket.Access) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.open[address]
	if !ok {
		var err error
		if h, ok = s.passed[address]; ok {
			delete(s.passed, address)
		} else if h, err = listen(address, access); err != nil {
			return nil, err
		}
		s.open[address] = h
	}
	if err := s.give(address, access); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	file, err := h.File()
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	defer func() { _ = file.Close() }() // the listener has its own copy
	return net.FileListener(file)
}

// give sets a socket's mode and group, which a reload may have changed. About a
// socket that systemd opened it only warns.
func (s *Sockets) give(address string, access unixsocket.Access) error {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return nil
	}
	if !s.theirs[address] {
		return access.Give(path)
	}
	if err := access.Compare(path); err != nil {
		s.warn(fmt.Sprintf("%s was opened by systemd: %v; SocketMode= of edgeguard.socket and the group of the folder say who may connect", address, err))
	}
	return nil
}

// Keep closes the sockets that the config no longer has.
func (s *Sockets) Keep(wanted map[string]unixsocket.Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, h := range s.open {
		if _, ok := wanted[address]; !ok {
			_ = h.Close()
			delete(s.open, address)
		}
	}
}

// Close closes all sockets, those too that were never used.
func (s *Sockets) Close() {
	s.Keep(nil)
	for _, h := range s.passed {
		_ = h.Close()
	}
}

// listen opens a socket.
func listen(address string, access unixsocket.Access) (reusable, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, explainListen(address, err)
		}
		return l.(*net.TCPListener), nil
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := unixsocket.Listen(path, access)
	if err != nil {
		return nil, explainListen(address, err)
	}
	return l, nil
}

// removeStale removes the socket file of a node that was killed: one that
// refuses connections. Anything else at the path is left alone.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listen at unix:%s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen at unix:%s: the file there is not a socket: remove it, or choose another path", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("listen at unix:%s: another program answers there: is edgeguard already running?", path)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
	}
	return nil
}

// explainListen adds how to fix it.
func explainListen(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen at %s: the address is in use: is edgeguard already running? If not, choose another one in `listen`, or with --listen and --admin of a trial", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listen at %s: permission denied: choose a port above 1023, or a folder that this user may write to: %w", address, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen at %s: this host does not have that address: %w", address, err)
	}
	return fmt.Errorf("listen at %s: %w", address, err)
}
