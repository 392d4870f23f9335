package yaml_test

import (
	"testing"
	"time"

	"edgeguard/config/yaml"
)

// What YAML could take for something else than text is in quotes.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "/a-b_c.d": "/a-b_c.d", "": `""`, "5": `"5"`, "no": `"no"`, "True": `"True"`, "*": `"*"`, "a: b": `"a: b"`, "a\"\n": `"a\"\n"`, "web@1": `"web@1"`,
	} {
		if got := yaml.Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := yaml.Flow([]string{"a", "*"}); got != `[a, "*"]` {
		t.Error(got)
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", 24 * time.Hour: "24h", 90 * time.Second: "1m30s", time.Second: "1s"} {
		if got := yaml.Duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for _, bytes := range []int64{0, 1, 1023, 1024, 512 << 20, 1<<40 + 1<<30} {
		if got, ok := yaml.ParseSize(yaml.Size(bytes)); !ok || got != bytes {
			t.Errorf("%d is written as %s", bytes, yaml.Size(bytes))
		}
	}
	for _, text := range []string{"512", "512M", "-1B", "9999999999999TiB", "MiB", "1.5GiB"} {
		if got, ok := yaml.ParseSize(text); ok {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "2d12h": 60 * time.Hour, "5m": 5 * time.Minute, "1m30s": 90 * time.Second, "24h": 24 * time.Hour, "500ms": 500 * time.Millisecond,
	} {
		got, ok := yaml.ParseDuration(text)
		if !ok || got != want || yaml.Duration(got) != text {
			t.Errorf("%s: %v, %v, printed %s", text, got, ok, yaml.Duration(got))
		}
	}
	for _, text := range []string{"", "d", "1.5d", "-1d", "1d-1h", "1d24h", "1d1d", "5", "36501d", "99999999999999999999d", "1d x", "+1d"} {
		if got, ok := yaml.ParseDuration(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	for d := time.Millisecond; d < 2400*time.Hour; d = d*7/3 + time.Millisecond {
		if got, ok := yaml.ParseDuration(yaml.Duration(d)); !ok || got != d {
			t.Errorf("%v is printed as %s and read as %v", d, yaml.Duration(d), got)
		}
	}
}
