package yamltext_test

import (
	"testing"
	"time"

	"edgeguard/config/yamltext"
)

// What YAML could take for something else than text is in quotes.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "/a-b_c.d": "/a-b_c.d", "": `""`, "5": `"5"`, "no": `"no"`, "True": `"True"`, "*": `"*"`, "a: b": `"a: b"`, "a\"\n": `"a\"\n"`, "web@1": `"web@1"`,
	} {
		if got := yamltext.Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := yamltext.Flow([]string{"a", "*"}); got != `[a, "*"]` {
		t.Error(got)
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", 24 * time.Hour: "24h", 90 * time.Second: "1m30s", time.Second: "1s"} {
		if got := yamltext.Duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for _, bytes := range []int64{0, 1, 1023, 1024, 512 << 20, 1<<40 + 1<<30} {
		if got, ok := yamltext.ParseSize(yamltext.Size(bytes)); !ok || got != bytes {
			t.Errorf("%d is written as %s", bytes, yamltext.Size(bytes))
		}
	}
	for _, text := range []string{"512", "512M", "-1B", "9999999999999TiB", "MiB", "1.5GiB"} {
		if got, ok := yamltext.ParseSize(text); ok {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}
