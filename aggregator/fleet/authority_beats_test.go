package fleet

import (
	"fmt"
	"testing"
	"time"

	"edgeguard/aggregator"
)

// What a heartbeat says of its node's key, and which heartbeats count.
func TestBeat(t *testing.T) {
	const namespace = "test"
	none := NewAuthority(nil, false, namespace)
	accept := NewAuthority(keys(t, "1"), false, namespace)
	require := NewAuthority(keys(t, "1"), true, namespace)
	other := NewAuthority(keys(t, "2"), false, namespace)
	h := aggregator.Heartbeat{Node: "edge-a", Boot: "0123456789abcdef", At: time.Unix(1_800_000_000, 0).UTC(), Run: "01234567", Seq: 3}
	for _, test := range []struct {
		from, to *Authority
		want     string
	}{
		{none, none, "mode '', signed false, counts true"},
		{none, accept, "mode '', signed false, counts true"},
		{none, require, "mode '', signed false, counts false"},
		{accept, none, "mode 'accept', signed false, counts true"},
		{accept, require, "mode 'accept', signed true, counts true"},
		{require, accept, "mode 'require', signed true, counts true"},
		{other, accept, "mode 'accept', signed false, counts true"},
		{other, require, "mode 'accept', signed false, counts false"},
	} {
		got, signed, ok := test.to.ParseHeartbeat(h.Field(), test.from.EncodeBeat(h))
		if s := fmt.Sprintf("mode '%s', signed %v, counts %v", got.Mode, signed, ok); s != test.want {
			t.Errorf("%s to %s: %s, want %s", test.from.KeyMode(), test.to.KeyMode(), s, test.want)
		}
		if got.Seq != 3 || got.Key != test.from.KeyID() {
			t.Errorf("%s: %+v", test.from.KeyMode(), got)
		}
	}
	if _, _, ok := accept.ParseHeartbeat("edge-b/0123456789abcdef", accept.EncodeBeat(h)); ok {
		t.Error("a heartbeat under another field counts")
	}
}
