package count

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/detector/outage"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Operation is what is counted.
type Operation struct {
	Name, Does string
	Calls      int // by how many the longer run is longer
	Items      int // in one call
	start      func() step
}

// step draws the operands of call i, and makes the call if asked to.
type step func(i int, call bool)

const (
	keyCount  = 1 << 18 // several times the last-level cache that is simulated
	fewKeys   = 1 << 12 // where the rules are what is counted
	batchSize = 64
	budget    = 1 << 30
	seed      = 0x5eed
	slot      = 1000 // the newest that a key was filled in
)

// now is the beginning of a slot.
var now = time.Unix(1780358400, 0)

// Operations lists what is counted of edgeguard: the rows of the table.
func Operations() []Operation {
	return slices.Concat(adds(), decisions(), outages(), ruleSets(), logLines())
}

// Drive draws the operands of all calls and makes the first made of them: of two
// runs that differ in made, the difference is calls, and nothing of the driver.
func (o *Operation) Drive(made, all int) {
	step := o.start()
	for i := range all {
		step(i, i < made)
	}
}

// v4 and v6 return the n-th key, an address or a /64; neighbours in n are far apart.
func v4(n int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n)*0x9e3779b1)
	return netip.AddrFrom4(b)
}

func v6(n int) netip.Addr {
	b := [16]byte{15: 1}
	binary.BigEndian.PutUint64(b[:], 0x2a<<56|uint64(uint32(n)*0x9e3779b1))
	return netip.AddrFrom16(b)
}

// adds are counts in a table of many keys, each drawn once in a pass over all. How
// many of them lie outside their home group depends on how full the pages are: with
// these, one in six, which is the mean over all sizes.
func adds() []Operation {
	cold, dense := uint16(1), uint16(1000) // a cost above 255 gives a key its ring
	single := func(name, does string, address func(int) netip.Addr, cost uint16, c shard.Config, perSlot int) Operation {
		return Operation{"Add/" + name, does, 1 << 20, 1, func() step {
			t := filled(address, cost, c)
			op := shard.Op{Cost: 1, With: with(c)}
			return func(i int, call bool) {
				op.Addr, op.Now = address(i*7919%keyCount), slot+uint32(i/perSlot)
				op.Slot = op.Now
				if call {
					t.Add(&op)
				}
			}
		}}
	}
	const stands = 1 << 30
	return []Operation{
		single("ipv4/cold", "a key seen in two slots, once more in the newer one", v4, cold, shard.Config{}, stands),
		single("ipv4/cold-later", "the same in a slot of its own, later: the head moves", v4, cold, shard.Config{}, 1<<13),
		single("ipv4/dense", "a key that has a ring; the clock stands", v4, dense, shard.Config{}, stands),
		single("ipv6/cold", "a /64 as ipv4/cold", v6, cold, shard.Config{}, stands),
		single("ipv6/cold-later", "a /64 as ipv4/cold-later", v6, cold, shard.Config{}, 1<<13),
		single("ipv6/dense", "a /64 as ipv4/dense", v6, dense, shard.Config{}, stands),
		single("peaks/cold", "ipv4/cold in a table that keeps each key's peak", v4, cold, shard.Config{Peaks: true}, stands),
		single("peaks/dense", "ipv4/dense in a table that keeps each key's peak", v4, dense, shard.Config{Peaks: true}, stands),
		single("with/cold", "ipv4/cold with an attribute in the key", v4, cold, shard.Config{With: true}, stands),
		addBatch("cold", "one of a batch of 64 as ipv4/cold", cold),
		addBatch("dense", "one of a batch of 64 as ipv4/dense", dense),
	}
}

func with(c shard.Config) string {
	if c.With {
		return "host=harbour.example"
	}
	return ""
}

// filled returns a table with every key in two slots.
func filled(address func(int) netip.Addr, cost uint16, c shard.Config) *shard.Table {
	c.Seed = seed
	t := shard.New(shard.NewMemory(budget), c)
	for n := range keyCount {
		t.Add(&shard.Op{Addr: address(n), With: with(c), Now: slot - 3, Slot: slot - 3, Cost: cost})
		t.Add(&shard.Op{Addr: address(n), With: with(c), Now: slot, Slot: slot, Cost: 1})
	}
	return t
}

func addBatch(name, does string, cost uint16) Operation {
	return Operation{"AddBatch/" + name, does, 1 << 20 / batchSize, batchSize, func() step {
		t := filled(v4, cost, shard.Config{})
		var ops [batchSize]shard.Op
		var out [batchSize]shard.Count
		return func(i int, call bool) {
			for k := range ops {
				ops[k].Addr = v4((i*batchSize + k) * 7919 % keyCount)
				ops[k].Now, ops[k].Slot, ops[k].Cost = slot, slot, 1
			}
			if call {
				t.AddBatch(ops[:], out[:])
			}
		}
	}}
}

