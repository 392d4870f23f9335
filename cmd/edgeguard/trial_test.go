package main_test

import (
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard"
	"edgeguard/config"
)

func TestConfig(t *testing.T) {
	f := main.Flags{Listen: []string{"127.0.0.1:9181"}, Admin: []string{"127.0.0.1:9191", "unix:/run/x.sock"}, Threshold: 100}
	c, err := f.Config()
	if err != nil || !f.Given() {
		t.Fatal(err)
	}
	if c.State != "" || c.Fleet != nil || len(c.Rules.Rules) != 1 || c.Rules.Rules[0].Threshold != 100 {
		t.Errorf("%+v", c)
	}
	if got := c.Listen; len(got.Auth) != 1 || got.Auth[0].Address.String() != "127.0.0.1:9181" || len(got.Admin) != 2 || got.Admin[1].Address.String() != "unix:/run/x.sock" {
		t.Errorf("%+v", got)
	}
}

// TestConfigKeepsTheRest: what no flag names is the default.
func TestConfigKeepsTheRest(t *testing.T) {
	f := main.Flags{Listen: []string{"127.0.0.1:9181"}}
	c, err := f.Config()
	if err != nil {
		t.Fatal(err)
	}
	usual := config.Default()
	if c.Listen.Admin[0].Address != usual.Listen.Admin[0].Address || c.Rules.Rules[0].Threshold != usual.Rules.Rules[0].Threshold {
		t.Errorf("%+v", c.Listen)
	}
	if none := (main.Flags{}); none.Given() {
		t.Error("no flag was given")
	}
}

func TestConfigRefuses(t *testing.T) {
	for says, f := range map[string]main.Flags{
		`--listen: cannot listen at "localhost"`:   {Listen: []string{"localhost"}},
		`cannot listen at "a\nmode: monitor:1`:     {Listen: []string{"a\nmode: monitor:1x"}},
		`--admin: 0.0.0.0:9191 is reachable`:       {Admin: []string{"0.0.0.0:9191"}},
		`already in use by listen.auth`:            {Listen: []string{"127.0.0.1:1"}, Admin: []string{"127.0.0.1:1"}},
		`--threshold: `:                            {Threshold: 1 << 31},
		`has no port`:                              {Listen: []string{"127.0.0.1:0"}},
		`--listen: cannot listen at "$${HOME}:x"`:  {Listen: []string{"${HOME}:x"}},
		`--listen: cannot listen at "], rules: []`: {Listen: []string{"], rules: []"}},
	} {
		if _, err := f.Config(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", f, err, says)
		}
	}
}
