package aggregator

import (
	"net/netip"
	"testing"
)

// TestHeartbeatFits: a heartbeat with too many addresses is cut to fit, and is read
// only from its own field.
func TestHeartbeatFits(t *testing.T) {
	h := Heartbeat{Node: "edge-a", Boot: "0123456789abcdef", Version: "test"}
	for i := range 200 {
		h.Own = append(h.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	text := h.Encode()
	back, ok := ParseHeartbeat(h.Field(), text)
	if !ok || len(text) > MaxHeartbeat || len(back.Own) == 0 || back.Version != "test" {
		t.Errorf("%d bytes, %d addresses, %v", len(text), len(back.Own), ok)
	}
	if _, ok := ParseHeartbeat("edge-b/0123456789abcdef", text); ok {
		t.Error("accepted from another node's field")
	}
}
