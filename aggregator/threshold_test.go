package aggregator

import (
	"encoding/hex"
	"strings"
	"testing"
)

// The bytes were made with Python's hmac, as those of TestGolden.
func TestThreshold(t *testing.T) {
	k := parse(t, keyA)
	value := k.Threshold("edge", "site", `{"format":1}`)
	if got := hex.EncodeToString([]byte(value[:MACSize])); got != "01f5ecb298069f33b0947b9837a831dad7327f8044" {
		t.Errorf("MAC %s", got)
	}
	if record, signed := k.OpenThreshold("edge", "site", value); !signed || record != `{"format":1}` {
		t.Errorf("opened as %q, %v", record, signed)
	}
	for name, row := range map[string][3]string{
		"nothing":           {"edge", "site", ""},
		"no MAC":            {"edge", "site", `{"format":1}`},
		"a MAC alone":       {"edge", "site", value[:MACSize]},
		"another namespace": {"edge2", "site", value},
		"another rule":      {"edge", "login", value},
		"another record":    {"edge", "site", value + " "},
		"a NUL":             {"edge", "si\x00te", value},
		"a block's MAC":     {"edge", "site", k.Record("edge", "site", `{"format":1}`) + `{"format":1}`},
		"another key":       {"edge", "site", parse(t, keyB).Threshold("edge", "site", `{"format":1}`)},
		"large":             {"edge", "site", strings.Repeat("x", 1<<20)},
	} {
		if record, signed := k.OpenThreshold(row[0], row[1], row[2]); signed {
			t.Errorf("%s: opened as %q", name, record)
		}
	}
	if k.Threshold("edge", "si\x00te", "r") != "" {
		t.Error("signed, with a NUL in the rule")
	}
	var none *SigningKeys
	if _, signed := none.OpenThreshold("edge", "site", value); signed || none.Threshold("edge", "site", "r") != "" {
		t.Error("no key is a key")
	}
	both := parse(t, keyB, keyA)
	if _, signed := both.OpenThreshold("edge", "site", value); !signed {
		t.Error("the second key does not verify")
	}
}