var (
	site  = rules.Spec{Name: "site", Threshold: 60000}
	login = rules.Spec{Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login.php", "/xmlrpc.php"}}}
)

const page = "/product/item-001/"

// decisions are verdicts on a request for a page; the lists are empty, and it passes.
func decisions() []Operation {
	const keys = 1 << 16
	wide := site
	wide.Wide = rules.WideOff
	byPath, ofAll := site, site
	byPath.Key, byPath.Action = rules.Group{With: []string{"path"}}, edgeguard.ActionShadow
	ofAll.Key, ofAll.Action = rules.Group{Everybody: true, With: []string{"path"}}, edgeguard.ActionShadow
	var pages []string
	for i := range 16 { // enough that no count is over the limit
		pages = append(pages, fmt.Sprintf("/product/item-%03d/", i))
	}
	return []Operation{
		decidePaths("Decide/path", "one meter, by address and path", v4, keys/2, 1<<17, pages, []rules.Spec{byPath}),
		decidePaths("Decide/everybody", "one meter, by the path alone", v4, keys/2, 1<<17, pages, []rules.Spec{ofAll}),
		fingerprint("Fingerprint/path", "the fingerprint of the first's attributes", false),
		fingerprint("Fingerprint/everybody", "of the second's, by SHA-256 without the processor's instructions for it", true),
		decide("Decide/one", "one meter, which counts", v4, keys, 1<<17, page, site),
		decide("Decide/two", "two meters: one counts, the other's method does not match", v4, keys, 1<<17, page, site, login),
		decideBatch(keys),
		decide("Decide/ipv6/wide-off", "a /64, one meter, wide networks not counted", v6, keys, 1<<17, page, wide),
		decide("Decide/ipv6/wide-on", "the same, and the /56 and the /48 around it", v6, keys, 1<<17, page, site),
	}
}

func fingerprint(name, does string, everybody bool) Operation {
	return Operation{name, does, 1 << 18, 1, func() step {
		sum := uint64(0)
		return func(_ int, call bool) {
			if call {
				sum += shard.Fingerprint("path=/product/item-001/", everybody)
			}
		}
	}}
}

// outages are answers of a healthy site, each of an address that succeeded in this step.
func outages() []Operation {
	const visitors = 64
	see := func(name, does string, address func(int) netip.Addr) Operation {
		return Operation{"See/" + name, does, 1 << 20, 1, func() step {
			g, sec := outage.New(seed), uint32(now.Unix())
			for n := range visitors {
				g.CountAnswer(0, sec, address(n), true)
			}
			return func(i int, call bool) {
				if addr := address(i % visitors); call {
					g.CountAnswer(0, sec, addr, true)
				}
			}
		}}
	}
	return []Operation{
		see("ipv4", "what the outage guard does with a success of an address that it has seen in this step", v4),
		see("ipv6", "the same for a /64", v6),
	}
}

func compile(specs []rules.Spec) *rules.Set {
	set, problems := rules.Compile(specs)
	if len(problems) > 0 {
		panic(fmt.Sprint(problems))
	}
	return set
}

// request returns a request to the server for path.
func request(path string) edgeguard.Event {
	return edgeguard.Event{Time: now, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath, Host: "harbour.example", Method: "GET", Path: path}
}

// known returns a detector that knows each key.
func known(address func(int) netip.Addr, keys int, specs ...rules.Spec) *detector.Detector {
	d := detector.New(detector.Config{Rules: compile(specs), Memory: shard.NewMemory(budget), List: blocklist.New(blocklist.Config{}), Seed: seed})
	ev := request("/")
	for n := range keys {
		ev.Addr = address(n)
		passes(d.Decide(now, &ev))
	}
	return d
}

func passes(v edgeguard.Verdict) {
	if v.Action != edgeguard.ActionPass {
		panic(fmt.Sprintf("not passed: %+v", v))
	}
}

func decide(name, does string, address func(int) netip.Addr, keys, calls int, path string, specs ...rules.Spec) Operation {
	return decidePaths(name, does, address, keys, calls, []string{path}, specs)
}

func decidePaths(name, does string, address func(int) netip.Addr, keys, calls int, paths []string, specs []rules.Spec) Operation {
	return Operation{name, does, calls, 1, func() step {
		d, ev := known(address, keys, specs...), request("/")
		next := func(i int) { ev.Addr, ev.Path = address(i*7919%keys), paths[i%len(paths)] }
		if len(paths) > 1 { // or how many are new would go by how many calls are made
			for i := range keys {
				next(i)
				d.Decide(now, &ev)
			}
		}
		return func(i int, call bool) {
			if next(i); call {
				passes(d.Decide(now, &ev))
			}
		}
	}}
}

func decideBatch(keys int) Operation {
	return Operation{"DecideBatch/two", "one of a batch of 64 as Decide/two", 1 << 17 / batchSize, batchSize, func() step {
		d := known(v4, keys, site, login)
		nows, events := slices.Repeat([]time.Time{now}, batchSize), slices.Repeat([]edgeguard.Event{request(page)}, batchSize)
		verdicts := make([]edgeguard.Verdict, batchSize)
		return func(i int, call bool) {
			for k := range events {
				events[k].Addr = v4((i*batchSize + k) * 7919 % keys)
			}
			if call {
				d.DecideBatch(nows, events, verdicts)
			}
		}
	}}
}

// fourTerms matches by host, method, path and status.
var fourTerms = rules.Spec{Name: "login", Threshold: 60000, Match: rules.Match{
	Host: []string{"www.harbour.example", "harbour.example"}, Method: []string{"POST"},
	Path: []string{"/wp-login.php*", "/xmlrpc.php"}, Status: []string{"200", "4xx"}}}

// response returns the answer to a request.
func response(method, path string) edgeguard.Event {
	ev := request(path)
	ev.Kind, ev.Verified, ev.Status, ev.Method = edgeguard.KindResponse, edgeguard.KindResponse, 200, method
	ev.Known |= edgeguard.FieldStatus
	return ev
}

func match(name, does string, ev edgeguard.Event, want bool) Operation {
	return Operation{"Match/" + name, does, 1 << 18, 1, func() step {
		m := &compile([]rules.Spec{fourTerms}).Meters[0]
		return func(_ int, call bool) {
			if !call {
				return
			}
			if _, ok := m.Match(&ev); ok != want {
				panic("the match of " + name)
			}
		}
	}}
}

// paths returns n rules of one path each.
func paths(n int, pattern string) []rules.Spec {
	specs := make([]rules.Spec, n)
	for i := range specs {
		specs[i] = rules.Spec{Name: fmt.Sprint("path-", i), Threshold: 60000, Match: rules.Match{Path: []string{fmt.Sprintf(pattern, i)}}}
	}
	return specs
}

// counting returns n rules that count every page, each by another match.
func counting(n int) []rules.Spec {
	specs := make([]rules.Spec, n)
	for i := range specs {
		specs[i] = rules.Spec{Name: fmt.Sprint("page-", i), Threshold: 60000, Match: rules.Match{Path: []string{"/*", fmt.Sprintf("/private/%d/login", i)}}}
	}
	return specs
}

// ruleSets are what rules cost: one by itself, sets of which none matches, and sets of which all do.
func ruleSets() []Operation {
	set := func(name, does string, calls, n int, pattern, path string) Operation {
		many := make([]string, 512) // what one path costs depends on the seed of a map, as what compiling costs: therefore many calls
		for i := range many {
			many[i] = fmt.Sprintf("%s%03d", path, i)
		}
		return decidePaths("Rules/"+name, does, v4, fewKeys, calls, many, paths(n, pattern))
	}
	return []Operation{
		match("holds", "a rule of four terms, by itself: host, method, path, status", response("POST", "/wp-login.php"), true),
		match("path-misses", "the same rule on another path", response("POST", "/wp-admin/admin-ajax.php"), false),
		match("method-misses", "the same rule on another method", response("GET", "/wp-login.php"), false),
		set("1-path", "a verdict by one rule of a path, which does not match", 1<<15, 1, "/private/%d/login", page),
		set("20-paths", "a verdict by 20 rules of one path each, none matches", 1<<15, 20, "/private/%d/login", page),
		set("200-paths", "by 200 of them", 1<<17, 200, "/private/%d/login", page),
		decide("Rules/20-count", "by 20 that all match and count, each by itself", v4, 1<<9, 1<<13, page, counting(20)...),
		decide("Rules/200-count", "by 200 of those", v4, 1<<9, 1<<12, page, counting(200)...),
		set("20-stars", "by 20 whose star comes behind another head", 1<<15, 20, "/private-%d/*", page),
		set("20-stars-fit", "by 20 whose head fits, and the rest does not", 1<<14, 20, "/product/*/%d", page),
		set("20-odd", "by 20-paths, on a path that is not in normal form", 1<<14, 20, "/private/%d/login", "//product/./a/../item%2d001/?q=1"),
		set("20-hostile", "by 20-paths, on 4 KiB of slashes, dots and escapes", 1<<7, 20, "/private/%d/login", strings.Repeat("/%2e%2E//a", 410)),
		set("20-hostile-stars", "by 20 of several stars, on 4 KiB that nearly match", 1<<7, 20, "/*a*b*/c-%d*", strings.Repeat("/ab/c-", 683)),
	}
}
