package outbound

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// Why returns why a request failed, as one line. Host is who was asked, named without what else
// is in the request's address; empty for "it". None of the secrets is in the line.
func Why(host string, err error, secrets ...string) error {
	if in := new(url.Error); errors.As(err, &in) {
		err = in.Err // without the address
	}
	who := cmp.Or(host, "it")
	if call := new(net.OpError); errors.As(err, &call) && call.Op == "proxyconnect" {
		who = "the proxy of the environment"
	}
	if text := words(who, err); text != "" {
		return errors.New(text)
	}
	text := Shown(Hide(err.Error(), secrets...)) // net/http quotes what a server sent
	if host != "" {
		text = host + ": " + text
	}
	return errors.New(text)
}

// words returns what an error of net/http means, as said of who. It is empty where the error
// has no better words than its own.
func words(who string, err error) string {
	var name *net.DNSError
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var slow net.Error
	var noTLS tls.RecordHeaderError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name %s is not found; check it, and this host's DNS", name.Name)
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s cannot be looked up: this host's DNS does not answer", name.Name)
	case errors.As(err, &slow) && slow.Timeout():
		return who + " did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return who + " refuses the connection: nothing listens there"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return who + " cannot be reached: this host has no route to it"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), closedIdle(err):
		return who + " closed the connection before it answered"
	case errors.As(err, &unknown):
		return who + " has a certificate of an unknown authority; set ca_file"
	case errors.As(err, &wrongHost):
		return who + " has a certificate for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return who + " has a certificate that has expired, or is not valid yet, by this host's clock"
	case errors.As(err, &noTLS), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return who + " answers without TLS; the port is another one, or url begins with http://"
	}
	return ""
}

// closedIdle reports whether the other side closed the connection before a request was
// written: net/http does not export that error.
func closedIdle(err error) bool {
	return strings.HasSuffix(err.Error(), "server closed idle connection")
}
