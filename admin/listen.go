package admin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// socketMode lets the owner and the group of a unix socket connect.
const socketMode = 0o660

// Listen listens at host:port or unix:PATH. It refuses a TCP address that
// strangers could reach while there is no token. A unix socket gets mode 0660
// before anyone can connect, and replaces one that nobody answers on.
func (s *Server) Listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		l, err := listenUnix(path)
		if err != nil {
			return nil, fmt.Errorf("admin %s: %w", address, err)
		}
		return l, nil
	}
	_, _, err := net.SplitHostPort(address) // the empty text would resolve to any port
	if err != nil {
		return nil, fmt.Errorf("admin: %w; write host:port, such as 127.0.0.1:9190, or unix:/run/edgeguard/admin.sock", err)
	}
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("admin %s: %w", address, err)
	}
	if err := s.mayListen(tcp); err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("admin %s: %w", address, err)
	}
	return l, nil
}

// mayListen refuses an address beyond loopback while there is no token.
func (s *Server) mayListen(address net.Addr) error {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || s.token != nil || tcp.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("admin %s: refuses to listen beyond loopback without a token: anyone could read who is blocked; set a token_file, or listen at 127.0.0.1 or at a unix socket", address)
}

// unixListener removes its socket when it is closed. (Go's own removal would
// look for the name that it was made under.)
type unixListener struct {
	*net.UnixListener
	path string
}

func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *unixListener) Close() error {
	err := os.Remove(l.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.UnixListener.Close())
}

// listenUnix makes the socket under another name, gives it its mode, and then
// its name: under the umask alone it might be open to all for a moment.
func listenUnix(path string) (net.Listener, error) {
	if err := vacant(path); err != nil {
		return nil, err
	}
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(temporary, socketMode), os.Rename(temporary, path)); err != nil {
		return nil, errors.Join(err, os.Remove(temporary), l.Close())
	}
	return &unixListener{l, path}, nil
}

// vacant reports an error if there is something at path that must not be
// replaced: a file, or a socket that somebody answers on.
func vacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return errors.New("there is something else than a socket; remove it, or choose another path")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return nil // left over from a process that was killed
	}
	_ = c.Close()
	return errors.New("another process answers there; stop it, or choose another path")
}

// isLocalHost reports whether a Host header names this machine's loopback, as
// it does for everybody but a browser that a stranger's DNS answer sent here.
func isLocalHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
