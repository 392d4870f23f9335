package migrate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edgeguard/migrate"
)

func parse(t *testing.T, text string) *migrate.JSONValue {
	t.Helper()
	v, err := migrate.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What was not asked for is named, however deep it lies.
func TestJSONUnread(t *testing.T) {
	v := parse(t, `{"a": "x", "b": {"c": 5, "d": [true, {"e": null}], "f": {}}, "g": {"h": 1}, "n": null}`)
	if got := strings.Join(v.Unread(), " "); got != "" && got != "." {
		t.Errorf("%q", got)
	}
	v.Field("a")
	if got := strings.Join(v.Unread(), " "); got != "a b g n" {
		t.Errorf("%q", got)
	}
	if text, ok := v.Field("a").Text(); !ok || text != "x" {
		t.Error(text)
	}
	if _, ok := v.Field("b").Field("c").Whole(4); ok {
		t.Error("5 is at most 4")
	}
	v.Field("b").Field("f")
	for _, item := range v.Field("b").Field("d").Items() {
		_, _ = item.Truth()
	}
	if v.Field("n") != nil {
		t.Error("null is a value")
	}
	v.SkipFields("g", "missing")
	if got := strings.Join(v.Unread(), " "); got != "b.c b.d[1]" {
		t.Errorf("%q", got)
	}
	if n, ok := v.Field("b").Field("c").Whole(5); !ok || n != 5 {
		t.Error(n)
	}
	if _, ok := v.Field("b").Field("c").Text(); ok {
		t.Error("a number is a text")
	}
}

// A value that is not there has nothing.
func TestNilJSONValue(t *testing.T) {
	var v *migrate.JSONValue
	if _, ok := v.Text(); ok || v.Field("a") != nil || v.Items() != nil || v.Names() != nil || v.IsList() || v.Unread() != nil {
		t.Error("nil has something")
	}
	v.SkipFields("a")
	v.EachText("a", func(string) { t.Error("nil has a text") })
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a": [1, "b", null, true, {}]}`, `[[[]]]`, `{"a":1,"a":2}`, `1e9`, "\ufeff{}", `"\ud800"`, `{"a":`, `[1,]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := migrate.ParseJSON(data)
		if err != nil {
			return
		}
		if !json.Valid([]byte(strings.TrimPrefix(string(data), "\ufeff"))) {
			t.Fatalf("%q is read", data)
		}
		v.Unread()
		v.EachText("a", func(string) {})
	})
}
