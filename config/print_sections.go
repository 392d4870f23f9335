package config

import (
	"edgeguard/config/yamltext"
	"fmt"
	"strconv"
	"strings"

	"edgeguard"
)

func (p *printer) listen(l *Listen) {
	p.field(0, "listen", "")
	if len(l.Auth) == 0 {
		p.field(1, "auth", "[]")
	} else {
		p.field(1, "auth", "")
	}
	for i, auth := range l.Auth {
		path := indexed("listen.auth", i)
		emit := "nothing"
		if auth.Emit&edgeguard.KindRequest != 0 {
			emit = "request"
		}
		text := fmt.Sprintf("%s, trust: %s, emit: %s", p.quote(join(path, "address"), auth.Address.String()), p.flow(join(path, "trust"), prefixTexts(auth.Trust)), emit)
		if auth.Header != "" {
			text += ", header: " + yamltext.Quote(auth.Header)
		}
		if auth.Fronted {
			text += ", fronted: true"
		}
		text += auth.Access.text() + fmt.Sprintf(", connections: %d", auth.Connections)
		p.field(2, "- {address", text+"}")
	}
	if len(l.Admin) == 0 {
		p.field(1, "admin", "[]")
	} else {
		p.field(1, "admin", "")
	}
	for i, admin := range l.Admin {
		path := indexed("listen.admin", i)
		text := p.quote(join(path, "address"), admin.Address.String())
		if admin.TokenFile != "" {
			text += ", token_file: " + p.quote(join(path, "token_file"), admin.TokenFile)
		}
		if admin.ReaderTokenFile != "" {
			text += ", reader_token_file: " + p.quote(join(path, "reader_token_file"), admin.ReaderTokenFile)
		}
		if admin.NoConsole {
			text += ", console: false"
		}
		text += p.proxyAuth(join(path, "proxy_auth"), &admin.ProxyAuth)
		text += admin.Access.text() + fmt.Sprintf(", connections: %d", admin.Connections)
		p.field(2, "- {address", text+"}")
	}
}

// proxyAuth is empty where no proxy logs people in.
func (p *printer) proxyAuth(path string, a *ProxyAuth) string {
	if !a.Set {
		return ""
	}
	text := fmt.Sprintf(", proxy_auth: {user: %s, role: %s", yamltext.Quote(a.User), yamltext.Quote(a.Role))
	if len(a.From) > 0 {
		text += ", from: " + p.flow(join(path, "from"), prefixTexts(a.From))
	}
	if a.SecretFile != "" {
		text += ", secret_file: " + p.quote(join(path, "secret_file"), a.SecretFile)
	}
	return text + "}"
}

// text is empty for TCP.
func (a Access) text() string {
	if a.Mode == 0 {
		return ""
	}
	text := fmt.Sprintf(`, mode: "%04o"`, a.Mode)
	if a.Group != "" {
		text += ", group: " + yamltext.Quote(a.Group)
	}
	return text
}

func (u *UDP) text() (text string) {
	if u.From != nil {
		text += ", from: " + yamltext.Flow(prefixTexts(u.From))
	}
	if u.ReceiveBuffer != 0 {
		text += ", receive_buffer: " + yamltext.Size(u.ReceiveBuffer)
	}
	return text
}

func (p *printer) enforce(e *Enforce) {
	if len(e.Files) == 0 && e.HAProxy == nil && e.NFTables == nil {
		return
	}
	p.field(0, "enforce", "")
	if len(e.Files) > 0 {
		p.field(1, "files", "")
	}
	for i, f := range e.Files {
		text := fmt.Sprintf("%s, format: %s, name: %s, kernel: %t, every: %s, on_remove: %s",
			p.quote(join(indexed("enforce.files", i), "file"), f.File), f.Format, yamltext.Quote(f.Name), f.Kernel, yamltext.Duration(f.Every), onRemove(f.KeepRemoved))
		if len(f.Reload) > 0 {
			text += ", reload: " + yamltext.Flow(f.Reload)
		}
		p.field(2, "- {file", text+"}")
	}
	if h := e.HAProxy; h != nil {
		list := "acl: " + yamltext.Quote(h.ACL)
		if h.ACL == "" {
			list = "map: " + yamltext.Quote(h.Map)
		}
		p.field(1, "haproxy", fmt.Sprintf("{socket: %s, %s, every: %s, on_remove: %s}", p.quote("enforce.haproxy.socket", h.Socket), list, yamltext.Duration(h.Every), onRemove(h.KeepRemoved)))
	}
	if e.NFTables != nil {
		p.field(1, "nftables", fmt.Sprintf("{table: %s}", yamltext.Quote(e.NFTables.Table)))
	}
}

func (p *printer) fleet(f *Fleet) {
	if f == nil {
		return
	}
	p.field(0, "fleet", "")
	if f.Cluster || len(f.Redis) > 1 {
		p.field(1, "redis", p.flow("fleet.redis", f.Redis))
	} else {
		p.field(1, "redis", p.quote("fleet.redis", strings.Join(f.Redis, "")))
	}
	p.given(1, "fleet", "sentinel", f.Sentinel)
	p.field(1, "namespace", yamltext.Quote(f.Namespace))
	p.given(1, "fleet", "password_file", f.PasswordFile)
	p.given(1, "fleet", "loader_file", f.LoaderFile)
	if f.KeyFile != "" {
		mode := "accept"
		if f.RequireKey {
			mode = "require"
		}
		p.field(1, "key_file", p.quote("fleet.key_file", f.KeyFile))
		p.field(1, "key_mode", mode)
	}
	if f.TLS != (TLS{}) {
		p.field(1, "tls", "")
		p.given(2, "fleet.tls", "ca_file", f.TLS.CAFile)
		p.given(2, "fleet.tls", "cert_file", f.TLS.CertFile)
		p.given(2, "fleet.tls", "key_file", f.TLS.KeyFile)
		p.given(2, "fleet.tls", "server_name", f.TLS.ServerName)
	}
	p.field(1, "push", yamltext.Duration(f.Push))
	p.field(1, "max_nodes", fmt.Sprint(f.MaxNodes))
	p.field(1, "quiet", fmt.Sprint(f.Quiet))
	p.field(1, "share", strconv.FormatFloat(f.Share, 'f', -1, 64))
	p.field(1, "confirm_share", strconv.FormatFloat(f.ConfirmShare, 'f', -1, 64))
	p.field(1, "partitions", fmt.Sprint(f.Partitions))
	p.field(1, "max_skew", yamltext.Duration(f.MaxSkew))
	p.field(1, "max_suspects", fmt.Sprint(f.MaxSuspects))
	p.field(1, "insecure", fmt.Sprint(f.Insecure))
}

// given writes a field that has no default, if it is set.
func (p *printer) given(indent int, section, name, value string) {
	if value != "" {
		p.field(indent, name, p.quote(join(section, name), value))
	}
}
