package redis

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"edgeguard/aggregator/fleet"
)

// The defaults of Config.
const (
	DefaultPartitions = 16
	DefaultPush       = 500 * time.Millisecond
	DefaultTimeout    = time.Second
	DefaultRetention  = 5 * time.Minute
	DefaultMaxSkew    = 100 * time.Millisecond
)

// mostPartitions bounds into how many parts one round of pushes is split.
const mostPartitions = 1024

// Config says where the fleet's Redis is and which node of it this is. New
// checks it.
type Config struct {
	// Addresses are host:port, a socket's path, or URLs: redis://, rediss://
	// (TLS), unix://, with user, password and database in them. Several are
	// one Cluster's, or Sentinels' where Sentinel is set.
	Addresses []string
	// Cluster says that a single address is a Cluster's.
	Cluster bool
	// Sentinel is the master's name at the Sentinels.
	Sentinel string
	// User and Password take precedence over a URL's, PasswordFile over
	// Password. The file is read at each new connection, so that a password can
	// change without a restart; space around it is cut off.
	User, Password, PasswordFile string
	TLS                          TLS
	// LoaderFile contains a user that may load the function library: the name
	// in its first line, the password in its second. With it the node loads a
	// missing library itself. Optional.
	LoaderFile string

	// Namespace separates fleets that share a Redis: letters, digits, '.', '_'
	// and '-'. "" means DefaultNamespace.
	Namespace string
	// Partitions is how many hash tags the counts are spread over. It must be
	// the same on all nodes. 0 means DefaultPartitions.
	Partitions int
	// Push is the time between two pushes; 0 means DefaultPush.
	Push time.Duration
	// Timeout bounds each exchange with Redis; 0 means DefaultTimeout.
	Timeout time.Duration
	// Retention is the longest window of the rules, in whole seconds: how long
	// a block's record outlives its end, so that older news cannot bring it
	// back, and how far back a joining node reads watches and unblocks. 0 means
	// DefaultRetention.
	Retention time.Duration
	// MaxSkew is how far clocks may differ before an alarm; 0 means
	// DefaultMaxSkew.
	MaxSkew time.Duration

	// KeyFile has the fleet's key, or two during a rotation ([aggregator.ParseSigningKeys]). With
	// it the node signs what it publishes. The file is read at each join and each
	// Resync. Optional.
	KeyFile string
	// Require: records without a signature are ignored.
	Require bool

	// Thresholds takes part in the fleet's thresholds, with Require. Optional.
	Thresholds ThresholdNode

	// Node is this node's name in the fleet: 1 to 100 printable bytes.
	Node string
	// Boot distinguishes this run from earlier ones: 16 hex digits. "" draws
	// random ones.
	Boot string
	// Run distinguishes this process from another under the same boot: 8 hex
	// digits. "" draws random ones.
	Run string
	// Stopped is when the process before ended whose boot this one continues, by
	// Redis' clock; zero if the boot is new.
	Stopped time.Time
	// Version is the program's, for `fleet status`.
	Version string
	// Monitor: blocks are received, and none is published.
	Monitor bool
	// Figures has what the nodes say of their work; nil for none.
	Figures *fleet.Board
	// Compared has what the others' rules do; nil for none.
	Compared *fleet.Comparison
}

var (
	validNamespace = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	validBoot      = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// check fills in the defaults and reports everything that is wrong.
func (c *Config) check() error {
	orElse(&c.Namespace, DefaultNamespace)
	orElse(&c.Partitions, DefaultPartitions)
	orElse(&c.Push, DefaultPush)
	orElse(&c.Timeout, DefaultTimeout)
	orElse(&c.Retention, DefaultRetention)
	orElse(&c.MaxSkew, DefaultMaxSkew)
	orElse(&c.Boot, randomHex(8))
	orElse(&c.Run, randomHex(4))
	return errors.Join(
		complain(len(c.Addresses) == 0, "fleet: no Redis address: set fleet.redis"),
		complain(!validNamespace.MatchString(c.Namespace),
			"fleet.namespace %q: use 1 to 64 letters, digits, '.', '_' or '-'", c.Namespace),
		complain(c.Partitions < 1 || c.Partitions > mostPartitions,
			"fleet.partitions %d: use 1 to %d", c.Partitions, mostPartitions),
		complain(c.Push < 10*time.Millisecond || c.Push > 10*time.Second,
			"fleet.push %v: use 10ms to 10s", c.Push),
		complain(c.Timeout < 10*time.Millisecond, "fleet.timeout %v: use 10ms or more", c.Timeout),
		complain(c.Retention < time.Second || c.Retention > 366*24*time.Hour,
			"fleet: retention %v: use 1s to 366 days", c.Retention),
		complain(c.MaxSkew < time.Millisecond || c.MaxSkew > 5*time.Second,
			"fleet.max_skew %v: use 1ms to 5s", c.MaxSkew),
		complain(c.Require && c.KeyFile == "", "fleet.key_mode: require needs fleet.key_file"),
		complain(c.Node == "" || len(c.Node) > 100 || strings.ContainsFunc(c.Node, unprintable),
			"node %q: in a fleet, use a name of 1 to 100 printable bytes", c.Node),
		complain(!validBoot.MatchString(c.Boot), "fleet: boot %q is not 16 hex digits", c.Boot),
	)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

func orElse[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

func complain(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func randomHex(size int) string {
	b := make([]byte, size)
	rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
