package config

import (
	"fmt"
	"strconv"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
)

func (p *printer) listen(l *Listen) {
	p.Field(0, "listen", "")
	if len(l.Auth) == 0 {
		p.Field(1, "auth", "[]")
	} else {
		p.Field(1, "auth", "")
	}
	for i, auth := range l.Auth {
		path := yaml.ItemPath("listen.auth", i)
		emit := "nothing"
		if auth.Emit&edgeguard.KindRequest != 0 {
			emit = "request"
		}
		text := fmt.Sprintf("%s, trust: %s, emit: %s", p.Quote(yaml.JoinPath(path, "address"), auth.Address.String()), p.Prefixes(yaml.JoinPath(path, "trust"), auth.Trust), emit)
		if auth.Header != "" {
			text += ", header: " + yaml.Quote(auth.Header)
		}
		if auth.Fronted {
			text += ", fronted: true"
		}
		text += yaml.AccessText(auth.Access) + fmt.Sprintf(", connections: %d", auth.Connections)
		p.Field(2, "- {address", text+"}")
	}
	l.Envoy.Write(&p.Printer)
	if len(l.Admin) == 0 {
		p.Field(1, "admin", "[]")
	} else {
		p.Field(1, "admin", "")
	}
	for i, admin := range l.Admin {
		path := yaml.ItemPath("listen.admin", i)
		text := p.Quote(yaml.JoinPath(path, "address"), admin.Address.String())
		if admin.TokenFile != "" {
			text += ", token_file: " + p.Quote(yaml.JoinPath(path, "token_file"), admin.TokenFile)
		}
		if admin.ReaderTokenFile != "" {
			text += ", reader_token_file: " + p.Quote(yaml.JoinPath(path, "reader_token_file"), admin.ReaderTokenFile)
		}
		if admin.NoConsole {
			text += ", console: false"
		}
		text += p.proxyAuth(yaml.JoinPath(path, "proxy_auth"), &admin.ProxyAuth)
		text += yaml.AccessText(admin.Access) + fmt.Sprintf(", connections: %d", admin.Connections)
		p.Field(2, "- {address", text+"}")
	}
}

// proxyAuth is empty where no proxy logs people in.
func (p *printer) proxyAuth(path string, a *ProxyAuth) string {
	if !a.Set {
		return ""
	}
	text := fmt.Sprintf(", proxy_auth: {user: %s, role: %s", yaml.Quote(a.User), yaml.Quote(a.Role))
	if len(a.From) > 0 {
		text += ", from: " + p.Prefixes(yaml.JoinPath(path, "from"), a.From)
	}
	if a.SecretFile != "" {
		text += ", secret_file: " + p.Quote(yaml.JoinPath(path, "secret_file"), a.SecretFile)
	}
	return text + "}"
}

func (p *printer) udp(path string, u *UDP) (text string) {
	if u.From != nil {
		text += ", from: " + p.Prefixes(yaml.JoinPath(path, "from"), u.From)
	}
	if u.ReceiveBuffer != 0 {
		text += ", receive_buffer: " + yaml.Size(u.ReceiveBuffer)
	}
	return text
}

func (p *printer) fleet(f *Fleet) {
	if f == nil {
		return
	}
	p.Field(0, "fleet", "")
	if f.Cluster || len(f.Redis) > 1 {
		p.Field(1, "redis", p.Flow("fleet.redis", f.Redis))
	} else {
		p.Field(1, "redis", p.Quote("fleet.redis", strings.Join(f.Redis, "")))
	}
	p.Given(1, "fleet", "sentinel", f.Sentinel)
	p.Field(1, "namespace", yaml.Quote(f.Namespace))
	p.Given(1, "fleet", "password_file", f.PasswordFile)
	p.Given(1, "fleet", "loader_file", f.LoaderFile)
	if f.KeyFile != "" {
		mode := "accept"
		if f.RequireKey {
			mode = "require"
		}
		p.Field(1, "key_file", p.Quote("fleet.key_file", f.KeyFile))
		p.Field(1, "key_mode", mode)
	}
	if f.TLS != (FleetTLS{}) {
		p.Field(1, "tls", "")
		p.Given(2, "fleet.tls", "ca_file", f.TLS.CAFile)
		p.Given(2, "fleet.tls", "cert_file", f.TLS.CertFile)
		p.Given(2, "fleet.tls", "key_file", f.TLS.KeyFile)
		p.Given(2, "fleet.tls", "server_name", f.TLS.ServerName)
	}
	p.Field(1, "push", yaml.Duration(f.Push))
	p.Field(1, "max_nodes", fmt.Sprint(f.MaxNodes))
	p.Field(1, "quiet", fmt.Sprint(f.Quiet))
	p.Field(1, "share", strconv.FormatFloat(f.Share, 'f', -1, 64))
	p.Field(1, "confirm_share", strconv.FormatFloat(f.ConfirmShare, 'f', -1, 64))
	p.Field(1, "partitions", fmt.Sprint(f.Partitions))
	p.Field(1, "max_skew", yaml.Duration(f.MaxSkew))
	p.Field(1, "max_suspects", fmt.Sprint(f.MaxSuspects))
	p.Field(1, "insecure", fmt.Sprint(f.Insecure))
}
