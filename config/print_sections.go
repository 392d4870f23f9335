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
	for _, auth := range l.Auth {
		emit := "nothing"
		if auth.Emit&edgeguard.KindRequest != 0 {
			emit = "request"
		}
		text := fmt.Sprintf("%s, trust: %s, emit: %s", yamltext.Quote(auth.Address.String()), yamltext.Flow(prefixTexts(auth.Trust)), emit)
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
	for _, admin := range l.Admin {
		text := yamltext.Quote(admin.Address.String())
		if admin.TokenFile != "" {
			text += ", token_file: " + yamltext.Quote(admin.TokenFile)
		}
		if admin.ReaderTokenFile != "" {
			text += ", reader_token_file: " + yamltext.Quote(admin.ReaderTokenFile)
		}
		if admin.NoConsole {
			text += ", console: false"
		}
		text += admin.ProxyAuth.text()
		text += admin.Access.text() + fmt.Sprintf(", connections: %d", admin.Connections)
		p.field(2, "- {address", text+"}")
	}
}

// text is empty where no proxy logs people in.
func (p *ProxyAuth) text() string {
	if !p.Set {
		return ""
	}
	text := fmt.Sprintf(", proxy_auth: {user: %s, role: %s", yamltext.Quote(p.User), yamltext.Quote(p.Role))
	if len(p.From) > 0 {
		text += ", from: " + yamltext.Flow(prefixTexts(p.From))
	}
	if p.SecretFile != "" {
		text += ", secret_file: " + yamltext.Quote(p.SecretFile)
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

func (p *printer) enforce(e *Enforce) {
	if len(e.Files) == 0 && e.HAProxy == nil && e.NFTables == nil {
		return
	}
	p.field(0, "enforce", "")
	if len(e.Files) > 0 {
		p.field(1, "files", "")
	}
	for _, f := range e.Files {
		text := fmt.Sprintf("%s, format: %s, name: %s, kernel: %t, every: %s, on_remove: %s",
			yamltext.Quote(f.File), f.Format, yamltext.Quote(f.Name), f.Kernel, yamltext.Duration(f.Every), onRemove(f.KeepRemoved))
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
		p.field(1, "haproxy", fmt.Sprintf("{socket: %s, %s, every: %s, on_remove: %s}", yamltext.Quote(h.Socket), list, yamltext.Duration(h.Every), onRemove(h.KeepRemoved)))
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
		p.field(1, "redis", yamltext.Flow(f.Redis))
	} else {
		p.field(1, "redis", yamltext.Quote(strings.Join(f.Redis, "")))
	}
	p.given(1, "sentinel", f.Sentinel)
	p.field(1, "namespace", yamltext.Quote(f.Namespace))
	p.given(1, "password_file", f.PasswordFile)
	p.given(1, "loader_file", f.LoaderFile)
	if f.KeyFile != "" {
		mode := "accept"
		if f.RequireKey {
			mode = "require"
		}
		p.field(1, "key_file", yamltext.Quote(f.KeyFile))
		p.field(1, "key_mode", mode)
	}
	if f.TLS != (TLS{}) {
		p.field(1, "tls", "")
		p.given(2, "ca_file", f.TLS.CAFile)
		p.given(2, "cert_file", f.TLS.CertFile)
		p.given(2, "key_file", f.TLS.KeyFile)
		p.given(2, "server_name", f.TLS.ServerName)
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
func (p *printer) given(indent int, name, value string) {
	if value != "" {
		p.field(indent, name, yamltext.Quote(value))
	}
}
