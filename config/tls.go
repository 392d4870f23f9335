package config

import (
	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// ListenerTLS is the certificates of a listener over TCP, in PEM; the zero value is none.
type ListenerTLS struct {
	CertFile, KeyFile string // of edgeguard
	ClientCAFile      string // who signs the certificates of those that connect; empty: they need none
}

// key returns their key, whose meaning is given; fix says what to do where a file is
// missing. With mutual, those that connect need a certificate.
func (f *ListenerTLS) key(mutual bool, fix, meaning string) key.Key {
	keys := func() key.List {
		return key.List{key.Path("cert_file", &f.CertFile, ""), key.Path("key_file", &f.KeyFile, ""), key.Path("client_ca_file", &f.ClientCAFile, "")}
	}
	return key.Group("tls", keys, func(n yaml.Node) {
		switch {
		case n.Touched("cert_file", "key_file"):
		case mutual && (f.CertFile == "" || f.KeyFile == "" || f.ClientCAFile == "") && !n.Touched("client_ca_file"):
			n.Wrong("requires cert_file, key_file and client_ca_file", fix)
		case !mutual && (f.CertFile == "" || f.KeyFile == ""):
			n.Wrong("requires cert_file and key_file", fix)
		}
	}, meaning)
}
