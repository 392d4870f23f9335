package nearest_test

import (
	"testing"

	"edgeguard/internal/nearest"
)

func TestName(t *testing.T) {
	names := []string{"path", "port", "host", "agent", "allowlist"}
	for written, want := range map[string]string{
		"paths": "path", "pahth": "path", "hsot": "host", "Agent": "agent", "allow_list": "allowlist",
		"": "", "status": "", "x": "", "allowlistallowlistallowlistallowlist": "",
	} {
		if got, ok := nearest.Name(written, names); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
