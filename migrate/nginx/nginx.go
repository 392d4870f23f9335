// Package nginx reads nginx's limit_req as rules of edgeguard that only report: a leaky
// bucket has no window, so what comes out is a proposal.
package nginx

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/migrate"
)

// Import reads what `nginx -T` prints, or one file that has everything.
func Import(data []byte) (*migrate.Report, error) {
	root, missing, err := ReadConf(string(data))
	if err != nil && bytes.Contains(data, []byte("apiVersion:")) {
		err = errors.New("is of Kubernetes, which is not read: import what `nginx -T` prints in the controller's pod")
	}
	if err != nil {
		return nil, err
	}
	http := &ConfNode{Block: true}
	switch blocks := root.Directives("http"); {
	case len(blocks) > 1:
		return nil, errors.New("has more than one block http")
	case len(blocks) == 1:
		http = blocks[0]
	default: // a part of a configuration, as documentations have them
		http.Inner = root.Inner
	}
	im := &importer{
		report: &migrate.Report{From: "nginx", Notes: notes}, http: http, servers: http.Directives("server"),
		names: map[*ConfNode][]string{}, owners: map[string][]*ConfNode{}, known: map[*ConfNode]known{}, zones: map[string]*zone{}, made: map[string]string{},
		seen: map[*ConfNode]bool{},
	}
	if locations := http.Directives("location"); len(im.servers) == 0 && len(locations) > 0 {
		im.servers = []*ConfNode{{Words: []string{"server"}, Line: locations[0].Line, File: locations[0].File, Block: true, Inner: locations}}
	}
	if err := im.bounds(); err != nil {
		return nil, err
	}
	im.collect(root)
	if im.uses == 0 && len(im.zones) == 0 && len(missing) == 0 {
		return nil, errors.New("has no limit_req, so there is nothing to import. `nginx -T` prints a configuration with all of its files")
	}
	if im.uses > migrate.MaxRules {
		return nil, fmt.Errorf("has %d limit_req, and at most %d are read", im.uses, migrate.MaxRules)
	}
	im.places()
	im.leave(root, missing)
	return im.report, nil
}

// notes are what differs for all rules.
var notes = []string{
	"All of these only report. A leaky bucket has no window: each threshold is what it lets pass within a minute after a pause, which is rate × 1 minute + burst.",
	"Who sends all of a minute's requests at once passes here, and not there: nginx delays or refuses what is faster than rate and burst. A second rule with a lower threshold, or limit_req itself, is for that.",
	"nginx counts all places of one zone together, and each nginx by itself; here each limit_req counts by itself, over all nodes of a fleet.",
	migrate.NoteIPv6, migrate.NoteFields,
}

// importer reads one configuration.
type importer struct {
	report  *migrate.Report
	http    *ConfNode
	servers []*ConfNode
	names   map[*ConfNode][]string // of each server
	owners  map[string][]*ConfNode // the servers of each name
	zones   map[string]*zone
	known   map[*ConfNode]known // what blocks are for, as far as it was asked for
	made    map[string]string   // what makes a variable: "map at line 3"
	uses    int                 // how many limit_req there are
	seen    map[*ConfNode]bool  // the limit_req that became a rule, or were refused
}

// known is a condition that was made once, or why it cannot be said.
type known struct {
	condition *migrate.Condition
	err       error
}

// readOnce returns what a block is for. It is made once: a limit_req of http looks at every
// location.
func (im *importer) readOnce(n *ConfNode, do func() (*migrate.Condition, error)) (*migrate.Condition, error) {
	k, found := im.known[n]
	if !found {
		k.condition, k.err = do()
		im.known[n] = k
	}
	return k.condition, k.err
}

// Bounds on what is compared with each other.
const (
	mostServers   = 5_000
	mostNames     = 1_000 // of a server
	mostLocations = 1_000 // of a server
)

// bounds refuses a configuration that would take long, and finds the servers' names.
func (im *importer) bounds() error {
	if len(im.servers) > mostServers {
		return fmt.Errorf("has more than %d servers: import a part of them", mostServers)
	}
	for _, s := range im.servers {
		words := 0
		for _, n := range s.Directives("server_name") {
			words += len(n.Words)
		}
		if words > mostNames || len(s.Directives("location")) > mostLocations {
			return fmt.Errorf("the server at %s has more than %d names or %d locations: import a part of them", s.Place(), mostNames, mostLocations)
		}
		im.names[s] = names(s)
		for _, name := range im.names[s] {
			im.owners[name] = append(im.owners[name], s)
		}
	}
	return nil
}

