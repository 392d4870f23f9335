package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
	"edgeguard/crawlers"
	"edgeguard/rules"
)

// Config is a whole configuration, checked and with every default filled in.
type Config struct {
	Node           string // this node's name; the host's by default
	Monitor        bool   // mode: monitor; nothing is enforced, all is reported
	Listen         Listen
	TrustedProxies []netip.Prefix
	Allowlist      []netip.Prefix // never blocked
	Protected      []netip.Prefix // not blocked without force, besides what the host finds out itself
	Clients        []netip.Prefix // networks that are no front door's
	OwnHosts       []string       // the site's names, which a Referer is compared with; nil: not known
	Wide           rules.Wide     // of the rules that do not say
	Memory         int64          // bytes for all meters together
	MaxBlocks      int            // active blocks at most; Memory / BlockBytes by default
	MaxImported    int            // entries of other people's lists at most; half as many as MaxBlocks' default by default
	RollUp         bool           // block a /56 when a quarter of its /64 are blocked
	State          string         // folder of what outlives a restart
	Overlay        bool           // thresholds may be changed while the node runs
	KeepEvents     int64          // bytes of what happened, on the disk
	KeepEventsFor  time.Duration  // how long that is kept
	Samples        int            // how many requests are kept of a key that is blocked or near a limit
	// SamplesForReaders shows these to readers too, and not to operators alone.
	SamplesForReaders bool
	Log               Log
	Specs             []rules.Spec // the rules as written
	Rules             *rules.Set   // the same, compiled
	Sensors           Sensors
	HAProxy           HAProxy
	CrowdSec          CrowdSec
	Blocklists        Blocklists
	Enforce           Enforcers
	Notify            Notify
	Floods            Floods
	Crawlers          []crawlers.Spec // who says he is one, and how that is verified
	Fleet             *Fleet          // nil for a node alone

	// Variables are the texts of the file that name variables of the environment, by
	// the path of their field, without [0]. The fields above have their values.
	Variables map[string]string

	// Asked says that a proxy is likely to ask about each request while it waits.
	Asked bool
	// Requests says that a source reports requests: an answer alone is then of one of these.
	Requests bool
	// Pieces are the files of conf.d.
	Pieces []Piece
	// Warnings are settings that are valid but may not do what their author
	// expects.
	Warnings []yaml.Fault
}

// BlockBytes is the part of a node's memory that one block takes, with all that
// is made of it: the list itself, what the garbage collector has not freed,
// a copy for an enforcer that is being written (docs/figures.md).
const BlockBytes = 1 << 10

const (
	// leastMemory is the least that memory may be.
	leastMemory = 16 << 20
	// leastBlocks and mostBlocks are what max_blocks and max_imported may be.
	leastBlocks, mostBlocks = 1000, 1 << 24
	// mostSamples is what samples may be, and its default.
	mostSamples = 16
	// leastEvents and mostEvents are what keep_events may be: at the least a burst of changes has
	// its place, at the most what is known of the files takes 4 MiB. mostEventsFor is what
	// keep_events_for may be.
	leastEvents, mostEvents, mostEventsFor = 16 << 20, 16 << 30, 3660 * 24 * time.Hour
)

