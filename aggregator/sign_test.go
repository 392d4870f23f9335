package aggregator

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

const (
	keyC = "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
)

func parse(t testing.TB, lines ...string) *SigningKeys {
	t.Helper()
	k, err := ParseSigningKeys(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestGolden: the contract between versions. The bytes were made with Python's
// hmac, not with this package:
//
//	hmac.new(bytes(range(32)), b"edgeguard fleet record 1\0edge\0" +
//		b"203.0.113.7/32\0" + b"\x01record \x00\xff", "sha256").digest()[:16]
func TestGolden(t *testing.T) {
	k := parse(t, keyA)
	if k.KeyID() != "f5ecb298" || parse(t, keyB).KeyID() != "546ce766" {
		t.Errorf("IDs %s, %s", k.KeyID(), parse(t, keyB).KeyID())
	}
	mac := k.Record("edge", "203.0.113.7/32", "\x01record \x00\xff")
	if want := "01f5ecb298bc76b3229cd50c02534ed54ce07ec9b2"; hex.EncodeToString([]byte(mac)) != want {
		t.Errorf("MAC %x, want %s", mac, want)
	}
	if KeyIDOf(mac) != k.KeyID() || KeyIDOf(mac[1:]) != "" || KeyIDOf("\x02"+mac[1:]) != "" {
		t.Errorf("the ID in the MAC: %q", KeyIDOf(mac))
	}
}

func TestSigned(t *testing.T) {
	k := parse(t, keyA)
	const ns, prefix, record = "edge", "203.0.113.7/32", "\x01a record"
	mac := k.Record(ns, prefix, record)
	if len(mac) != MACSize || !k.Signed(ns, prefix, record, mac) {
		t.Fatalf("MAC of %d bytes is not accepted", len(mac))
	}
	for i := range mac { // each byte counts
		changed := []byte(mac)
		changed[i] ^= 1
		if k.Signed(ns, prefix, record, string(changed)) {
			t.Errorf("accepted with byte %d changed", i)
		}
	}
	for name, row := range map[string][4]string{
		"no MAC":             {ns, prefix, record, ""},
		"one byte":           {ns, prefix, record, mac[:1]},
		"20 bytes":           {ns, prefix, record, mac[:20]},
		"22 bytes":           {ns, prefix, record, mac + "\x00"},
		"a million bytes":    {ns, prefix, record, mac + strings.Repeat("x", 1e6)},
		"another namespace":  {"edge2", prefix, record, mac},
		"another prefix":     {ns, "203.0.113.8/32", record, mac},
		"another record":     {ns, prefix, record + "\x00", mac},
		"a byte has moved":   {ns, prefix + "\x01", record[1:], mac},
		"a NUL has moved":    {ns + "\x00" + prefix, "", record, mac},
		"a part of the text": {ns, prefix + "\x00" + record, "", mac},
	} {
		if k.Signed(row[0], row[1], row[2], row[3]) {
			t.Errorf("%s: accepted", name)
		}
	}
	// A prefix that takes bytes of the record with it, by whoever writes to Redis.
	split := k.Record(ns, prefix, "one\x00two")
	if k.Signed(ns, prefix+"\x00one", "two", split) {
		t.Error("accepted, with a NUL in the prefix")
	}
	if k.Record(ns, prefix+"\x00one", "two") != "" {
		t.Error("signed, with a NUL in the prefix")
	}
	// A record's MAC is none of a heartbeat.
	beat := "{}"
	asBeat := "{" + beatStart + hex.EncodeToString([]byte(k.Record(ns, "edge-1/0", beat))) + beatEnd
	if _, ok := k.OpenBeat(ns, "edge-1/0", asBeat); ok {
		t.Error("a record's MAC is accepted for a heartbeat")
	}
}

// TestNoKey: a node without a key signs nothing, and nothing is signed for it.
func TestNoKey(t *testing.T) {
	var none *SigningKeys
	mac := parse(t, keyA).Record("edge", "p", "r")
	if none.Record("edge", "p", "r") != "" || none.Signed("edge", "p", "r", mac) || none.Signed("edge", "p", "r", "") || none.KeyID() != "" {
		t.Error("no key is a key")
	}
	if none.SignHeartbeat("edge", "f", "{}") != "{}" {
		t.Error("no key signs heartbeats")
	}
	if text, ok := none.OpenBeat("edge", "f", parse(t, keyA).SignHeartbeat("edge", "f", `{"a":1}`)); ok || len(text) != 7+beatMACSize {
		t.Errorf("no key verifies a heartbeat: %q", text)
	}
}

// TestRotation: during each step of a rotation, nodes before it and after it
// read each other; those of the first and the last key alone do not.
func TestRotation(t *testing.T) {
	steps := [][]string{{keyA}, {keyA, keyB}, {keyB, keyA}, {keyB}}
	for w, writer := range steps {
		for r, reader := range steps {
			signer := writer[0]
			want := strings.Contains(strings.Join(reader, " "), signer)
			k := parse(t, reader...)
			if got := k.Signed("edge", "p", "r", parse(t, writer...).Record("edge", "p", "r")); got != want {
				t.Errorf("written at step %d, read at step %d: %v", w, r, got)
			}
			if (w-r <= 1 && r-w <= 1) && !want {
				t.Errorf("steps %d and %d do not overlap", w, r)
			}
		}
	}
}

func TestParseKeys(t *testing.T) {
	for _, text := range []string{keyA, keyA + "\n", "# of the fleet\n\n" + keyA + "\r\n", "  " + strings.ToUpper(keyA) + "\t\n" + keyB} {
		if k, err := ParseSigningKeys(text); err != nil || k.KeyID() != "f5ecb298" {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"":                "no key",
		"# nothing\n\n":   "no key",
		keyA[:63]:         "line 1",
		keyA + "0":        "line 1",
		keyA + " # signs": "line 1",
		"\n" + strings.Replace(keyA, "0", "g", 1): "line 2",
		keyA + "\n" + strings.Repeat("é", 32):     "line 2",
		keyA + "\n" + strings.ToUpper(keyA):       "line 2 repeats",
		keyA + "\n" + keyB + "\n" + keyC:          "line 3",
	} {
		_, err := ParseSigningKeys(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		for _, part := range []string{"0a0b0c", "2a2b2c", "4a4b4c", "0A0B0C", "g00102", "é"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("the error shows the file: %v", err)
			}
		}
	}
	if k := parse(t, NewSigningKey([32]byte{1, 2, 3})); k.KeyID() == "" {
		t.Error("a new key is refused")
	}
}

// TestNoKeyIsPrinted: whatever a log prints of the keys has no key in it.
func TestNoKeyIsPrinted(t *testing.T) {
	k := parse(t, keyA, keyB)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(verb, k) + fmt.Sprintf(verb, struct{ Keys *SigningKeys }{k})
		if strings.Contains(text, "0a0b0c") || strings.Contains(text, "10, 11, 12") || strings.Contains(text, "10 11 12") || strings.Contains(text, "0xa, 0xb") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	if k.String() != "keys f5ecb298, 546ce766" {
		t.Error(k.String())
	}
}

func BenchmarkRecord(b *testing.B) {
	k := parse(b, keyA)
	record := strings.Repeat("r", 220)
	for b.Loop() {
		k.Record("edgeguard", "203.0.113.7/32", record)
	}
}

func BenchmarkSigned(b *testing.B) {
	k := parse(b, keyB, keyA)
	record := strings.Repeat("r", 220)
	mac := parse(b, keyA).Record("edgeguard", "203.0.113.7/32", record)
	for b.Loop() {
		if !k.Signed("edgeguard", "203.0.113.7/32", record, mac) {
			b.Fatal("not signed")
		}
	}
}
