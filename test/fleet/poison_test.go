package fleet

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// Fault 8: a client writes into the fleet's list what no node would. What does
// not parse, is too wide, protected, from the future or without end is rejected
// with an alarm; the rest of the list stays, and goes on.
func TestPoisonousList(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	f := newFleet(t, settings{}, server)
	f.start()
	good := map[netip.Prefix]bool{}
	for k := range byte(20) {
		n := f.nodes[int(k)%len(f.nodes)]
		b := manual(k, n)
		f.block(n, b)
		good[b.Prefix] = true
	}
	for k := range byte(20) {
		f.everywhere(manual(k, f.nodes[0]))
	}
	mine := &poisoner{f: f, good: good}
	mine.named()
	for range size(1000, 20_000) {
		mine.mutation()
	}
	// Beats that no node said.
	for _, text := range []string{"", "x", "1 {", " ", "99999999999999999999 {}", fmt.Sprint(time.Now().Unix()) + ` {"node":"edge-9","boot":"9","ahead_ms":1e300,"at":"2262-01-01T00:00:00Z"}`} {
		server.Client().HSet(background, blocksKey("nodes"), "edge-9/9"+text[:min(1, len(text))], text)
	}
	// A good record that has become none: the nodes write it again.
	for k, text := range []string{"", "\x01", strings.Repeat("\x01", 60)} {
		prefix := manual(byte(k), f.nodes[0]).Prefix.String()
		server.Client().HSet(background, blocksKey("blocks"), prefix, text)
		for _, n := range f.nodes {
			n.link.Resync()
		}
		f.eventually(prefix+" to be written again", func() bool {
			record := server.Client().HGet(background, blocksKey("blocks"), prefix).Val()
			_, err := aggregator.DecodeRecord(prefix, record)
			return err == nil
		})
	}
	// Behind all that, a good one.
	after := manual(100, f.nodes[1])
	f.block(f.nodes[1], after)
	f.everywhere(after)
	f.lives(mine)
	// The list's own keys are something else altogether, and then gone.
	for _, key := range []string{"blocks", "state", "ends", "stream", "watch", "nodes"} {
		server.Client().Del(background, blocksKey(key))
		server.Client().Set(background, blocksKey(key), "x", 0)
	}
	for _, n := range f.nodes {
		f.eventually(n.name+" to say that something is wrong", func() bool { return !n.link.Stats().Up })
	}
	f.lives(mine)
	for _, key := range []string{"blocks", "state", "ends", "stream", "watch", "nodes"} {
		server.Client().Del(background, blocksKey(key))
	}
	f.up()
	f.everywhere(f.standing(101))
	f.lives(mine)
	f.agree()
	var refused uint64
	for _, n := range f.nodes {
		refused += n.link.Stats().Rejected
	}
	t.Logf("%d records written, %d of them readable; %d times refused", mine.written, len(mine.readable), refused)
}

// lives checks that every node has its good blocks, and no others except those
// that parse.
func (f *fleet) lives(p *poisoner) {
	f.t.Helper()
	for _, n := range f.nodes {
		blocked := n.blocked()
		for prefix := range p.good {
			if _, ok := blocked[prefix]; !ok {
				f.t.Errorf("%s has lost %s", n.name, prefix)
			}
		}
		for prefix, b := range blocked {
			own := prefix.Addr().Is4() && strings.HasPrefix(prefix.String(), "203.0.113.") && prefix.IsSingleIP()
			if !own && !p.readable[prefix] {
				f.t.Errorf("%s has taken %+v", n.name, b)
			}
			if bits := prefix.Bits(); prefix.Addr().Is4() && bits < 16 || !prefix.Addr().Is4() && bits < 32 || prefix.Overlaps(protected) && prefix.Bits() >= protected.Bits() {
				f.t.Errorf("%s blocks %s", n.name, prefix)
			}
		}
	}
}

// poisoner writes records with and without the library.
type poisoner struct {
	f        *fleet
	good     map[netip.Prefix]bool
	readable map[netip.Prefix]bool // what a node may take
	written  int
}

