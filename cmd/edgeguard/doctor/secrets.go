package doctor

import (
	"fmt"
	"os"
	"path/filepath"

	"edgeguard/config"
)

// secret is a file that a config names and that others are not to read.
type secret struct{ key, file string }

func secretsOf(c *config.Config) []secret {
	var all []secret
	for i, l := range c.Listen.Admin {
		all = append(all, secret{fmt.Sprintf("listen.admin[%d].token_file", i), l.TokenFile},
			secret{fmt.Sprintf("listen.admin[%d].reader_token_file", i), l.ReaderTokenFile},
			secret{fmt.Sprintf("listen.admin[%d].proxy_auth.secret_file", i), l.ProxyAuth.SecretFile})
	}
	if f := c.Fleet; f != nil {
		all = append(all, secret{"fleet.password_file", f.PasswordFile}, secret{"fleet.loader_file", f.LoaderFile},
			secret{"fleet.key_file", f.KeyFile}, secret{"fleet.tls.key_file", f.TLS.KeyFile})
	}
	for i, l := range c.Blocklists {
		all = append(all, secret{fmt.Sprintf("blocklists[%d].header_file", i), l.HeaderFile})
	}
	for _, l := range c.Listeners() {
		all = append(all, secret{l.Key + ".tls.key_file", l.TLS.KeyFile})
	}
	for i, a := range c.Enforce.AWSWAF {
		all = append(all, secret{fmt.Sprintf("enforce.awswaf[%d].credentials_file", i), a.CredentialsFile})
	}
	for i, f := range c.Enforce.Cloudflare {
		all = append(all, secret{fmt.Sprintf("enforce.cloudflare[%d].token_file", i), f.TokenFile})
	}
	if d := c.CrowdSec.Decisions; d != nil {
		all = append(all, secret{"crowdsec.decisions.key_file", d.KeyFile})
	}
	if a := c.CrowdSec.Alerts; a != nil {
		all = append(all, secret{"crowdsec.alerts.password_file", a.PasswordFile})
	}
	for i, w := range c.Notify.Webhooks {
		path := fmt.Sprintf("notify.webhooks[%d]", i)
		all = append(append(all, secret{path + ".secret_file", w.SecretFile}), receiverSecrets(path, &w.Receiver)...)
	}
	for i, a := range c.Notify.Alertmanager {
		all = append(all, receiverSecrets(fmt.Sprintf("notify.alertmanager[%d]", i), &a.Receiver)...)
	}
	return all
}

// receiverSecrets returns those of a receiver of notifications.
func receiverSecrets(path string, r *config.Receiver) []secret {
	all := []secret{{path + ".url_file", r.URLFile}}
	for i, h := range r.Headers {
		all = append(all, secret{fmt.Sprintf("%s.headers[%d].file", path, i), h.File})
	}
	return all
}

// OpenSecrets says which of the config's secrets every user of this host can
// read. What is not there, or in a folder that is closed to this user too, is
// not looked at.
func OpenSecrets(c *config.Config) []string {
	var texts []string
	for _, s := range secretsOf(c) {
		info, err := os.Stat(s.file)
		if s.file == "" || err != nil || info.Mode().Perm()&0o004 == 0 || closedFolder(s.file) {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s: every user of this host can read %s (mode %04o); run `chmod 0640 %s` and `chgrp edgeguard %s`",
			s.key, s.file, info.Mode().Perm(), s.file, s.file))
	}
	return texts
}

// closedFolder reports whether a folder on the way keeps others out.
func closedFolder(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	for folder := filepath.Dir(real); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return true
		}
		if folder == filepath.Dir(folder) {
			return false
		}
	}
}
