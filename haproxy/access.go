package haproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"

	"edgeguard/internal/certfiles"
)

// Who may speak to edgeguard as HAProxy. HAProxy's own protocols have no passwords: who can
// connect can read what was counted and have any address blocked or released. So a listener
// admits the processes of one user of this host, over a unix socket, or the holders of a
// certificate, over TLS.
//
// The kernel vouches for both ends of a unix socket. Its file has an access list
// that names the one user, and the credentials of each connection are compared
// again. Mode 0666 and the credentials alone would let any user fill the queue of
// connections; a group would require that edgeguard joins HAProxy's, and with it
// whatever else that group may do.

// Door is how one listener admits. Exactly one of User and TLS is set.
type Door struct {
	User string // a name or a number: whose processes may connect to a unix socket
	TLS  TLS
}

// TLS is the files of a listener over TCP, in PEM.
type TLS struct {
	Certificate, Key string // of edgeguard, which HAProxy verifies
	ClientCA         string // who signed the certificates of the HAProxies
}

// errUser is that a connection is of a process of another user.
var errUser = errors.New("another user")

// uid returns the number of the door's user.
func (d Door) uid() (int, error) {
	u, err := user.Lookup(d.User)
	if err == nil {
		return strconv.Atoi(u.Uid)
	}
	if number, err := strconv.ParseUint(d.User, 10, 31); err == nil {
		return int(number), nil
	}
	return 0, fmt.Errorf("there is no user %s on this host: set `user` to that of HAProxy, which `user` in the section global of haproxy.cfg names", d.User)
}

// Enter admits a connection, or returns why not. What it returns is to be spoken over.
type Enter func(context.Context, net.Conn) (net.Conn, error)

// Open prepares a listener that was made for its owner alone, and returns how its
// connections enter: by the user of their process, or by a handshake of TLS.
func (d Door) Open(l net.Listener) (Enter, error) {
	if l.Addr().Network() != "unix" {
		c, err := d.TLS.config()
		return func(ctx context.Context, nc net.Conn) (net.Conn, error) {
			t := tls.Server(nc, c)
			return t, t.HandshakeContext(ctx)
		}, err
	}
	uid, err := d.uid()
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, nc net.Conn) (net.Conn, error) { return nc, d.is(nc, uid) }, admit(l.Addr().String(), uid)
}

// is returns an error unless the process at the other end of a connection is of
// the door's user.
func (d Door) is(c net.Conn, uid int) error {
	other, pid, err := credentials(c)
	if err != nil {
		return err
	}
	if other == uid {
		return nil
	}
	return fmt.Errorf("%w: process %d of user %s connected, and only those of %s may: if that is HAProxy, set `user` to its user", errUser, pid, name(other), d.User)
}

// name returns a user's name, or its number where it has none.
func name(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

// config is for HAProxies that show a certificate, and for no others.
func (t TLS) config() (*tls.Config, error) {
	if t.ClientCA == "" {
		return nil, errors.New("client_ca_file is not set: whoever connects could speak as HAProxy")
	}
	return certfiles.Files{Certificate: t.Certificate, Key: t.Key, ClientCA: t.ClientCA}.Config()
}