// keys are the file's own. r reads the presets; it may be nil to print.
func (c *Config) keys(r *reader) key.List {
	return key.List{
		key.Text("node", &c.Node, plain, "text", "the name that blocks made here carry").Usual("the host's name"),
		key.Either("mode", &c.Monitor, "enforce", "monitor", "`monitor`: nothing is enforced, not even blocks made by hand: would-be blocks are shown and expire, forward auth lets everything pass, lists stay empty"),
		key.Group("listen", c.Listen.keys, nil, "").Lines(),
		key.Prefixes("trusted_proxies", &c.TrustedProxies, "the proxies that may name their client").Usual("loopback"),
		key.Prefixes("allowlist", &c.Allowlist, "what is never blocked and never counted, and wins over everything. For the whole fleet, at run time: `edgeguard allow`"),
		key.Prefixes("protected", &c.Protected, "what this node blocks only with `--force`, besides its own addresses, loopback, link-local, gateways, resolvers and trusted proxies, which it finds itself"),
		key.Prefixes("clients", &c.Clients, "networks whose addresses are clients, such as an office's `[10.0.0.0/8]`. Other private addresses are [not blocked while a source shows no public client](operations.md#a-log-that-knows-only-the-front-door), nor a CDN's where a source shows no other").If(c.Clients != nil),
		key.Of("own_hosts", &c.OwnHosts, yaml.Node.Words, yaml.Flow, "names", "your site's names, such as `[example.org, \"*.example.org\"]`: whose Referer is [your own](rules.md#what-a-page-can-provoke); each is judged apart [when the site itself fails](rules.md#when-the-site-itself-fails)").If(c.OwnHosts != nil),
		key.Of("wide", &c.Wide, readWide, rules.Wide.String, "`default`, `off`, `report`, `strict`", "what rules do about [IPv6 networks wider than their keys](rules.md#wide-networks)"),
		key.Size("memory", &c.Memory, leastMemory, key.AnySize, "the bound on all counts together: 50 to 165 bytes a key; an IPv6 client's /56 and /48 are keys too. Restart required"),
		key.Whole("max_blocks", &c.MaxBlocks, leastBlocks, mostBlocks, "[how many blocks](#how-many-blocks) the list may hold").Usual("a block for each KiB of `memory`"),
		key.Whole("max_imported", &c.MaxImported, leastBlocks, mostBlocks, "how many entries of [other people's lists](#imported-blocks) are held").Usual("an entry for each 2 KiB of `memory`"),
		key.Truth("roll_up", &c.RollUp, "`true`: an IPv6 /56 is blocked once 64 of its /64 are, until the last of these ends: for attackers who have a /56 each, where customers share none"),
		key.At("state", &c.State, yaml.Node.AbsPath, (*yaml.Printer).Quote, "a path",
			"the folder of what survives a restart, of [one node](operations.md#one-node-a-folder) at a time. Restart required"),
		key.Size("keep_events", &c.KeepEvents, leastEvents, mostEvents, "the disk, in `state`, that [what happened](operations.md#what-happened) may take: an eighth for operators' changes and alarms, a quarter for crossings, the rest for blocks. Restart required"),
		key.Span("keep_events_for", &c.KeepEventsFor, time.Hour, mostEventsFor, "how long it is kept. Restart required"),
		key.Truth("overlay", &c.Overlay, "thresholds and candidates may be changed while the node runs, by [the API](api.md#rules) and the console. They stand in `overlay.yaml` in `state`; `false` puts that file and the [fleet's thresholds](fleet.md#a-threshold-for-all-nodes) out of force"),
		key.Whole("samples", &c.Samples, 0, mostSamples, "how many [requests are kept](#samples-of-requests) of a key that is blocked or near a limit. Restart required"),
		key.Either("samples_for", &c.SamplesForReaders, "operator", "reader", "who may see them: operators, or everyone with a login. Paths can hold personal data"),
		key.Group("log", c.Log.keys, nil, "what the node writes to standard error").Usual("`{format: text, level: info}`"),
		key.Section("presets", r.readPresets, nil),
		key.Section("rules", c.readRules, c.writeRules),
		key.Group("sensors", c.Sensors.keys, nil, "").Lines(),
		key.Group("haproxy", c.HAProxy.keys, nil, "").Lines(),
		key.Group("crowdsec", c.CrowdSec.keys, nil, "").Lines(),
		key.Items("blocklists", &c.Blocklists, c.Blocklists.read, (*BlocklistSource).keys),
		key.Group("enforce", c.Enforce.keys, c.Enforce.checkWide, "").Lines(),
		key.Group("notify", c.Notify.keys, c.Notify.check, "").Lines(),
		key.Section("floods", c.Floods.keys().Read, c.Floods.write),
		key.Items("crawlers", &c.Crawlers, c.readCrawler, crawlerKeys),
		key.Optional("fleet", &c.Fleet, readFleet, (*Fleet).keys).Lines(),
	}
}

// Load reads and checks a file with its pieces, which are the files *.yaml of the folder
// conf.d beside it. The error is an [*Errors] where the content is wrong or a piece cannot be
// read, and the system's where the file itself cannot.
func Load(path string) (*Config, error) {
	text, err := readMain(path)
	if err != nil {
		return nil, err
	}
	return ParseAt(path, text)
}

// ParseAt is what [Load] gives where the file has another text. The error is an [*Errors].
func ParseAt(path string, text []byte) (*Config, error) {
	all, warnings, err := withPieces(path, text)
	if err != nil {
		return nil, err
	}
	c, err := parse(all)
	if err == nil {
		c.Warnings = append(c.Warnings, warnings...)
	}
	return c, err
}

// LoadListen reads the section listen alone of a file with its pieces, while the rest may have
// errors. given is false where none has it.
func LoadListen(path string) (l Listen, given bool, err error) {
	text, err := readMain(path)
	if err != nil {
		return l, false, err
	}
	all, _, _ := withPieces(path, text) // what can be read
	var sections []written
	for _, s := range all {
		if text := yaml.TopSection(s.text, "listen"); len(text) > 0 {
			sections = append(sections, written{s.file, text})
		}
	}
	if len(sections) == 0 {
		return l, false, nil
	}
	c, err := parse(sections)
	if err != nil {
		return l, true, err
	}
	return c.Listen, true, nil
}

// Parse checks the content of a file; name is what problems call it. The error
// is always an [*Errors]. A file without a key is one: the defaults in its place
// would turn monitor into enforce, and drop its rules, lists and logs.
func Parse(name string, data []byte) (*Config, error) { return parse([]written{{name, data}}) }

