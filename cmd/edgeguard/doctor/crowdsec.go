package doctor

import (
	"context"
	"errors"

	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/internal/smallfile"
)

// crowdsec asks the LAPIs of a config whether they know the node. That changes nothing there.
func (x *examination) crowdsec(ctx context.Context, c *config.Config) {
	if d := c.CrowdSec.Decisions; d != nil {
		x.lapi("decisions of CrowdSec", &d.LAPIServer, d.KeyFile, "write the key that `cscli bouncers add NAME` prints into "+d.KeyFile, func(c *crowdsec.Client, key string) error {
			return c.Check(ctx, key)
		})
	}
	if a := c.CrowdSec.Alerts; a != nil {
		x.lapi("alerts to CrowdSec", &a.LAPIServer, a.PasswordFile, "compare machine_id and "+a.PasswordFile+" with `cscli machines list`", func(c *crowdsec.Client, password string) error {
			return c.Heartbeat(ctx, &crowdsec.Machine{ID: a.Machine, Password: password, Scenarios: []string{}})
		})
	}
}

// lapi asks one LAPI with a secret. The fix is for one that refuses it.
func (x *examination) lapi(about string, s *config.LAPIServer, file, fix string, ask func(*crowdsec.Client, string) error) {
	secret, err := smallfile.Word(file)
	if err != nil {
		if !x.denied(about, err) {
			x.note(wrong, about, "%v", err)
		}
		return
	}
	c, err := crowdsec.NewClient(crowdsec.ClientConfig{URL: s.URL, CAFile: s.CAFile, Version: "doctor"})
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	defer c.Close()
	var refused *crowdsec.RefusedError
	switch err := ask(c, secret); {
	case err == nil:
		x.note(fine, about, "%s answers and knows this node", s.URL)
	case errors.As(err, &refused) && refused.Credentials():
		x.note(wrong, about, "%s: %v; %s", s.URL, err, fix)
	default:
		x.note(wrong, about, "%s: %v", s.URL, err)
	}
}
