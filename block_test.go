package edgeguard_test

import (
	"strings"
	"testing"

	"edgeguard"
)

func TestOwner(t *testing.T) {
	for rule, want := range map[string]string{
		"owner fail2ban": "fail2ban", "site": "", "manual": "", "": "", "owner": "", "owner ": "", "fail2ban": "",
	} {
		if got := edgeguard.Owner(rule); got != want {
			t.Errorf("%q: owner %q, want %q", rule, got, want)
		}
	}
	if got := edgeguard.Owner(edgeguard.OwnerRule("a.b-c_9")); got != "a.b-c_9" {
		t.Errorf("owner %q", got)
	}
	for text, want := range map[string]bool{
		"fail2ban": true, "A.b-c_9": true, strings.Repeat("a", edgeguard.MaxOwner): true,
		"": false, strings.Repeat("a", edgeguard.MaxOwner+1): false, "a b": false, "a\nb": false, "é": false, "$(id)": false, "a/b": false, "=a": false,
	} {
		if edgeguard.ValidOwner(text) != want {
			t.Errorf("%q: valid %v, want %v", text, !want, want)
		}
	}
}
