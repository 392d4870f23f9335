package torture

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/internal/program"
)

// peer is who sends forged headers.
const peer = "203.0.113.50"

// forgedHops is what a client may write into a header that lists hops.
func forgedHops(rng *rand.Rand) string {
	hops := make([]string, rng.IntN(12))
	for i := range hops {
		a := rng.Uint32()
		switch rng.IntN(8) {
		case 0:
			hops[i] = fmt.Sprintf("2001:db8:%x:%x::%x", a>>16, a&0xffff, rng.Uint32N(1<<16))
		case 1:
			hops[i] = fmt.Sprintf("\"[2001:db8::%x]:%d\"", a&0xffff, a>>16)
		case 2:
			hops[i] = fmt.Sprintf("::ffff:%v:80", netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}))
		case 3:
			hops[i] = []string{"", "unknown", "_hidden", "127.0.0.1", "::1", "localhost", "10.0.0.1", strings.Repeat("9", 300), "%00", "for=" + peer}[rng.IntN(10)]
		default:
			hops[i] = netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}).String()
		}
	}
	return strings.Join(hops, ", ")
}

const forgedConfig = `
node: test
state: $DIR/state
listen:
  auth: [{address: "unix:$DIR/auth.sock", emit: request}, {address: "127.0.0.1:9180", emit: request}]
  admin: ["unix:$DIR/admin.sock"]
rules:
  - {name: site, threshold: 5000, guard: 1, window: 1h}
`

const forgedLimit = 5000

// Fault 11, behind a proxy: a client writes whatever it likes into
// X-Forwarded-For, and the proxy, which is believed, adds its address at the
// end. That is one key, and it is limited.
func TestForgedBehindAProxy(t *testing.T) {
	n := newNode(t, strings.Replace(forgedConfig, "127.0.0.1:9180", program.Address(t), 1))
	n.start()
	rng := newRand(t)
	n.forge(n.asker(), func() (path string, header []string) {
		for range rng.IntN(3) {
			header = append(header, "X-Forwarded-For: "+forgedHops(rng))
		}
		last := peer
		if hops := forgedHops(rng); hops != "" && rng.IntN(2) == 0 {
			last = hops + ", " + peer
		}
		return "/auth/forward", append(header, "X-Forwarded-For: "+last, "Forwarded: for="+victim, "X-Real-IP: "+victim)
	})
}

// Fault 11, from a peer that nobody trusts: no header of it is read at all.
func TestForgedByAStranger(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNode(t, forgedConfig)
	n.start()
	rng := newRand(t)
	n.forge(newAsker(dialFrom(t, peer, "127.0.0.1:9180")), func() (path string, header []string) {
		for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP", "X-Envoy-External-Address", "Connection"} {
			if rng.IntN(2) == 0 {
				value := forgedHops(rng)
				if name == "Connection" {
					value = "keep-alive, X-Forwarded-For"
				}
				header = append(header, name+": "+value)
			}
		}
		return []string{"/auth/forward", "/auth/nginx", "/auth/envoy/x"}[rng.IntN(3)], header
	})
}

// forge sends requests that all come from the peer, and wants it to be one key
// that is limited, and nobody else to be blocked.
func (n *node) forge(ask *asker, request func() (path string, header []string)) {
	n.t.Helper()
	var all passes
	for range size(20_000, 1_000_000) {
		path, header := request()
		status, err := ask.ask(path, header...)
		if err != nil {
			n.t.Fatalf("%s %q: %v", path, header, err)
		}
		all.note(status != http.StatusOK)
	}
	if all.passed != forgedLimit || all.firstRefused != forgedLimit+1 {
		n.t.Errorf("%d passed, request %d was the first refused; want %d and the next", all.passed, all.firstRefused, forgedLimit)
	}
	if s := n.status(); s.Tables.Keys != 1 || s.Events.Decided != uint64(all.asked) {
		n.t.Errorf("%d keys, %d events; want 1 and %d", s.Tables.Keys, s.Events.Decided, all.asked)
	}
	blocks := n.blocks()
	if _, found := blocks[netip.MustParsePrefix(peer+"/32")]; !found || len(blocks) != 1 {
		n.t.Errorf("blocked: %v; want %s alone", blocks, peer)
	}
}
