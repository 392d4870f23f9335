package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/logline"
)

// authFields are what a proxy's question supplies.
var authFields = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldHeader | edgeguard.FieldReferer | edgeguard.FieldFetchSite

// logSource returns what lines of a log's format supply. A format that is found later,
// or cannot be read, may be any of an access log: the node says what is wrong.
func logSource(format string) source {
	f, err := logline.ParseFormat(format)
	if err != nil || f == nil {
		return source{edgeguard.KindRequest | edgeguard.KindResponse, ^edgeguard.Field(0), 4}
	}
	return source{f.Kinds(), f.Fields(), 4}
}

// askedSource returns what a listener supplies at which a proxy asks, and that may count.
func askedSource(counts bool, turn int) source {
	s := source{fields: authFields, turn: turn}
	if counts {
		s.kinds = edgeguard.KindRequest
	}
	return s
}

// sources lists what the configured sensors supply.
func (c *Config) sources() (all []source) {
	for _, e := range c.Entries() {
		if e.kinds != 0 {
			all = append(all, e.source)
		}
	}
	return all
}

// tellsRequests reports whether a source reports requests.
func (c *Config) tellsRequests() bool {
	return c.peersCount()&edgeguard.KindRequest != 0 ||
		slices.ContainsFunc(c.sources(), func(s source) bool { return s.kinds&edgeguard.KindRequest != 0 })
}

// unsupplied warns of rules that no configured source can ever satisfy. It says
// nothing of a file that names no source: the command line may.
func (r *reader) unsupplied(c *Config) {
	if !r.Known("listen") && !r.Known("sensors") && !r.Known("haproxy") {
		return
	}
	sources := c.sources()
	for i := range sources {
		sources[i].fields |= edgeguard.FieldCrawler // of every event, if there are crawlers
	}
	peers := c.peersLeave()
	var all []idle
	for i := range c.Rules.Rules {
		meter := &c.Rules.Meters[c.Rules.Rules[i].Meter]
		missing, ok := lacking(sources, meter.Kind, meter.Fields())
		reason, left := peers[c.Rules.Rules[i].Name]
		switch {
		case ok || c.HAProxy.Counts() && !left:
		case missing != 0:
			all = r.addIdle(all, i, fmt.Sprintf("no configured sensor of %v events reports %v", meter.Kind, missing))
		case left:
			all = r.addIdle(all, i, "HAProxy's tables cannot count it, because "+reason)
		default:
			all = r.addIdle(all, i, fmt.Sprintf("no configured sensor reports %v events", meter.Kind))
		}
	}
	for i := range all {
		r.Warn(all[i].path, r.idleText(&all[i], "counts nothing", "count nothing"), "add a sensor or a log format that does")
	}
}

// longBlock is from where on a block is no pause that somebody mistook for the window: who does it
// again after that is blocked anew.
const longBlock = time.Hour

// brief warns of rules whose blocks are shorter than what is looked back over.
func (r *reader) brief(c *Config) {
	for i := range c.Rules.Rules {
		rule := &c.Rules.Rules[i]
		window := c.Rules.Meters[rule.Meter].Window
		if rule.Action != edgeguard.ActionBlock || rule.WhileOver || rule.BlockFor >= min(window, longBlock) {
			continue
		}
		r.Warn(r.rulePath(i),
			fmt.Sprintf("block_for %s is shorter than the window %s: the block ends while the count is still over the limit, and the next request blocks again", yaml.Duration(rule.BlockFor), yaml.Duration(window)),
			"set while_over: true, or set block_for to at least the window")
	}
}

// onePage is what a page with its images, styles and scripts may come to.
const onePage = 20

// low warns of rules that refuse an address for as many requests of any kind as one page
// makes a browser send.
func (r *reader) low(c *Config) {
	for i := range c.Rules.Rules {
		rule := &c.Rules.Rules[i]
		meter := &c.Rules.Meters[rule.Meter]
		site := c.Specs[i].MatchesAll() && meter.Kind == edgeguard.KindRequest && meter.Distinct == 0 && meter.CountsAddresses()
		if !site || rule.Threshold >= onePage || rule.Action == edgeguard.ActionShadow {
			continue
		}
		r.Warn(r.rulePath(i),
			fmt.Sprintf("threshold %d is for all requests of an address: one page with its images, styles and scripts may exceed it", rule.Threshold),
			"raise it, set match to the requests that it is about, or try it with action: shadow")
	}
}

// sparesAll warns of a list that spares more of the Internet than any site has: a /7 of IPv4, or
// 2000::/15, and all wider ones. Private networks are no part of that.
func (r *reader) sparesAll(key string, prefixes []netip.Prefix) {
	internet6 := netip.MustParsePrefix("2000::/3")
	for i, p := range prefixes {
		if p.Addr().Is4() && p.Bits() < 8 || p.Addr().Is6() && p.Bits() < 16 && p.Overlaps(internet6) {
			r.Warn(yaml.ItemPath(key, i), fmt.Sprintf("%s is so wide that most clients, and who attacks, are in it: nobody of it is ever blocked", p),
				"name the addresses that must not be blocked; a node that is to refuse nothing has mode: monitor")
		}
	}
}

// lacking finds whether one source has the kind and all fields, and if none
// does, the fields that the best of them lacks.
func lacking(sources []source, kind edgeguard.Kind, fields edgeguard.Field) (missing edgeguard.Field, ok bool) {
	for _, s := range sources {
		if s.kinds&kind == 0 {
			continue
		}
		if fields&^s.fields == 0 {
			return 0, true
		}
		missing = fields &^ s.fields
	}
	return missing, false
}

// counted warns where a request of one client is likely to be counted twice:
// once by each sort of source that emits requests.
func (r *reader) counted(c *Config) {
	var logs edgeguard.Kind
	var requests []Entry
	for _, e := range c.Entries() {
		if e.feature == "sensors.accesslog" {
			logs |= e.kinds
		}
		if e.kinds&edgeguard.KindRequest != 0 {
			requests = append(requests, e)
		}
	}
	var twice []string
	peers := c.peersCount()
	if peers&edgeguard.KindRequest != 0 {
		twice = append(twice, "haproxy.peers")
	}
	if both := peers & logs; both == edgeguard.KindResponse {
		r.Warn("sensors.accesslog", "counts responses, as does haproxy.peers: a response that both see "+twiceCounted,
			"set count: false at haproxy.peers, unless they see different traffic")
	}
	slices.SortStableFunc(requests, func(a, b Entry) int { return cmp.Compare(a.turn, b.turn) })
	for _, e := range requests {
		if !slices.Contains(twice, e.feature) {
			twice = append(twice, e.feature)
		}
	}
	if len(twice) < 2 {
		return
	}
	r.Warn(twice[len(twice)-1],
		"counts requests, as does "+twice[0]+": a request that both see "+twiceCounted,
		"set emit: nothing at the listener, count: false at haproxy.peers, or emit: response at the log beside the listener, unless they see different traffic")
}

// twiceCounted ends the warnings of which [CountsTwice] tells.
const twiceCounted = "counts twice"

// CountsTwice reports whether a warning says that two sources count the same.
func CountsTwice(w *yaml.Fault) bool { return strings.HasSuffix(w.Text, twiceCounted) }
