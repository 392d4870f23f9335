package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tokenFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBadTokenFile(t *testing.T) {
	for name, file := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"), "short": tokenFile(t, "short"), "a folder": t.TempDir(),
	} {
		if _, err := New(Admitted{TokenFile: file}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokenIsReadAgain(t *testing.T) {
	const first, next = "0123456789abcdef", "another-token-of-enough-length"
	file := tokenFile(t, first+"\n")
	p, err := New(Admitted{TokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	replace := func(content string) error {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p.ReadTokens()
	}
	accepted := func(token string) bool { return p.tokens[0].equals(token) }
	if err := replace(next); err != nil || !accepted(next) || accepted(first) {
		t.Errorf("%v: new token %t, old %t", err, accepted(next), accepted(first))
	}
	for _, bad := range []string{"", "short", "two words of enough length", strings.Repeat("x", 5000), "control\x00character"} {
		if err := replace(bad); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%.20q was accepted: %v", bad, err)
		}
		if !accepted(next) {
			t.Errorf("%.20q: the previous token is gone", bad)
		}
	}
}

func TestProxySecretIsReadAgain(t *testing.T) {
	const first, next = "0123456789abcdef", "another-secret-of-enough-length"
	file := tokenFile(t, first)
	p, err := New(Admitted{ProxyAuth: ProxyAuth{Set: true, SecretFile: file}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ content, inUse string }{{next, next}, {"short", next}} {
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := p.ReadTokens()
		if (err == nil) != (c.content == c.inUse) || err != nil && !strings.Contains(err.Error(), "secret of the proxy: "+file) {
			t.Errorf("%s: %v", c.content, err)
		}
		if !p.secret.equals(c.inUse) || p.secret.equals(first) {
			t.Errorf("%s: %s is not in use", c.content, c.inUse)
		}
	}
}

// One word in both files makes no operator of a reader.
func TestOneTokenForBoth(t *testing.T) {
	p, err := New(Admitted{TokenFile: tokenFile(t, "0123456789abcdef"), ReaderTokenFile: tokenFile(t, "0123456789abcdef\n")})
	if err != nil {
		t.Fatal(err)
	}
	r := from("GET", "/blocked", "", false, map[string]string{"Authorization": "bearer  0123456789abcdef "})
	if c, refusal := p.Check(r, "GET /blocked"); refusal != nil || c.Role != Reader {
		t.Errorf("role %s: %+v", c.Role, refusal)
	}
}
