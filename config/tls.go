package config

import "edgeguard/config/yaml"

// ListenerTLS is the certificates of a listener over TCP, in PEM; the zero value is none.
type ListenerTLS struct {
	CertFile, KeyFile string // of edgeguard
	ClientCAFile      string // who signs the certificates of those that connect; empty: they need none
}

// read reads them; fix says what to do where one is missing. With mutual, those that connect
// need a certificate.
func (f *ListenerTLS) read(n yaml.Node, mutual bool, fix string) {
	n.Mapping(yaml.Fields{
		"cert_file":      func(n yaml.Node) { f.CertFile = n.AbsPath() },
		"key_file":       func(n yaml.Node) { f.KeyFile = n.AbsPath() },
		"client_ca_file": func(n yaml.Node) { f.ClientCAFile = n.AbsPath() },
	})
	switch {
	case n.Touched("cert_file", "key_file"):
	case mutual && (f.CertFile == "" || f.KeyFile == "" || f.ClientCAFile == "") && !n.Touched("client_ca_file"):
		n.Wrong("requires cert_file, key_file and client_ca_file", fix)
	case !mutual && (f.CertFile == "" || f.KeyFile == ""):
		n.Wrong("requires cert_file and key_file", fix)
	}
}

// text returns the files as a field, with a comma before it; nothing without them.
func (f ListenerTLS) text(p *yaml.Printer, path string) string {
	if f == (ListenerTLS{}) {
		return ""
	}
	file := func(name, value string) string {
		return name + ": " + p.Quote(yaml.JoinPath(yaml.JoinPath(path, "tls"), name), value)
	}
	text := ", tls: {" + file("cert_file", f.CertFile) + ", " + file("key_file", f.KeyFile)
	if f.ClientCAFile != "" {
		text += ", " + file("client_ca_file", f.ClientCAFile)
	}
	return text + "}"
}
