package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
	"edgeguard/rules"
)

// Fleet is the Redis that nodes share, and how much they push to it.
type Fleet struct {
	// Redis are URLs, redis://, rediss:// or unix://, with a user where there
	// is one and never with a password: one server, the nodes of a Cluster, or
	// the Sentinels where Sentinel is set.
	Redis   []string
	Cluster bool // Redis was given as a list, and there is no Sentinel
	// Sentinel is the master's name at the Sentinels; empty for none.
	Sentinel  string
	Namespace string // separates fleets that share a Redis
	// PasswordFile holds the password alone. LoaderFile holds, for a node that
	// may load the function library, that user in its first line and the
	// password in its second. Empty for none.
	PasswordFile, LoaderFile string
	// KeyFile holds the keys that sign what this node says in the fleet, and that
	// Redis does not have; empty for none. RequireKey (key_mode: require) refuses
	// what is not signed.
	KeyFile      string
	RequireKey   bool
	TLS          FleetTLS
	Push         time.Duration // from one push of counts to the next
	MaxNodes     int           // of a quiet fleet
	Quiet        bool          // push only keys that come near a limit
	Share        float64       // of a limit that all nodes together may leave unreported; above 0, below 1
	ConfirmShare float64       // of the last requests that blocks may refuse without confirmation; above 0, at 1 no share is held
	Partitions   int           // that the counts are spread over
	MaxSkew      time.Duration // between a node's clock and Redis before it is an alarm
	MaxSuspects  int           // keys reported at a time
	Insecure     bool          // a public address without password or TLS is allowed
}

// FleetTLS holds the settings for a rediss:// address; the zero value trusts the
// system's certificates.
type FleetTLS struct {
	CAFile            string // certificates that are trusted instead of the system's
	CertFile, KeyFile string // this node's own; both or none
	ServerName        string // to expect instead of the address's host
}

// What the settings of a fleet may be.
const (
	leastPush       = 50 * time.Millisecond
	mostPush        = 10 * time.Second
	leastSkew       = time.Millisecond
	mostSkew        = 5 * time.Second // pushes from a clock that far off are refused
	mostNodes       = 10_000
	mostPartitions  = 1024
	leastSuspects   = 1000
	mostSuspects    = 100_000_000
	longestNodeName = 255
)

// validName keeps out braces, which part a key's hash tag, and all that
// would want quotes in a pattern of an ACL.
var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// DefaultFleet returns the settings of a fleet that only names its Redis, and is
// to be given that.
func DefaultFleet() *Fleet {
	return &Fleet{
		Namespace: "edgeguard", Push: 500 * time.Millisecond, MaxNodes: 10, Quiet: true, Share: 0.5,
		ConfirmShare: 0.2, Partitions: 16, MaxSkew: 100 * time.Millisecond, MaxSuspects: 200_000,
	}
}

// keys has the Redis only to be printed: what is read of its addresses is checked together.
func (f *Fleet) keys() key.List {
	return key.List{
		key.At("redis", &f.Redis, nil, f.redisText, "addresses", "`redis://USER@HOST:PORT/DB`, `rediss://` with TLS, or `unix:///PATH` (`?db=1`); a list names a Cluster's nodes or the Sentinels. A user may be in it, a password never").Usual("required"),
		key.Like("sentinel", &f.Sentinel, validName, "the master's name at the Sentinels, such as mymaster", "the master's name; `redis` lists the Sentinels"),
		key.Like("namespace", &f.Namespace, validName, "1 to 64 letters, digits, '.', '_' or '-'", "separates fleets that share a Redis"),
		key.Path("password_file", &f.PasswordFile, "the password and nothing else"),
		key.Path("loader_file", &f.LoaderFile, "a second user that may load the function library: name in the first line, password in the second. Where nodes load it and no operator does"),
		key.Path("key_file", &f.KeyFile, "the fleet's [key](fleet.md#a-key-that-redis-does-not-hold) from `edgeguard fleet key`: one line, two during a rotation. The first signs, all verify. Read at start, reload and join"),
		key.Either("key_mode", &f.RequireKey, "accept", "require", "`accept` takes unsigned records too, by the rules of a fleet without a key, and alarms").If(f.KeyFile != ""),
		key.Group("tls", f.TLS.keys, f.TLS.check, "`ca_file` (trusted instead), `cert_file` and `key_file` (the node's own, both or none), `server_name` (instead of the address's host). Only with `rediss://`").Usual("the system's certificates").Lines(),
		key.Span("push", &f.Push, leastPush, mostPush, "between two pushes of counts. A spread-out offender is blocked after two"),
		key.Whole("max_nodes", &f.MaxNodes, 1, mostNodes, "how many nodes are expected. With more, each reports smaller counts, and the alarm `fleet_nodes` is raised"),
		key.Truth("quiet", &f.Quiet, "report only keys whose count here reaches `share × limit / nodes`. `false`: every key"),
		key.Of("share", &f.Share, share, decimal, "above 0 and below 1", "the part of a limit that all nodes together may leave unreported. Less finds a spread-out offender earlier and costs Redis more"),
		key.Of("confirm_share", &f.ConfirmShare, shareOrAll, decimal, "above 0, up to 1", "above this share of the last five minutes' requests, other nodes' blocks [await confirmation](fleet.md#held-blocks), and a block by hand requires `--force`. `1`: never, and no alarm `elsewhere`"),
		key.Whole("partitions", &f.Partitions, 1, mostPartitions,
			"hash tags that counts are spread over. The same on every node; a namespace's first node decides"),
		key.Span("max_skew", &f.MaxSkew, leastSkew, mostSkew, "how far the clock may be from Redis's without an alarm. Up to 2.5 s is corrected; beyond 5 s a node counts for itself only"),
		key.Whole("max_suspects", &f.MaxSuspects, leastSuspects, mostSuspects,
			"how many keys are reported at a time, a bound on memory; beyond, a key replaces one with a lower count"),
		key.Truth("insecure", &f.Insecure, "`true`: a public address without TLS, or without a password, since access is restricted otherwise"),
	}
}

