package node

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/program"
)

// The config's tokens and proxy are those of the listener, and a reload reads
// their files again.
func TestWaysToTheAdminAPI(t *testing.T) {
	folder, address := shortDir(t), program.Address(t)
	write := func(name, secret string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("operators", "the-token-of-operators")
	write("readers", "the-token-of-readers")
	write("proxy", "the-secret-of-the-proxy")
	newNode(t, folder, strings.NewReplacer("ADDRESS", address).Replace(`
listen:
  auth: "unix:$DIR/auth.sock"
  admin:
    - {address: "ADDRESS", token_file: $DIR/operators, reader_token_file: $DIR/readers,
       proxy_auth: {from: [127.0.0.1], secret_file: $DIR/proxy}}
rules: [{name: small, threshold: 10}]
`)).start()
	reload := func(header ...string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/api/v1/reload", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	proxied := func(secret string) int {
		return reload("X-Forwarded-User", "alice", "X-Edgeguard-Role", "operator", "X-Edgeguard-Proxy-Secret", secret)
	}
	if got := reload("Authorization", "Bearer the-token-of-readers"); got != http.StatusForbidden {
		t.Errorf("readers: %d", got)
	}
	if got := proxied("the-secret-of-the-proxy"); got != http.StatusOK {
		t.Errorf("the proxy's operator: %d", got)
	}
	write("proxy", "the-next-secret-of-the-proxy")
	if got := reload("Authorization", "Bearer the-token-of-operators"); got != http.StatusOK {
		t.Errorf("operators: %d", got)
	}
	if before, after := proxied("the-secret-of-the-proxy"), proxied("the-next-secret-of-the-proxy"); before != http.StatusBadRequest || after != http.StatusOK {
		t.Errorf("the previous secret: %d, the next: %d", before, after)
	}
}
