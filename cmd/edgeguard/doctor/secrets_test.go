package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
)

// Every file with a secret that all users can read is named by its key.
func TestOpenSecrets(t *testing.T) {
	folder, err := os.MkdirTemp("", "secrets") // of which every folder on the way is open
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	file := filepath.Join(folder, "secret")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, file} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if closedFolder(file) {
		t.Skip("the folder of temporary files is closed to other users")
	}
	c := &config.Config{Blocklists: config.Blocklists{{HeaderFile: file}}}
	c.Enforce.AWSWAF = []config.AWSWAF{{CredentialsFile: file}}
	c.Enforce.Cloudflare = []config.Cloudflare{{TokenFile: file}}
	c.Notify.Webhooks = []config.Webhook{{Receiver: config.Receiver{URLFile: file, Headers: []config.NotifyHeader{{File: file}}}, SecretFile: file}}
	c.Listen.Envoy = []config.EnvoyListener{{TLS: config.ListenerTLS{KeyFile: file}}}
	c.HAProxy = config.HAProxy{Peers: []config.HAProxyPeers{{HAProxyDoor: config.HAProxyDoor{TLS: config.ListenerTLS{KeyFile: file}}}}, SPOE: []config.HAProxySPOE{{HAProxyDoor: config.HAProxyDoor{TLS: config.ListenerTLS{KeyFile: file}}}}}
	c.CrowdSec.LAPI = []config.LAPI{{TLS: config.ListenerTLS{KeyFile: file}}}
	told := strings.Join(OpenSecrets(c), "\n")
	for _, key := range []string{
		"blocklists[0].header_file", "enforce.awswaf[0].credentials_file", "enforce.cloudflare[0].token_file",
		"listen.envoy[0].tls.key_file", "haproxy.peers[0].tls.key_file", "haproxy.spoe[0].tls.key_file", "crowdsec.lapi[0].tls.key_file",
		"notify.webhooks[0].url_file", "notify.webhooks[0].headers[0].file", "notify.webhooks[0].secret_file",
	} {
		if !strings.Contains(told, key+": every user of this host can read "+file) {
			t.Errorf("%s is not named in:\n%s", key, told)
		}
	}
}