// redisText returns one address as it is, and those of a Cluster or of Sentinels as a list.
func (f *Fleet) redisText(p *yaml.Printer, path string, all []string) string {
	if f.Cluster || len(all) > 1 {
		return p.Flow(path, all)
	}
	return p.Quote(path, strings.Join(all, ""))
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (f *Fleet) entry() Entry {
	return Entry{
		Files:   fleetFiles,
		Secrets: []Secret{{"password_file", f.PasswordFile}, {"loader_file", f.LoaderFile}, {"key_file", f.KeyFile}, {"tls.key_file", f.TLS.KeyFile}},
	}
}

func readFleet(n yaml.Node) *Fleet {
	f := DefaultFleet()
	var addresses []redisAddress
	fields := f.keys().Fields()
	fields["redis"] = func(n yaml.Node) { addresses, f.Cluster = redisAddresses(n) }
	n.Mapping(fields)
	f.Cluster = f.Cluster && f.Sentinel == ""
	for _, a := range addresses {
		f.Redis = append(f.Redis, a.Text)
	}
	if len(addresses) == 0 && !n.Touched("redis") && !n.Thinned("redis") {
		n.Wrong("has no Redis address", "set redis, such as rediss://redis.internal:6379/0")
	}
	if f.KeyFile == "" && n.Has("key_mode") && !n.Touched("key_file", "key_mode") {
		n.WrongField("key_mode", "is set without a key", "set key_file, or remove it")
	}
	f.checkAddresses(n, addresses)
	f.checkSafety(n, addresses)
	return f
}

// checkAddresses refuses addresses that do not go together.
func (f *Fleet) checkAddresses(n yaml.Node, addresses []redisAddress) {
	if len(addresses) == 0 {
		return
	}
	first, many := addresses[0], f.Cluster || f.Sentinel != "" || len(addresses) > 1
	for i, a := range addresses {
		switch {
		case many && a.Scheme == "unix":
			a.at.Wrong("a unix socket cannot be used for a Cluster or for Sentinels", "use redis:// or rediss:// with a host")
		case f.Cluster && a.Database != 0:
			a.at.Wrong(fmt.Sprintf("selects database %d, but a Cluster has only database 0", a.Database), "remove it")
		case a.Scheme != first.Scheme || a.User != first.User || a.Database != first.Database:
			a.at.Wrong("differs from the first address in more than host and port", "use one scheme, user and database for all")
		case slices.ContainsFunc(addresses[:i], func(b redisAddress) bool { return b.Text == a.Text }):
			a.at.Wrong("is given twice", "remove one of them")
		}
	}
	if f.TLS != (FleetTLS{}) && first.Scheme != "rediss" && !n.Touched("redis", "tls") {
		n.WrongField("tls", "is set, but "+first.Scheme+":// does not use it", "use a rediss:// address, or remove tls")
	}
}

// checkSafety refuses to speak to a Redis over the open network where others
// could listen, or could speak to it as well. A client certificate is as good
// as a password.
func (f *Fleet) checkSafety(n yaml.Node, addresses []redisAddress) {
	if f.Insecure || n.Touched("redis", "password_file", "tls", "insecure") {
		return
	}
	for _, a := range addresses {
		missing := ""
		switch {
		case !a.Public:
			continue
		case a.Scheme != "rediss":
			missing = "TLS"
		case f.PasswordFile == "" && f.TLS.CertFile == "":
			missing = "a password"
		default:
			continue
		}
		a.at.Wrong(fmt.Sprintf("%s is a public address used without %s", a.Host, missing),
			"use rediss:// and set password_file, or set insecure: true if a firewall or VPN protects it")
		return
	}
}

func (t *FleetTLS) keys() key.List {
	return key.List{
		key.Path("ca_file", &t.CAFile, ""), key.Path("cert_file", &t.CertFile, ""), key.Path("key_file", &t.KeyFile, ""),
		key.Like("server_name", &t.ServerName, validName, "a host's name, such as redis.internal", ""),
	}
}

func (t *FleetTLS) check(n yaml.Node) {
	if (t.CertFile == "") != (t.KeyFile == "") && !n.Touched("cert_file", "key_file") {
		n.Wrong("has only one of cert_file and key_file", "set both or neither")
	}
}

// share reads a part of one, as exactly as a guard.
func share(n yaml.Node) float64 {
	return part(n, false, "use a decimal above 0 and below 1 with at most 6 places, such as 0.5")
}

// shareOrAll is share, and takes 1 as well.
func shareOrAll(n yaml.Node) float64 {
	return part(n, true, "use a decimal above 0 with at most 6 places, such as 0.2, or 1 to disable it")
}

func part(n yaml.Node, all bool, fix string) float64 {
	text := n.Decimal()
	if text == "" {
		return 0
	}
	part, err := rules.ParseGuard(text)
	if err != nil || part.String() == "1" && !all {
		n.Wrong("invalid number "+yaml.Clip(text), fix)
		return 0
	}
	value, _ := strconv.ParseFloat(part.String(), 64) // a guard's text is a decimal
	return value
}