// zone is a limit_req_zone.
type zone struct {
	node      *ConfNode
	key       string
	perMinute uint32
	rate      string
	wrong     string // why it cannot be read
	used      bool
}

// collect finds the zones, and what makes variables.
func (im *importer) collect(root *ConfNode) {
	for _, n := range im.http.Directives("limit_req_zone") {
		z := readZone(n)
		if name := z.name(); name != "" {
			im.zones[name] = z
		}
	}
	im.http.EachBelow(func(n *ConfNode) {
		variable := ""
		switch n.Word(0) {
		case "map", "geo", "split_clients":
			variable = n.Words[len(n.Words)-1]
		case "set":
			variable = n.Word(1)
		}
		if variable != "" {
			im.made[strings.TrimPrefix(variable, "$")] = n.Word(0) + " at " + n.Place()
		}
	})
	root.EachBelow(func(n *ConfNode) {
		if n.Word(0) == "limit_req" {
			im.uses++
		}
	})
}

// rates are the forms of a rate.
var rates = regexp.MustCompile(`^([0-9]{1,9})r/([sm])$`)

// mostRate keeps the sum with a burst within a uint32.
const mostRate = 10_000_000

func readZone(n *ConfNode) *zone {
	z := &zone{node: n, key: n.Word(1)}
	for _, word := range n.Words[min(2, len(n.Words)):] {
		switch rate, isRate := strings.CutPrefix(word, "rate="); {
		case isRate:
			m := rates.FindStringSubmatch(rate)
			if m == nil {
				z.wrong = fmt.Sprintf("the rate %q is not one such as 10r/s or 30r/m", rate)
				continue
			}
			count, _ := strconv.ParseUint(m[1], 10, 32) // at most nine digits
			if m[2] == "s" {
				count *= 60
			}
			z.perMinute, z.rate = uint32(min(count, mostRate)), rate
		case strings.HasPrefix(word, "zone="), word == "sync":
		default:
			z.wrong = fmt.Sprintf("limit_req_zone has %q, which is not known to this import", word)
		}
	}
	if z.perMinute == 0 && z.wrong == "" {
		z.wrong = "limit_req_zone has no rate"
	}
	return z
}

// name returns the zone's name.
func (z *zone) name() string {
	for _, word := range z.node.Words {
		if value, ok := strings.CutPrefix(word, "zone="); ok {
			name, _, _ := strings.Cut(value, ":")
			return name
		}
	}
	return ""
}

// makeRule makes a rule of one limit_req.
func (im *importer) makeRule(n *ConfNode, p *place) {
	im.seen[n] = true
	out := &migrate.Draft{Called: fmt.Sprintf("%s at %s", strings.Join(n.Words, " "), n.Place())}
	name, burst := "", uint64(0)
	for _, word := range n.Words[1:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "zone":
			name = value
		case "burst":
			burst, err = strconv.ParseUint(value, 10, 31)
		case "nodelay", "delay":
			out.NoteDecision("%s: nothing is delayed here.", word)
		default:
			err = errors.New("not known")
		}
		if err != nil {
			out.Refuse("%q is not known to this import", word)
		}
	}
	z := im.zones[name]
	if z == nil {
		out.Refuse("there is no limit_req_zone with zone=%s", name)
		im.report.Add(out, name)
		return
	}
	z.used = true
	if z.wrong != "" {
		out.Refuse("%s: %s", z.node.Place(), z.wrong)
	}
	im.key(out, z)
	out.Spec.Threshold = uint32(min(uint64(z.perMinute)+burst, 1<<31))
	out.Spec.Window, out.Spec.Action = time.Minute, edgeguard.ActionShadow
	out.NoteDecision("rate=%s and a burst of %d: threshold %d in 1 minute, which is %d + %d. guard is 1, because nginx has none. shadow: it only reports.", z.rate, burst, out.Spec.Threshold, z.perMinute, burst)
	im.where(out, p)
	if p.dryRun {
		out.NoteDecision("limit_req_dry_run is on: nginx only reports, too.")
	}
	if p.status != "" {
		out.NoteDecision("limit_req_status %s is not imported: edgeguard answers 429, or your proxy answers.", p.status)
	}
	im.report.Add(out, name+p.namePart())
}

