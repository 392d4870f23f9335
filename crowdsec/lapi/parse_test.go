package lapi

import (
	"strings"
	"testing"
)

// FuzzParse holds that no text of the file makes more keys than may be, or one that has
// no whole hash.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "{}", `{"keys":[{}]}`, `{"keys":[{"name":"a","sha256":"` + strings.Repeat("0a", 32) + `","kernel":"auto","made":"2027-01-15T08:00:00Z"}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parse(text)
		if len(all) > MostKeys || err != nil && len(all) > 0 {
			t.Fatalf("%d keys, %v", len(all), err)
		}
		for _, one := range all {
			if len(one.Hash) != 64 || one.Name == "" {
				t.Fatalf("%+v", one)
			}
		}
	})
}
