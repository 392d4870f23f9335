package config_test

import (
	"slices"
	"testing"

	"edgeguard/config"
	"edgeguard/config/yaml"
)

// A browser of this host finds the pages at the first address.
func TestPages(t *testing.T) {
	var l config.Listen
	for _, a := range []string{"10.0.0.7:9190", "0.0.0.0:9191", "[::]:9192", ":9193", "localhost:9194", "[2001:db8::7]:9195", "[::1]:9196"} {
		l.Admin = append(l.Admin, config.Admin{Address: yaml.Address{Network: "tcp", Address: a}})
	}
	l.Admin = append(l.Admin, config.Admin{Address: yaml.Address{Network: "unix", Address: "/run/admin.sock"}},
		config.Admin{Address: yaml.Address{Network: "tcp", Address: "127.0.0.1:9197"}, NoConsole: true})
	want := []string{"127.0.0.1:9191", "[::1]:9192", "127.0.0.1:9193", "localhost:9194", "[::1]:9196", "10.0.0.7:9190", "[2001:db8::7]:9195"}
	if got := l.Pages(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