// mostDoubts bounds what is said beside one rule.
const mostDoubts = 12

// where says which requests the rule counts.
func (im *importer) where(out *migrate.Draft, p *place) {
	n, err := im.condition(p)
	if err != nil {
		out.Refuse("%v", err)
		return
	}
	if out.Spec.Match, out.Spec.When, err = n.Write(); err != nil {
		out.Refuse("%v", err)
		return
	}
	out.NoteDecision("%s", p.described())
	if strings.Contains(out.Spec.When, " matches ") {
		out.NoteDecision("Regular expressions are RE2's here, of characters. nginx has PCRE's, of bytes, where $ also matches before a line break at the end.")
	}
	doubts := im.doubts(p)
	if more := len(doubts) - mostDoubts; more > 0 {
		doubts = append(doubts[:mostDoubts:mostDoubts], fmt.Sprintf("WARNING: %d more places like these.", more))
	}
	out.Notes = append(out.Notes, doubts...)
	if n.UsesField(migrate.Host) {
		out.NoteDecision("Hosts are compared without their port and in any case.")
	}
}

// variables are the parts that a key may have, besides headers.
var variables = map[string]string{
	"binary_remote_addr": "address", "remote_addr": "address", "host": "host", "http_host": "host", "uri": "path", "request_method": "method",
}

// variable is one in a text.
var variable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)

// key reads what a zone counts together.
func (im *importer) key(out *migrate.Draft, z *zone) {
	address := false
	for _, m := range variable.FindAllStringSubmatch(z.key, -1) {
		name := m[1] + m[2]
		part, known := variables[name]
		header, isHeader := strings.CutPrefix(name, "http_")
		switch made := im.made[name]; {
		case made != "":
			out.Refuse("the key $%s is made by %s: what it exempts belongs into `allowlist`, and the key into $binary_remote_addr", name, made)
		case part == "address":
			address = true
		case known:
			out.Spec.Key.With = append(out.Spec.Key.With, part)
		case isHeader && strings.Contains(header, "forwarded"), name == "proxy_add_x_forwarded_for", name == "http_x_real_ip", name == "http_cf_connecting_ip":
			out.Refuse("the key $%s is what a client may write: use the realip module and $binary_remote_addr, and import again", name)
		case isHeader:
			out.Spec.Key.With = append(out.Spec.Key.With, "header:"+strings.ReplaceAll(header, "_", "-"))
			out.NoteDecision("WARNING: requests without the header %s are not counted here, and nginx counts them together.", strings.ReplaceAll(header, "_", "-"))
		default:
			out.Refuse("the key $%s cannot be part of a key here", name)
		}
	}
	if !address && len(out.Refused) == 0 {
		out.Refuse("the key %q has no address: nginx counts all addresses together there, and edgeguard counts each address", z.key)
	}
	out.NoteDecision("The key %s: each address%s.", z.key, strings.Repeat(", with what else the key has", min(1, len(out.Spec.Key.With))))
}

// leave names what is not imported.
func (im *importer) leave(root *ConfNode, missing []*ConfNode) {
	for _, n := range missing {
		im.report.Leave("%s at %s: the file is not here. `nginx -T` prints all of them", strings.Join(n.Words, " "), n.Place())
	}
	for _, n := range im.http.Directives("limit_req_zone") {
		if z := im.zones[readZone(n).name()]; z != nil && !z.used {
			im.report.Leave("%s at %s: no limit_req uses it", strings.Join(n.Words, " "), n.Place())
			z.used = true
		}
	}
	root.EachBelow(func(n *ConfNode) {
		switch {
		case n.Word(0) == "limit_conn":
			im.report.Leave("%s at %s: edgeguard does not count open connections", strings.Join(n.Words, " "), n.Place())
		case n.Word(0) == "limit_req" && !im.seen[n]:
			im.report.Leave("%s at %s: it is in no server of the block http, where nginx would not read it", strings.Join(n.Words, " "), n.Place())
		}
	})
}
