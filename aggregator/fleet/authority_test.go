package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const prefix = "203.0.113.7/32"

func keys(t *testing.T, digit ...string) *aggregator.SigningKeys {
	t.Helper()
	var lines []string
	for _, d := range digit {
		lines = append(lines, strings.Repeat(d, 64))
	}
	k, err := aggregator.ParseSigningKeys(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func record(t *testing.T, change func(*aggregator.Record)) string {
	t.Helper()
	r := aggregator.Record{Block: edgeguard.Block{
		Prefix: netip.MustParsePrefix(prefix), Rule: "login", Origin: "edge-1", Reason: "over limit",
		Version: 1, Since: epoch, Until: epoch.Add(time.Hour),
	}, Retention: 5 * time.Minute}
	if change != nil {
		change(&r)
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCheck: who accepts what. An unsigned record is wrong only where signed
// ones are required, and a signed one is checked like any other.
func TestCheck(t *testing.T) {
	a, b := keys(t, "a"), keys(t, "b")
	good := record(t, func(r *aggregator.Record) { r.Forced = true })
	future := record(t, func(r *aggregator.Record) {
		r.Block.Since, r.Block.Until = epoch.Add(time.Hour), epoch.Add(2*time.Hour)
	})
	newer := "\x02" + good[1:]
	mac := func(k *aggregator.SigningKeys, record string) string { return k.Record("edge", prefix, record) }
	for _, row := range []struct {
		what         string
		record, mac  string
		none, accept error // of a node without a key, in accept
		require      error
		signed       bool // where there is a key
	}{
		{"signed", good, mac(a, good), nil, nil, nil, true},
		{"unsigned", good, "", nil, nil, ErrUnsigned, false},
		{"by another key", good, mac(b, good), nil, nil, ErrUnsigned, false},
		{"of another record", good, mac(a, future), nil, nil, ErrUnsigned, false},
		{"cut", good, mac(a, good)[:20], nil, nil, ErrUnsigned, false},
		{"wrong and signed", future, mac(a, future), aggregator.ErrWrong, aggregator.ErrWrong, aggregator.ErrWrong, true},
		{"wrong and unsigned", future, "", aggregator.ErrWrong, aggregator.ErrWrong, ErrUnsigned, false},
		{"newer and signed", newer, mac(a, newer), aggregator.ErrNewer, aggregator.ErrNewer, aggregator.ErrNewer, true},
		{"newer and unsigned", newer, "", aggregator.ErrNewer, aggregator.ErrNewer, ErrUnsigned, false},
	} {
		for mode, j := range map[string]*Authority{
			"no key": NewAuthority(nil, false, "edge"), "accept": NewAuthority(a, false, "edge"), "require": NewAuthority(a, true, "edge"),
		} {
			want := map[string]error{"no key": row.none, "accept": row.accept, "require": row.require}[mode]
			r, trust, err := j.Check(prefix, row.record, row.mac, epoch)
			if !errors.Is(err, want) || err == nil != (want == nil) {
				t.Errorf("%s, %s: %v, want %v", row.what, mode, err, want)
			}
			if want != aggregator.ErrNewer && err != nil && !errors.Is(err, aggregator.ErrWrong) {
				t.Errorf("%s, %s: %v is no ErrWrong", row.what, mode, err)
			}
			if err == nil && (trust != blocklist.Trust{Forced: true, Signed: row.signed && mode != "no key"} || r.Block.Version != 1) {
				t.Errorf("%s, %s: %+v %+v", row.what, mode, trust, r)
			}
		}
	}
}

// TestMAC: a record is signed only where the list vouches for it, and one that
// would be rejected is not published.
func TestMAC(t *testing.T) {
	text, k := record(t, nil), keys(t, "a")
	signed := blocklist.Trust{Signed: true}
	for _, row := range []struct {
		what  string
		judge *Authority
		trust blocklist.Trust
		mac   string
		ok    bool
	}{
		{"no key", NewAuthority(nil, false, "edge"), signed, "", true},
		{"accept", NewAuthority(k, false, "edge"), signed, k.Record("edge", prefix, text), true},
		{"accept, not vouched for", NewAuthority(k, false, "edge"), blocklist.Trust{Forced: true, Here: true}, "", true},
		{"require", NewAuthority(k, true, "edge"), signed, k.Record("edge", prefix, text), true},
		{"require, not vouched for", NewAuthority(k, true, "edge"), blocklist.Trust{}, "", false},
		{"require, the key not read yet", NewAuthority(nil, true, "edge"), signed, "", false},
	} {
		if mac, ok := row.judge.RecordMAC(prefix, text, row.trust); mac != row.mac || ok != row.ok {
			t.Errorf("%s: %x, %v", row.what, mac, ok)
		}
	}
}

// TestByFirst: in a rotation a record by the second key is valid, and only that by the
// first is by the key that signs.
func TestByFirst(t *testing.T) {
	text, both := record(t, nil), keys(t, "a", "b")
	j := NewAuthority(both, true, "edge")
	for digit, first := range map[string]bool{"a": true, "b": false} {
		mac := keys(t, digit).Record("edge", prefix, text)
		if _, trust, err := j.Check(prefix, text, mac, epoch); err != nil || !trust.Signed || j.ByFirst(mac) != first {
			t.Errorf("key %s: %+v, %v, by the first %v", digit, trust, err, j.ByFirst(mac))
		}
	}
}

// TestPace: at 0, 1, 3, 7, 15, 31, 63 and then each 60 seconds, however often it
// is asked.
func TestPace(t *testing.T) {
	var p AcceptPace
	var at []int
	for s := range 240 {
		now := epoch.Add(time.Duration(s) * time.Second)
		for range 3 {
			if since, ok := p.MayReplace(prefix, now); ok {
				at = append(at, s)
				if !since.Equal(epoch) {
					t.Errorf("at %d s: tried since %v", s, since)
				}
			}
		}
	}
	if want := "[0 1 3 7 15 31 63 123 183]"; fmt.Sprint(at) != want {
		t.Errorf("tried at %v, want %s", at, want)
	}
	if since, ok := p.MayReplace(prefix, epoch.Add(time.Hour)); !ok || since.Equal(epoch) {
		t.Error("after an hour it does not start again")
	}
}

// TestPaceOfAll: 50 a second, and a memory that does not grow.
func TestPaceOfAll(t *testing.T) {
	var p AcceptPace
	done := 0
	for s := range 200 {
		now := epoch.Add(time.Duration(s) * time.Second)
		n := 0
		for i := range 200 {
			if _, ok := p.MayReplace(fmt.Sprint(s, i), now.Add(time.Duration(i)*time.Millisecond)); ok {
				n++
			}
		}
		if n != eachSecond {
			t.Fatalf("%d in second %d", n, s)
		}
		done += n
	}
	if len(p.tried) != mostTried || done <= mostTried {
		t.Errorf("%d remembered of %d", len(p.tried), done)
	}
}
