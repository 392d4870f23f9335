package node

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

// sockets holds the listening sockets apart from the servers that use them, so
// that a reload gives a port to the next server without a moment in which
// nobody can connect. Safe for concurrent use.
type sockets struct {
	mu   sync.Mutex // guards all below
	held map[string]held
	// passed are those that systemd opened for us and nobody asked for yet, and
	// theirs all of them, by address: their mode and group are systemd's.
	passed map[string]held
	theirs map[string]bool
	// warn hears of a passed socket that is not as the config has it.
	warn func(text string)
}

// held is a socket that can be listened at by several servers in turn.
type held interface {
	net.Listener
	File() (*os.File, error)
}

// emptySockets returns sockets of which none is open.
func emptySockets() *sockets {
	return &sockets{held: make(map[string]held), passed: make(map[string]held), theirs: make(map[string]bool), warn: func(string) {}}
}

// takeOver uses the sockets of sd_listen_fds(3): descriptors from 3 on,
// LISTEN_FDS of them, if LISTEN_PID is us.
func (s *sockets) takeOver(getenv func(string) string) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return
	}
	count, _ := strconv.Atoi(getenv("LISTEN_FDS"))
	for fd := 3; fd < 3+count; fd++ {
		file := os.NewFile(uintptr(fd), "passed socket")
		l, err := net.FileListener(file)
		_ = file.Close() // l has its own copy
		if h, ok := l.(held); err == nil && ok {
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

// open gives a listener at host:port or unix:PATH, to which who has access may
// connect. Closing it does not close the port: see keep.
func (s *sockets) open(address string, access unixsocket.Access) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held[address]
	if !ok {
		var err error
		if h, ok = s.passed[address]; ok {
			delete(s.passed, address)
		} else if h, err = listen(address, access); err != nil {
			return nil, err
		}
		s.held[address] = h
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

// give sets a socket's mode and group, which a reload may have changed; of one
// that systemd opened it only says what is wrong.
func (s *sockets) give(address string, access unixsocket.Access) error {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return nil
	}
	if !s.theirs[address] {
		return access.Give(path)
	}
	if err := access.Compare(path); err != nil {
		s.warn(fmt.Sprintf("%s was opened by systemd: %v; SocketMode= and SocketGroup= in edgeguard.socket say who may connect", address, err))
	}
	return nil
}

// keep closes the sockets that the config does not want any more.
func (s *sockets) keep(wanted map[string]unixsocket.Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, h := range s.held {
		if _, ok := wanted[address]; !ok {
			_ = h.Close()
			delete(s.held, address)
		}
	}
}

// close closes all, those that nobody asked for too.
func (s *sockets) close() {
	s.keep(nil)
	for _, h := range s.passed {
		_ = h.Close()
	}
}

// listen opens a socket.
func listen(address string, access unixsocket.Access) (held, error) {
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

// removeStale removes the socket file of a node that was killed: one at which
// nobody answers. Anything else at the path is left alone.
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

// explainListen adds what to do about it.
func explainListen(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen at %s: the address is in use: is edgeguard already running? If not, choose another one in `listen`", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listen at %s: permission denied: choose a port above 1023, or a folder that this user may write to: %w", address, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen at %s: this host does not have that address: %w", address, err)
	}
	return fmt.Errorf("listen at %s: %w", address, err)
}
