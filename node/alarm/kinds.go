package alarm

// The kinds of alarm that a node raises itself. Sensors have more.
const (
	Dominant = "dominant_address"
	Hidden   = "mostly_spared"
	Clock    = "clock_step"
	Listen   = "listen"
	Log      = "log"
	// A log is not there yet.
	LogMissing = "log_missing"
	Loss       = "sensor_loss"
	// An interface is not there, or may not be listened to.
	Interface = "interface"
	Silent    = "source_silent"
	// Requests that are not counted: many of a source, or many of an address.
	Uncounted        = "uncounted"
	UncountedAddress = "uncounted_address"
	Enforcer         = "enforcer"
	State            = "state"
	Reload           = "reload"
	Overlay          = "overlay"
	Spared           = "protected_over_limit"
	Wide             = "wide_over_limit"
	FrontDoor        = "front_door"
	Addrs            = "host_addresses"
	Fleet            = "fleet" // followed by the link's own kind
	Held             = "fleet_held"
	// What others name refuses or spares much of the requests here.
	Elsewhere = "elsewhere"
	Nodes     = "fleet_nodes"
	// Nodes of one fleet have rules of the same names that are not the same.
	OtherRules = "fleet_rules"
	Forged     = "fleet_forged"
	Unsigned   = "fleet_unsigned"
	Claimed    = "fleet_own_blocked"
	Blocks     = "blocks_full"
	Files      = "open_files"
	Flood      = "spoofed_flood"
	Crawlers   = "crawlers"
	// Visitors who had succeeded only fail: rules that go by the status count no failures.
	Failing = "site_fails"
	// Blocked addresses are served, as a log shows; nothing is known that refuses them.
	Served  = "blocked_served"
	Nothing = "nothing_refuses"
	// HAProxies that count and are taught: something happened, none is connected, or
	// one has other tables.
	HAProxy      = "haproxy"
	HAProxyAway  = "haproxy_away"
	HAProxyTable = "haproxy_table"
	// A list that others publish: it cannot be fetched or read, awaits confirmation, or
	// was not good for so long that its blocks ended.
	Blocklist      = "blocklist"
	Imported       = "imported_full"
	BlocklistWaits = "blocklist_waits"
	BlocklistStale = "blocklist_stale"
	// A bouncer that enforces blocks does not ask for them any more.
	Bouncer = "bouncer_silent"
	// A LAPI that decisions are taken from, or blocks reported to, does not answer or refuses.
	CrowdSec = "crowdsec"
	// A listener for proxies answers after they have stopped waiting.
	Late = "answered_late"
	// A listener is full.
	AuthFull  = "auth_connections_full"
	AdminFull = "admin_connections_full"
	SPOEFull  = "spoe_connections_full"
	// A receiver of notifications does not accept them.
	Notify    = "notify"
	EnvoyFull = "envoy_connections_full"
	LAPIFull  = "lapi_connections_full"
)

// Awaits reports whether an alarm of this kind says that something awaits an operator.
func Awaits(kind string) bool { return kind == Held || kind == BlocklistWaits }
