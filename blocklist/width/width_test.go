package width

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// paint is the oracle: how often each address of 10.0.0.0/20, or each /48 of
// 2001:db8::/36, is covered.
type paint struct{ v4, v6 [1 << 12]int }

func (p *paint) change(prefix netip.Prefix, by int) {
	cells, first, n := p.v6[:], 0, 1
	if prefix.Addr().Is4() {
		b := prefix.Addr().As4()
		cells, first, n = p.v4[:], int(b[2])<<8|int(b[3]), 1<<(32-prefix.Bits())
	} else {
		b := prefix.Addr().As16()
		first = int(b[4])<<8 | int(b[5])
		n = 1 << (48 - min(48, prefix.Bits()))
	}
	for i := first; i < first+n; i++ {
		cells[i] += by
	}
}

func (p *paint) width() (w Width) {
	for i := range p.v4 {
		if p.v4[i] > 0 {
			w.V4++
		}
		if p.v6[i] > 0 {
			w.V6++
		}
	}
	return w
}

// draw returns a prefix in the oracle's part of the address space.
func draw(rng *rand.Rand) netip.Prefix {
	at := rng.IntN(1 << 12)
	if rng.IntN(2) == 0 {
		p, _ := netip.AddrFrom4([4]byte{10, 0, byte(at >> 8), byte(at)}).Prefix(20 + rng.IntN(13))
		return p
	}
	p, _ := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(at >> 8), byte(at), byte(rng.IntN(3)), 15: byte(rng.IntN(9))}).Prefix(36 + rng.IntN(93))
	return p
}

// The union of prefixes that come and go is what they cover, each address once.
func TestUnionOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 20 {
		var u Union
		var oracle paint
		var in []netip.Prefix
		for range 600 {
			p := draw(rng)
			if len(in) > 0 && rng.IntN(5) < 2 {
				i := rng.IntN(len(in))
				p = in[i]
				in[i] = in[len(in)-1]
				in = in[:len(in)-1]
				u.Remove(p)
				oracle.change(p, -1)
			} else {
				want := oracle
				want.change(p, 1)
				if got := u.WidthWith(p); got != want.width() {
					t.Fatalf("seed %d: with %s it is %+v, want %+v", seed, p, got, want.width())
				}
				in = append(in, p)
				u.Add(p)
				oracle.change(p, 1)
			}
			if got, want := u.Width(), oracle.width(); got != want {
				t.Fatalf("seed %d: after %s it is %+v, want %+v", seed, p, got, want)
			}
		}
		for _, p := range in {
			u.Remove(p)
		}
		u.Remove(draw(rng)) // nothing is there
		if u.Width() != (Width{}) || u.roots != [2]uint32{} {
			t.Fatalf("seed %d: empty, it is %+v", seed, u.Width())
		}
	}
}

// What was removed leaves its room to what comes: a list that is replaced every hour
// does not grow.
func TestUnionUsesRoomAgain(t *testing.T) {
	var u Union
	rng := rand.New(rand.NewPCG(1, 1))
	fill := func() {
		var in []netip.Prefix
		for range 1000 {
			in = append(in, draw(rng))
			u.Add(in[len(in)-1])
		}
		for _, p := range in {
			u.Remove(p)
		}
	}
	for range 100 {
		fill()
	}
	if n := len(u.nodes); n > 2001 {
		t.Errorf("%d places for 1000 prefixes", n)
	}
}

func TestWholeFamilies(t *testing.T) {
	var u Union
	for _, c := range []struct {
		prefix string
		want   Width
	}{
		{"0.0.0.0/1", Width{1 << 31, 0}}, {"128.0.0.0/1", Width{1 << 32, 0}}, {"0.0.0.0/0", Width{1 << 32, 0}},
		{"2000::/3", Width{1 << 32, 1 << 45}}, {"::/0", Width{1 << 32, 1 << 48}}, {"2001:db8::1/128", Width{1 << 32, 1 << 48}},
	} {
		u.Add(netip.MustParsePrefix(c.prefix))
		if got := u.Width(); got != c.want {
			t.Errorf("with %s: %+v, want %+v", c.prefix, got, c.want)
		}
	}
	if PartOfSpace(16) != (Width{1 << 28, 1 << 35}) || !WidthOf(netip.MustParsePrefix("10.0.0.0/4")).Within(PartOfSpace(16)) || WidthOf(netip.MustParsePrefix("10.0.0.0/3")).Within(PartOfSpace(16)) {
		t.Error("a sixteenth")
	}
}

// BenchmarkUnion is one prefix that comes and goes in a list of 100,000, which lie in a
// network that comes and goes as well.
func BenchmarkUnion(b *testing.B) {
	var u Union
	for i := range 100_000 {
		u.Add(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32))
	}
	around := netip.MustParsePrefix("10.0.0.0/8")
	for i := 0; b.Loop(); i++ {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		u.Add(around)
		u.Add(p)
		u.Remove(p)
		u.Remove(around)
	}
}
