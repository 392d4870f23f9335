package node

import (
	"math/rand/v2"
	"testing"

	"edgeguard/config"
)

// What is shared out fits, and forward auth never gets less than three quarters
// where it wants them.
func TestShareFits(t *testing.T) {
	for range 10_000 {
		want := places{auth: rand.IntN(5000), others: rand.IntN(5000)}
		files := rand.IntN(6000)
		got := want.share(files)
		switch {
		case got.auth+got.others > files, got.auth > want.auth, got.others > want.others:
			t.Fatalf("%d files for %+v: %+v", files, want, got)
		case got.auth < min(want.auth, files-files/4):
			t.Fatalf("%d files for %+v: forward auth gets %+v", files, want, got)
		case want.auth+want.others <= files && got != want:
			t.Fatalf("%d files for %+v: %+v", files, want, got)
		}
	}
}

// The packaged unit's limit is enough for the defaults.
func TestUnitsLimitIsEnough(t *testing.T) {
	want, own := wantedPlaces(config.Default())
	if need := want.auth + want.others + own; need > 65536 {
		t.Errorf("%d", need)
	}
}

// Each listener's connections are wanted, and lowered in a copy: the config stays as it was
// read.
func TestEveryListenerIsCounted(t *testing.T) {
	const each = 300
	c := config.Default()
	c.Listen.Auth = []config.Auth{{Connections: each}}
	c.Listen.Envoy = config.EnvoyListeners{{Connections: each}}
	c.Listen.Admin = []config.Admin{{Connections: each}}
	c.HAProxy.SPOE = []config.HAProxySPOE{{Connections: each}}
	c.CrowdSec.LAPI = []config.LAPI{{Connections: each}}
	want, own := wantedPlaces(c)
	if want != (places{auth: 3 * each, others: 2 * each}) {
		t.Errorf("%+v", want)
	}
	c.HAProxy.Peers = make([]config.HAProxyPeers, 1)
	if _, with := wantedPlaces(c); with != own+haproxyFiles+listenerFiles {
		t.Errorf("with peers %d files, without %d", with, own)
	}
	for _, l := range c.OwnListeners().Listeners() {
		if l.Connections != nil {
			*l.Connections = 1
		}
	}
	if same, _ := wantedPlaces(c); same != want {
		t.Errorf("lowered in the copy, the config has %+v", same)
	}
}
