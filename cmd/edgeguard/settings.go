package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/logline"
	"edgeguard/rules"
)

// settings are the flags that replay and tune share, and what they make.
type settings struct {
	configFile string
	format     string
	sort       bool
	only       []string // names of rules
	presets    *[]string
	rows       int
	local      []string
	zone       string // of times that name none; empty for the host's
	fleet      string // the Redis of a replayed fleet
	period     command.Period
	within     *period // the period that was given

	// The quick rule, for use without a config.
	threshold uint32
	limited   bool // the threshold was given
	window    time.Duration
	guard     string
	kind      string
	quick     bool // one of the above is set
	alone     bool // the quick rule is the only one
}

// flags declares the shared flags on c.
func (s *settings) flags(e *command.Env, c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.configFile, "config", "", "config `FILE` with the rules (default "+command.DefaultConfig+" if it is there)")
	s.presets = presetFlag(c, "use the shipped rules `NAME` instead of the config's (may be repeated; see edgeguard presets)")
	f.StringVar(&s.format, "format", "auto", "`FORMAT` of the input: auto, "+strings.Join(logline.Names(), ", ")+", pcap, csv:time=…,addr=…, w3c:…, json:…, regex:…, a service such as sshd, one of these in docker:, journald:, vector: or fluentbit:, or nginx's log_format, HAProxy's log-format or Apache's LogFormat")
	f.StringVar(&s.zone, "zone", "", "the `ZONE` of times that name none, such as Europe/Berlin, UTC or +05:30 (default this host's)")
	s.period.Flags(c, "only the events")
	e.JSONFlag(c, "print JSON, one object per line")
	f.BoolVar(&s.sort, "sort", false, "sort all events by time first (reads everything into memory)")
	f.StringSliceVar(&s.only, "rule", nil, "use only the rule `NAME` (may be repeated)")
	f.IntVar(&s.rows, "rows", 20, "show at most `N` rows of each table, 0 for all")
	f.StringSliceVar(&s.local, "local", nil, "local `PREFIX` of a capture: count only incoming packets (may be repeated)")
	f.Uint32Var(&s.threshold, "threshold", 2000, "the quick rule: events allowed per window and address; of failed logins 6, if none is given")
	f.DurationVar(&s.window, "window", 5*time.Minute, "the quick rule: the window")
	f.StringVar(&s.guard, "guard", "0.95", "the quick rule: the part of the threshold that is used")
	f.StringVar(&s.kind, "kind", "", "the quick rule: the `KIND` of event to count: request, response, packet, syn, handshake, udp, icmp, auth_failure, rejection (default request, packet for a capture, auth_failure for a log of logins)")
}

// quickLogins is how many failed logins the quick rule allows if no threshold was given, as
// in the config that setup writes.
const quickLogins = 6

// quickFlags are those that make a rule, and so rule out a config's.
var quickFlags = []string{"threshold", "window", "guard", "kind"}

// check refuses flags that contradict each other.
func (s *settings) check(c *cobra.Command) (err error) {
	if s.period.Given() {
		s.within = new(period)
		if s.within.from, s.within.to, err = s.period.Read(c, time.Now()); err != nil {
			return err
		}
	}
	s.limited = c.Flags().Changed("threshold")
	for _, name := range quickFlags {
		if !c.Flags().Changed(name) {
			continue
		}
		s.quick = true
		if s.configFile != "" {
			return command.Usage(fmt.Errorf("%s: --%s defines a rule and --config has rules: use one of them", c.Name(), name))
		}
	}
	if s.quick && len(*s.presets) > 0 {
		return command.Usage(fmt.Errorf("%s: --preset has rules and --threshold, --window, --guard and --kind define one: use one of them", c.Name()))
	}
	if s.rows < 0 {
		return command.Usage(fmt.Errorf("%s: --rows %d: use 0 for all, or a number of rows", c.Name(), s.rows))
	}
	if _, ok := edgeguard.ParseKind(s.kind); s.kind != "" && !ok {
		return command.Usage(fmt.Errorf("%s: --kind %s: use one of %v", c.Name(), s.kind, edgeguard.Kinds()))
	}
	return nil
}

// prefixes reads the --local flags.
func (s *settings) prefixes() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range s.local {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, command.Usage(fmt.Errorf("--local %s: use a prefix such as 192.0.2.0/24", text))
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// load finds the config and its rules: the quick rule if one of its flags was
// given, else the config's, else the default's. capture says that the input is
// packets.
func (s *settings) load(capture bool) (*config.Config, error) {
	c, err := s.readConfig()
	if err != nil {
		return nil, err
	}
	preset := len(*s.presets) > 0
	s.alone = c == nil && !preset
	if c == nil {
		c = config.Default()
	}
	if c, err = withPresets(c, *s.presets, true); err != nil {
		return nil, command.Usage(err)
	}
	var specs []rules.Spec
	if s.alone {
		specs, err = s.quickRules(capture)
	} else {
		specs, err = s.choose(c.Specs)
	}
	if err != nil {
		return nil, err
	}
	c.Specs = specs
	c.Rules, _ = rules.Compile(specs) // they were compiled before
	return c, nil
}

// readConfig reads the named config, or the one at the default place; nil if
// none is there.
func (s *settings) readConfig() (*config.Config, error) {
	if s.quick {
		return nil, nil
	}
	name, err := command.FindConfig(s.configFile)
	if err != nil || name == "" {
		return nil, err
	}
	return config.Load(name)
}

// quickRules makes the one rule of the flags.
func (s *settings) quickRules(capture bool) ([]rules.Spec, error) {
	kind := s.kind
	if kind == "" && capture {
		kind = edgeguard.KindPacket.String()
	}
	spec := rules.Spec{Name: "default", Threshold: s.threshold, Window: s.window, Guard: s.guard}
	if kind == edgeguard.KindAuthFailure.String() && !s.limited {
		spec.Threshold = quickLogins
	}
	if kind != "" {
		spec.Match.Kind = []string{kind}
	}
	if _, problems := rules.Compile([]rules.Spec{spec}); len(problems) > 0 {
		var errs []error
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("--%s", strings.TrimPrefix(p.String(), "match.")))
		}
		return nil, command.Usage(errors.Join(errs...))
	}
	return []rules.Spec{spec}, nil
}

// choose keeps the rules that --rule names.
func (s *settings) choose(specs []rules.Spec) ([]rules.Spec, error) {
	if len(s.only) == 0 {
		return specs, nil
	}
	var kept []rules.Spec
	for _, name := range s.only {
		i := slices.IndexFunc(specs, func(r rules.Spec) bool { return r.Name == name })
		if i < 0 {
			var names []string
			for _, r := range specs {
				names = append(names, r.Name)
			}
			return nil, command.Usage(fmt.Errorf("--rule %s: unknown rule; the config has %s", name, strings.Join(names, ", ")))
		}
		kept = append(kept, specs[i])
	}
	return kept, nil
}
