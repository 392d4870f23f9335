package config

import (
	"net/netip"
	"slices"

	"edgeguard"
	"edgeguard/config/yaml"
)

// features are what connects a node with something beside it: one row each, from which comes
// what it asks of the config and of the host. Their order is that of texts which name several.
var features = []feature{
	many("listen.auth", func(c *Config) *[]Auth { return &c.Listen.Auth }, (*Auth).entry),
	many("sensors.accesslog", func(c *Config) *[]AccessLog { return &c.Sensors.AccessLog }, (*AccessLog).entry),
	many("haproxy.spoe", func(c *Config) *[]HAProxySPOE { return &c.HAProxy.SPOE }, (*HAProxySPOE).entry),
	many("listen.envoy", func(c *Config) *EnvoyListeners { return &c.Listen.Envoy }, (*EnvoyListener).entry),
	many("haproxy.peers", func(c *Config) *[]HAProxyPeers { return &c.HAProxy.Peers }, (*HAProxyPeers).entry),
	many("crowdsec.lapi", func(c *Config) *[]LAPI { return &c.CrowdSec.LAPI }, (*LAPI).entry),
	many("listen.admin", func(c *Config) *[]Admin { return &c.Listen.Admin }, (*Admin).entry),
	one("sensors.packet", func(c *Config) *Packet { return c.Sensors.Packet }, (*Packet).entry),
	one("enforce.names", func(c *Config) *NamesFolder { return c.Enforce.Names }, (*NamesFolder).entry),
	many("enforce.files", func(c *Config) *[]ListFile { return &c.Enforce.Files }, (*ListFile).entry),
	one("enforce.haproxy", func(c *Config) *HAProxyACL { return c.Enforce.HAProxy }, (*HAProxyACL).entry),
	one("enforce.nftables", func(c *Config) *NFTables { return c.Enforce.NFTables }, (*NFTables).entry),
	many("enforce.awswaf", func(c *Config) *[]AWSWAF { return &c.Enforce.AWSWAF }, (*AWSWAF).entry),
	many("enforce.cloudflare", func(c *Config) *[]Cloudflare { return &c.Enforce.Cloudflare }, (*Cloudflare).entry),
	many("blocklists", func(c *Config) *Blocklists { return &c.Blocklists }, (*BlocklistSource).entry),
	one("crowdsec.decisions", func(c *Config) *CrowdSecDecisions { return c.CrowdSec.Decisions }, (*CrowdSecDecisions).entry),
	one("crowdsec.alerts", func(c *Config) *CrowdSecAlerts { return c.CrowdSec.Alerts }, (*CrowdSecAlerts).entry),
	many("notify.webhooks", func(c *Config) *[]Webhook { return &c.Notify.Webhooks }, (*Webhook).entry),
	many("notify.alertmanager", func(c *Config) *[]Alertmanager { return &c.Notify.Alertmanager }, (*Alertmanager).entry),
	one("fleet", func(c *Config) *Fleet { return c.Fleet }, (*Fleet).entry),
}

// Entry is what one entry of a feature asks, and what it does.
type Entry struct {
	Key       string    // of the config, such as "listen.auth[0]"
	*Listener           // nil where it has none; those of logs are their own
	Secrets   []Secret  // files that others are not to read
	Files     int       // that it has open, besides connections and the files of a pattern
	Clients   *ClientOf // nil where no header names the client
	feature   string    // the key without the entry's number
	copies    string    // names what has a copy of the blocks and refuses by it; empty for none
	source
	// counts says that it counts requests, so that forward auth need not: of a listener that
	// every node has.
	counts bool
}

// source is the events that an entry supplies.
type source struct {
	kinds  edgeguard.Kind
	fields edgeguard.Field
	// turn says which of several that count the same requests is to change: the one with the
	// greatest.
	turn int
}

// Listener is what the listeners of all features have in common.
type Listener struct {
	Address yaml.Address
	Access  yaml.Access // of a unix socket
	TLS     ListenerTLS
	// Asked is how proxies ask there and wait for the answer, such as "forward auth"; empty
	// where none do.
	Asked string
	// Usual is set where a node has one unless its config says otherwise: then it says little.
	Usual bool
	// Connections is the config's own field, so that it can be lowered; nil where it is not
	// in the config.
	Connections *int
}

// ClientOf is whose headers name the client of a request. They are the config's own fields.
type ClientOf struct {
	Trust  *[]netip.Prefix
	Header string
}

// Secret is a file that others are not to read, with its key inside the entry.
type Secret struct{ Key, File string }

// Files that an entry has open: a log with its rotated ones, a list while it is written, the
// fleet's connections.
const logFiles, listFiles, fleetFiles = 8, 3, 32

// feature is one row.
type feature struct {
	entries func(*Config) []Entry
	own     func(*Config) // gives a copy of a config its own entries
}

// many is a feature with a list of entries.
func many[S ~[]T, T any](key string, list func(*Config) *S, of func(*T) Entry) feature {
	return feature{
		entries: func(c *Config) (all []Entry) {
			for i := range *list(c) {
				all = append(all, of(&(*list(c))[i]).named(yaml.ItemPath(key, i), key))
			}
			return all
		},
		own: func(c *Config) { *list(c) = slices.Clone(*list(c)) },
	}
}

// one is a feature with one entry, or none.
func one[T any](key string, found func(*Config) *T, of func(*T) Entry) feature {
	return feature{
		entries: func(c *Config) []Entry {
			if is := found(c); is != nil {
				return []Entry{of(is).named(key, key)}
			}
			return nil
		},
		own: func(*Config) {},
	}
}

func (e Entry) named(key, feature string) Entry {
	e.Key, e.feature = key, feature
	if e.Listener != nil && e.TLS.KeyFile != "" {
		e.Secrets = append(e.Secrets, Secret{"tls.key_file", e.TLS.KeyFile})
	}
	return e
}

// Entries returns every entry of the config's features.
func (c *Config) Entries() (all []Entry) {
	for _, f := range features {
		all = append(all, f.entries(c)...)
	}
	return all
}

// Listeners returns the entries that listen, but for logs.
func (c *Config) Listeners() []Entry {
	return slices.DeleteFunc(c.Entries(), func(e Entry) bool { return e.Listener == nil })
}

// OwnListeners returns a copy of the config whose listeners can be changed.
func (c *Config) OwnListeners() *Config {
	own := *c
	for _, f := range features {
		f.own(&own)
	}
	return &own
}
