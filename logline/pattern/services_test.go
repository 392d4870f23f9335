package pattern

import (
	"net/netip"
	"slices"
	"testing"
)

// TestServicesAreFixed judges the expressions of each service as an operator's are.
func TestServicesAreFixed(t *testing.T) {
	for i := range services {
		s := &services[i]
		for _, expr := range slices.Concat(s.goesOn, s.closes) {
			if _, _, tree, err := readExpression(expanded(expr)); err != nil || checkFixed(tree, "connection") != nil {
				t.Errorf("%s: %s: %v, %v", s.name, expr, err, checkFixed(tree, "connection"))
			}
		}
		for _, expr := range s.opens {
			_, _, tree, err := readExpression(expanded(expr))
			if fixed := checkFixed(tree, "addr"); err != nil || fixed != nil && fixed != errExpressionNoAddr || checkFixed(tree, "connection") != nil {
				t.Errorf("%s: %s: %v", s.name, expr, err)
			}
		}
		for _, expr := range s.expressions() {
			if _, err := CompileExpressions("", expr); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}

// TestConnectionsBounded: a log in which no connection closes takes no more memory than
// another, and the newest is remembered.
func TestConnectionsBounded(t *testing.T) {
	p := &expressionsParser{connections: map[uint64]netip.Addr{}}
	addr := netip.MustParseAddr("192.0.2.1")
	for i := range uint64(5 * maxConnections) {
		p.open(i, addr)
		if len(p.connections) > maxConnections || p.connections[i] != addr {
			t.Fatalf("%d connections, the newest at %v", len(p.connections), p.connections[i])
		}
	}
	if n := testing.AllocsPerRun(10*maxConnections, func() { p.open(uint64(len(p.connections))<<20, addr); delete(p.connections, 7) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
