package main

import (
	"strings"
	"testing"

	"edgeguard/config"
)

func TestTrialConfig(t *testing.T) {
	f := trialFlags{listen: []string{"127.0.0.1:9181"}, admin: []string{"127.0.0.1:9191", "unix:/run/x.sock"}, threshold: 100}
	c, err := f.config()
	if err != nil || !f.given() {
		t.Fatal(err)
	}
	if c.State != "" || c.Fleet != nil || len(c.Rules.Rules) != 1 || c.Rules.Rules[0].Threshold != 100 {
		t.Errorf("%+v", c)
	}
	if got := c.Listen; len(got.Auth) != 1 || got.Auth[0].Address.String() != "127.0.0.1:9181" || len(got.Admin) != 2 || got.Admin[1].Address.String() != "unix:/run/x.sock" {
		t.Errorf("%+v", got)
	}
}

// TestTrialConfigKeepsTheRest: what no flag names is the default.
func TestTrialConfigKeepsTheRest(t *testing.T) {
	f := trialFlags{listen: []string{"127.0.0.1:9181"}}
	c, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	usual := config.Default()
	if c.Listen.Admin[0].Address != usual.Listen.Admin[0].Address || c.Rules.Rules[0].Threshold != usual.Rules.Rules[0].Threshold {
		t.Errorf("%+v", c.Listen)
	}
	none := trialFlags{}
	if c, err := none.config(); err != nil || c.Monitor || c.State != "" || len(c.Rules.Rules) != 1 {
		t.Errorf("serve without a config and a flag: %+v, %v", c, err)
	}
	if none.given() {
		t.Error("no flag was given")
	}
}

func TestTrialConfigRefuses(t *testing.T) {
	for says, f := range map[string]trialFlags{
		`--listen: cannot listen at "localhost"`:   {listen: []string{"localhost"}},
		`cannot listen at "a\nmode: monitor:1`:     {listen: []string{"a\nmode: monitor:1x"}},
		`--admin: 0.0.0.0:9191 is reachable`:       {admin: []string{"0.0.0.0:9191"}},
		`already in use by listen.auth`:            {listen: []string{"127.0.0.1:1"}, admin: []string{"127.0.0.1:1"}},
		`--threshold: `:                            {threshold: 1 << 31},
		`has no port`:                              {listen: []string{"127.0.0.1:0"}},
		`--listen: cannot listen at "$${HOME}:x"`:  {listen: []string{"${HOME}:x"}},
		`--listen: cannot listen at "], rules: []`: {listen: []string{"], rules: []"}},
	} {
		if _, err := f.config(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", f, err, says)
		}
	}
}
