package edgeguard

import "testing"

// What a server does of itself, before it looks who asks, says nothing of a block: who is
// blocked could else have a node say that he is served.
func TestTreatmentOf(t *testing.T) {
	for status, want := range map[uint16]Treatment{
		0: TreatmentUnknown, 101: TreatmentUnknown, 200: Served, 206: Served, 302: Served, 304: Served, 401: Served, 404: Served, 418: Served,
		403: TurnedAway, 429: TurnedAway, 444: TurnedAway, 400: TreatmentUnknown, 405: TreatmentUnknown, 408: TreatmentUnknown, 499: TreatmentUnknown,
		500: TreatmentUnknown, 502: TreatmentUnknown, 504: TreatmentUnknown, 65535: TreatmentUnknown, 503: TurnedAway, 307: TurnedAway,
	} {
		if got := TreatmentOf(status, []uint16{503, 307}); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
	if got := TreatmentOf(503, nil); got != TreatmentUnknown {
		t.Errorf("503: %d", got)
	}
}