// record returns a good record with what wrong does to it.
func (p *poisoner) record(prefix netip.Prefix, wrong func(r *aggregator.Record)) string {
	p.f.t.Helper()
	now := time.Now()
	r := aggregator.Record{Retention: time.Minute, Block: edgeguard.Block{
		Prefix: prefix, Rule: "manual", Reason: "poison", Origin: "stranger", Since: now, Until: now.Add(time.Hour), Version: 7,
	}}
	if wrong != nil {
		wrong(&r)
	}
	text, err := r.Encode()
	if err != nil {
		p.f.t.Fatal(err)
	}
	return text
}

// named writes what is known to be dangerous.
func (p *poisoner) named() {
	victim := netip.MustParsePrefix("198.51.100.7/32")
	wide := func(text string) { p.write(text, p.record(netip.MustParsePrefix(text), nil), false) }
	for _, text := range []string{"0.0.0.0/0", "::/0", "10.0.0.0/8", "203.0.0.0/15", "2001:db8::/31", "0.0.0.0/32", "192.0.2.0/28", "192.0.2.1/32"} {
		wide(text)
	}
	p.write("0.0.0.0/0", p.record(victim, func(r *aggregator.Record) { r.Forced = true }), false)
	good := p.record(victim, nil)
	for _, text := range []string{"", "x", "198.51.100.7", "198.51.100.7/33", "198.051.100.7/32", "198.51.100.7/24", "::ffff:198.51.100.7/128", "fe80::1%eth0/128", strings.Repeat("9", 5000)} {
		p.write(text, good, false)
	}
	for _, wrong := range []func(r *aggregator.Record){
		func(r *aggregator.Record) {
			r.Block.Since, r.Block.Until = r.Block.Since.Add(time.Hour), r.Block.Until.Add(time.Hour)
		},
		func(r *aggregator.Record) { r.Block.Until = r.Block.Since.Add(-time.Second) },
		func(r *aggregator.Record) { r.Block.Until = r.Block.Since.Add(367 * 24 * time.Hour) },
		func(r *aggregator.Record) { r.Block.Version = 1<<64 - 1 },
	} {
		p.write(victim.String(), p.record(victim, wrong), false)
	}
	p.write(victim.String(), "", false)
	p.write(victim.String(), strings.Repeat("\xff", 1<<20), false)
	p.write(victim.String(), good[:len(good)-1], false)
	p.write(victim.String(), "\x02"+good[1:], false)
}

// mutation writes a record with some bytes changed.
func (p *poisoner) mutation() {
	rng := p.f.rng
	prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(rng.IntN(256))}), 32)
	name, text := []byte(prefix.String()), []byte(p.record(prefix, nil))
	of := &text
	if rng.IntN(8) == 0 {
		of = &name
	}
	for range 1 + rng.IntN(4) {
		b := *of
		i := rng.IntN(len(b))
		switch rng.IntN(4) {
		case 0:
			b = b[:i+1]
		case 1:
			b = append(b[:i:i], append([]byte{byte(rng.Uint32())}, b[i:]...)...)
		default:
			b[i] ^= 1 << rng.IntN(8)
		}
		*of = b
	}
	p.write(string(name), string(text), true)
}

// write puts a record into the list, with the library or without, and into the
// stream as its next change. may says that a node may accept it.
func (p *poisoner) write(prefix, record string, may bool) {
	p.written++
	// What is from the future now may be of the present when a node reads it
	// again.
	for _, later := range []time.Duration{0, 2 * time.Minute} {
		r, err := aggregator.CheckRecord(prefix, record, time.Now().Add(later))
		if !may || err != nil {
			continue
		}
		if p.readable == nil {
			p.readable = map[netip.Prefix]bool{}
		}
		p.readable[r.Block.Prefix] = true
	}
	client := p.f.redis
	if p.written%2 == 0 {
		// It may refuse what it can see to be wrong.
		_ = client.FCall(background, p.f.lua+"_publish", publishKeys(), time.Now().UnixMilli(), prefix, record, "").Err()
		return
	}
	client.HSet(background, blocksKey("blocks"), prefix, record)
	version := client.HIncrBy(background, blocksKey("state"), "version", 1).Val()
	client.XAdd(background, addChange(version, prefix, record))
}
