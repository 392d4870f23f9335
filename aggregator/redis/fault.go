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
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
	"edgeguard/internal/safetext"
)

// signs are the words in Redis' errors, most specific first, with the fault
// that each means. A text has at most one %s, for the ACL line.
var signs = []struct{ sign, kind, text string }{
	{"WRONGPASS", "password", "Redis refuses the user or the password: check fleet.password_file, which is read at each try"},
	{"NOAUTH", "password", "Redis requires a password: set fleet.password_file"},
	{"invalid username-password", "password", "Redis refuses the user or the password: check fleet.password_file, which is read at each try"},
	{"without any password configured", "password", "Redis' default user has no password, and one was given: remove it, or set fleet.user"},
	{"fleet.password_file:", "password", "the password cannot be read"},
	{"NOPERM", "permission", "the node's user may not do this; its ACL line: %s"},
	{"ACL failure", "permission", "the node's user may not do this; its ACL line: %s"},
	{"no permissions", "permission", "the node's user may not do this; its ACL line: %s"},
	{"can't run this command", "permission", "the node's user may not do this; its ACL line: %s"},
	{"unknown command", "too old", "this Redis has no functions: use Redis 7 or later, or Valkey"},
	{"fleet.key_file:", "key", "the fleet key cannot be read, and the node works alone: make a key with `edgeguard fleet key`, the same on all nodes"},
	{"EDGEGUARD arguments", "library", "the function library " + LibraryName + " in Redis is of another build: run `edgeguard fleet install`"},
	{"Function not found", "library", "the function library " + LibraryName + " is not in Redis: run `edgeguard fleet install`"},
	{"heartbeat: an answer of", "library", "the function library " + LibraryName + " in Redis is of another build: run `edgeguard fleet install`"},
	{"EDGEGUARD partitions", "partitions", "the fleet uses another number of partitions than this node: set the same fleet.partitions on all nodes"},
	{"EDGEGUARD clock", "clock", "this node's clock and the fleet's differ by more than 5 s, and its counts are refused: set the clock (chrony, systemd-timesyncd), here or on Redis' host"},
	{"answer of Redis is too large", "too large", "another client wrote more to Redis than nodes do: the list and the heartbeats there are deleted, and all nodes fill them again; change the nodes' Redis password"},
	{"LOADING", "loading", "Redis is loading its data: waiting"},
	{"OOM", "full", "Redis is full: raise maxmemory (edgeguard needs about 1 KiB a suspect)"},
	{"READONLY", "read only", "this Redis is a replica: it was the master before a fail-over, or fleet.redis is wrong"},
	{"MISCONF", "read only", "Redis refuses writes because it cannot save its data: check its log"},
	{"NOREPLICAS", "read only", "Redis refuses writes because replicas are missing (min-replicas-to-write)"},
	{"MASTERDOWN", "cluster", "a replica has lost its master: waiting for the fail-over"},
	{"CLUSTERDOWN", "cluster", "the Cluster is down: waiting for its masters"},
	{"TRYAGAIN", "cluster", "the Cluster is moving slots: waiting"},
	{"MOVED", "cluster", "the Cluster has moved slots: waiting; if this lasts, list the Cluster's nodes in fleet.redis"},
	{"ASK ", "cluster", "the Cluster is moving slots: waiting"},
	{"CROSSSLOT", "cluster", "the Cluster finds keys of one call in different slots: waiting"},
	{"cluster support disabled", "not a cluster", "fleet.redis names a Cluster, and this Redis is not one: name one address"},
	{"BUSY", "busy", "Redis is busy with another script"},
	{"max number of clients", "busy", "Redis accepts no more connections: raise maxclients"},
	{"DENIED", "protected", "Redis runs in protected mode: set a password or bind it to an address"},
	{"all sentinels", "sentinel", "no Sentinel knows the master: check fleet.sentinel and the Sentinels' addresses"},
}

// The longest waits between two tries to join.
const (
	answering   = 400 * time.Millisecond
	unreachable = time.Second
)

// diagnose returns the fault that err means: why a node is cut off from its fleet, and
// how to fix it. err is not nil.
func (c *Config) diagnose(err error) fleet.Fault { return faultOf(err, c.User, c.Namespace) }

// Explain turns an error of a Pusher into one for an operator: what is wrong
// with Redis, and how to fix it.
func (c *Config) Explain(err error) error { return errors.New(c.diagnose(err).Text) }

// faultOf returns the fault that err means, for a node of this user and namespace;
// err is not nil.
func faultOf(err error, user, namespace string) fleet.Fault {
	text := err.Error()
	for _, s := range signs {
		if !strings.Contains(text, s.sign) {
			continue
		}
		fix := s.text
		if strings.Contains(fix, "%s") {
			fix = fmt.Sprintf(fix, ACLLine(user, namespace))
		}
		// After what is too large was deleted, nothing keeps a node out for long.
		return fleet.Fault{Kind: s.kind, Text: fix + " (" + shorten(text) + ")", Patience: answering, Answered: s.kind != "too large"}
	}
	return fleet.Fault{Kind: connectKind(err), Text: connectText(err) + " (" + shorten(text) + ")", Patience: unreachable, Answered: connectKind(err) == "refused"}
}

// connectKind names an error that is not covered by signs.
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
		return "the TLS connection to Redis fails: check fleet.tls, and whether Redis uses TLS at this address"
	case "timeout":
		return "Redis does not answer in time: check the server and the network, and whether it uses TLS at this address (fleet.tls)"
	case "refused":
		return "Redis refuses the command"
	}
	return "Redis cannot be reached: check that it runs, the address in fleet.redis, and whether it requires TLS (rediss://)"
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

// shorten cuts and cleans a server's text, which may be any client's.
func shorten(text string) string {
	return safetext.Strip(safetext.Cut(text, 160))
}