// parse is Parse for a file and its pieces.
func parse(all []written) (*Config, error) {
	r, c := &reader{File: yaml.OpenFile(all[0].file)}, defaults()
	root, ok := r.Document(all[0].text)
	switch {
	case ok && !root.IsEmpty():
		for _, piece := range all[1:] {
			root = r.Join(root, piece.file, piece.text)
		}
		c.keys(r).Read(root)
	case len(r.Problems()) == 0:
		return nil, &Errors{Problems: []yaml.Fault{{File: all[0].file, Text: "has no key: it is empty or was cut short",
			Fix: "add at least one key, such as `mode: monitor`; the defaults apply only where there is no file"}}}
	}
	c, err := r.complete(c)
	if err == nil {
		said := r.Said()
		for _, piece := range all[1:] {
			c.Pieces = append(c.Pieces, Piece{piece.file, said[piece.file]})
		}
	}
	return c, err
}

// complete fills in and checks what depends on more than one key.
func (r *reader) complete(c *Config) (*Config, error) {
	r.settle(c)
	r.checkCrawlers(c)
	c.Rules = r.compile(c.Specs)
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &Errors{Problems: problems}
	}
	r.unsupplied(c)
	r.counted(c)
	r.unasked(c)
	r.brief(c)
	r.low(c)
	r.unshared(c)
	r.sparesAll("allowlist", c.Allowlist)
	r.sparesAll("protected", c.Protected)
	c.Asked, c.Requests, c.Variables, c.Warnings = r.asks(c), c.tellsRequests(), r.Variables(), r.Warnings()
	return c, nil
}

// Default returns the configuration of a node without a file: one rule, 2000
// requests per 5 minutes, and no fleet.
func Default() *Config {
	c, err := (&reader{File: yaml.OpenFile("default")}).complete(defaults())
	if err != nil {
		panic(errors.Join(errors.New("config: the defaults do not pass their own check"), err))
	}
	return c
}

// defaults returns the settings of an empty file, without the compiled rules.
func defaults() *Config {
	return &Config{
		Node: hostName(),
		Listen: Listen{
			Auth:  []Auth{{Address: yaml.Address{Network: "tcp", Address: "127.0.0.1:9180"}, Emit: edgeguard.KindRequest, Connections: authConnections}},
			Admin: []Admin{{Address: yaml.Address{Network: "tcp", Address: "127.0.0.1:9190"}, Connections: adminConnections}},
		},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Memory:         512 << 20,
		State:          "/var/lib/edgeguard",
		Overlay:        true,
		KeepEvents:     64 << 20,
		KeepEventsFor:  30 * 24 * time.Hour,
		Samples:        mostSamples,
		Floods:         Floods{Sources: 1000, Times: 10},
		Specs:          []rules.Spec{{Name: "default", Threshold: 2000}},
	}
}

// settle fills in what depends on other settings.
func (r *reader) settle(c *Config) {
	if !r.Known("listen.auth") {
		c.yield()
	}
	r.place(c)
	if len(c.Specs) == 0 && r.Known("rules") && !r.Touched("rules") {
		r.Warn("rules", "has no rule, so nothing is counted", "remove it to use the default rule")
	}
	own := r.ownHosts(c)
	for i := range c.Specs {
		c.Specs[i].Own = own
		if !r.Known(r.rulePath(i) + ".wide") {
			c.Specs[i].Wide = c.Wide
		}
	}
	if c.MaxBlocks == 0 {
		c.MaxBlocks = int(min(c.Memory/BlockBytes, mostBlocks))
	}
	if c.MaxImported == 0 {
		c.MaxImported = int(min(c.Memory/BlockBytes/2, mostBlocks))
	}
	for _, e := range c.Entries() {
		if e.Clients != nil && *e.Clients.Trust == nil {
			*e.Clients.Trust = c.TrustedProxies
			r.Takes(yaml.JoinPath(e.Key, "trust"), "trusted_proxies")
		}
	}
	if (len(c.Node) > longestNodeName || strings.ContainsFunc(c.Node, unicode.IsControl)) && !r.Touched("", "node") {
		r.Wrong("node", "is not a valid node name", fmt.Sprintf("use at most %d bytes without control characters", longestNodeName))
	}
}

// yield makes forward auth look up only, where something else counts the requests already.
func (c *Config) yield() {
	if !slices.ContainsFunc(c.Entries(), func(e Entry) bool { return e.counts }) {
		return
	}
	for i := range c.Listen.Auth {
		c.Listen.Auth[i].Emit = 0
	}
}

// Follow adds a log that the command line names. It counts all that its format
// can report; if these are requests, forward auth then only looks up.
func (c *Config) Follow(file, format string) {
	c.Sensors.AccessLog = append(c.Sensors.AccessLog, AccessLog{File: file, Format: format, Emit: logSource(format).kinds})
	c.yield()
	c.Requests = c.tellsRequests()
}

// hostName returns the host's name, or "localhost" where it has none.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}
