package config

import (
	"fmt"

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
		text := fmt.Sprintf("%s, trust: %s, emit: %s", quote(auth.Address.String()), flow(prefixTexts(auth.Trust)), emit)
		if auth.Header != "" {
			text += ", header: " + quote(auth.Header)
		}
		p.field(2, "- {address", text+"}")
	}
	if len(l.Admin) == 0 {
		p.field(1, "admin", "[]")
	} else {
		p.field(1, "admin", "")
	}
	for _, admin := range l.Admin {
		text := quote(admin.Address.String())
		if admin.TokenFile != "" {
			text += ", token_file: " + quote(admin.TokenFile)
		}
		p.field(2, "- {address", text+"}")
	}
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
		text := fmt.Sprintf("%s, format: %s, name: %s, kernel: %t, every: %s", quote(f.File), f.Format, quote(f.Name), f.Kernel, formatDuration(f.Every))
		if len(f.Reload) > 0 {
			text += ", reload: " + flow(f.Reload)
		}
		p.field(2, "- {file", text+"}")
	}
	if h := e.HAProxy; h != nil {
		list := "acl: " + quote(h.ACL)
		if h.ACL == "" {
			list = "map: " + quote(h.Map)
		}
		p.field(1, "haproxy", fmt.Sprintf("{socket: %s, %s, every: %s}", quote(h.Socket), list, formatDuration(h.Every)))
	}
	if e.NFTables != nil {
		p.field(1, "nftables", fmt.Sprintf("{table: %s}", quote(e.NFTables.Table)))
	}
}
