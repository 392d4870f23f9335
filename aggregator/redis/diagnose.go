package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// signs are the words by which Redis says what it lacks, most specific first.
// A text holds at most one %s: the mend's own detail, from detail.
var signs = []struct{ sign, kind, text string }{
	{"WRONGPASS", "password", "Redis refuses the user or the password: see fleet.password_file, which is read again at each try"},
	{"NOAUTH", "password", "Redis asks for a password: set fleet.password_file"},
	{"invalid username-password", "password", "Redis refuses the user or the password: see fleet.password_file, which is read again at each try"},
	{"without any password configured", "password", "Redis knows no password for its default user, and one was given: take it out, or name fleet.user"},
	{"fleet.password_file:", "password", "the password cannot be read"},
	{"NOPERM", "permission", "the node's user may not do this; its ACL line: %s"},
	{"ACL failure", "permission", "the node's user may not do this; its ACL line: %s"},
	{"no permissions", "permission", "the node's user may not do this; its ACL line: %s"},
	{"can't run this command", "permission", "the node's user may not do this; its ACL line: %s"},
	{"unknown command", "too old", "this Redis knows no functions: Redis 7 or Valkey is needed"},
	{"Function not found", "library", "Redis has lost or never had the function library " + Library + ": run `edgeguard fleet install`"},
	{"beat: an answer of", "library", "the function library " + Library + " in Redis is another build's, and older: run `edgeguard fleet install`"},
	{"EDGEGUARD partitions", "partitions", "the fleet counts in another number of partitions than this node: set the same fleet.partitions on all nodes"},
	{"EDGEGUARD clock", "clock", "this node's clock and the fleet's are more than 5 s apart, and its counts are refused: set the clock right (chrony, systemd-timesyncd), here or on Redis"},
	{"LOADING", "loading", "Redis is loading its data: waiting"},
	{"OOM", "full", "Redis is full: raise maxmemory (edgeguard keeps about 1 KiB a suspect)"},
	{"READONLY", "read only", "this Redis is a replica: the old master after a fail-over, or the wrong address in fleet.redis"},
	{"MISCONF", "read only", "Redis takes no writes because it cannot save its data: see its log"},
	{"NOREPLICAS", "read only", "Redis takes no writes because replicas are missing (min-replicas-to-write)"},
	{"MASTERDOWN", "cluster", "a replica has lost its master: waiting for the fail-over"},
	{"CLUSTERDOWN", "cluster", "the Cluster is down: waiting for its masters"},
	{"TRYAGAIN", "cluster", "the Cluster is moving slots: waiting"},
	{"MOVED", "cluster", "the Cluster has moved slots: waiting; if this stays, name the Cluster's nodes in fleet.redis"},
	{"ASK ", "cluster", "the Cluster is moving slots: waiting"},
	{"CROSSSLOT", "cluster", "the Cluster finds keys of one call in different slots: waiting"},
	{"cluster support disabled", "not a cluster", "fleet.redis names a Cluster and this Redis is none: name one address"},
	{"BUSY", "busy", "Redis is busy with another script"},
	{"max number of clients", "busy", "Redis takes no more connections: raise maxclients"},
	{"DENIED", "protected", "Redis runs in protected mode: give it a password or bind it to an address"},
	{"all sentinels", "sentinel", "no Sentinel knows the master: see fleet.sentinel and the Sentinels' addresses"},
}

// diagnose says in words what err means. It is not for nil.
func (c *Config) diagnose(err error) Fault {
	text := err.Error()
	for _, s := range signs {
		if !strings.Contains(text, s.sign) {
			continue
		}
		mend := s.text
		if strings.Contains(mend, "%s") {
			mend = fmt.Sprintf(mend, ACL(c.User, c.Namespace))
		}
		return Fault{Kind: s.kind, Text: mend + " (" + shorten(text) + ")", patience: answering}
	}
	return Fault{Kind: connectKind(err), Text: connectText(err) + " (" + shorten(text) + ")", patience: unreachable}
}

// Explain puts an error of a Pusher into words for an operator: what is wrong
// with Redis, and the mend.
func (c *Config) Explain(err error) error { return errors.New(c.diagnose(err).Text) }

// connectKind names what is not Redis's own answer.
func connectKind(err error) string {
	var redisErr goredis.Error
	switch {
	case isTLS(err):
		return "tls"
	case isTimeout(err):
		return "timeout"
	case errors.As(err, &redisErr):
		return "refused"
	}
	return "unreachable"
}

func connectText(err error) string {
	switch connectKind(err) {
	case "tls":
		return "the secured connection to Redis fails: see fleet.tls, and whether Redis speaks TLS there"
	case "timeout":
		return "Redis does not answer in time: it hangs, the way to it does, or it speaks no TLS there (fleet.tls)"
	case "refused":
		return "Redis refuses"
	}
	return "Redis cannot be reached: see that it runs, fleet.redis, and whether it wants TLS (rediss://)"
}

func isTLS(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &record) || errors.As(err, &alert) || strings.Contains(err.Error(), "tls: ")
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, goredis.ErrPoolTimeout) || (errors.As(err, &timeout) && timeout.Timeout())
}

// shorten bounds a server's words, which may be anybody's.
func shorten(text string) string {
	const most = 160
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
