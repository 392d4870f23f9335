package main

import (
	"bytes"
	"fmt"

	"edgeguard"
	"edgeguard/admin/console"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/internal/words"
	"edgeguard/rules"
)

// announceStart prints what was started, or logs it where the log is for programs: then all
// that the node writes is JSON.
func announceStart(e *command.Env, messages *logFile, c *config.Config, named bool) {
	if !c.Log.JSON {
		printStart(e, c, named)
		return
	}
	var page bytes.Buffer
	on := *e
	on.Stdout = &page
	printStart(&on, c, named)
	messages.page(page.Bytes())
}

// printStart prints what was started: which limits apply, where it listens, and a
// command to try.
func printStart(e *command.Env, c *config.Config, named bool) {
	out := e.Stdout
	fmt.Fprintf(out, "edgeguard %s, node %s, mode %s\n", buildVersion(), c.Node, c.Refuses())
	printLimits(e, c)
	for _, l := range c.Listen.Auth {
		does := "counts and answers"
		if l.Emit == 0 {
			does = "answers; a log counts"
		}
		fmt.Fprintf(out, "forward auth at %s (%s): edgeguard snippets nginx\n", l.Address, does)
	}
	for _, l := range c.HAProxy.SPOE {
		does := "counts and answers"
		if !l.Count {
			does = "answers; another source counts"
		}
		fmt.Fprintf(out, "SPOE at %s (%s): edgeguard snippets haproxy-spoe\n", l.Listen, does)
	}
	for _, l := range c.Listen.Envoy {
		does := "counts and answers"
		if !l.Count {
			does = "answers; another source counts"
		}
		fmt.Fprintf(out, "Envoy at %s (%s): edgeguard snippets envoy-grpc, envoy-rls\n", l.Address, does)
	}
	for _, l := range c.Sensors.AccessLog {
		place := l.File
		if place == "" {
			place = l.Listen.String()
		}
		fmt.Fprintf(out, "access log %s\n", place)
	}
	for _, address := range c.Listen.Pages() {
		fmt.Fprintf(out, "console at http://%s: who is blocked and why, who is near a limit%s\n", address, loginHint(c))
	}
	for _, l := range c.Listen.Admin {
		fmt.Fprintf(out, "admin at %s: edgeguard top, edgeguard blocks, edgeguard explain ADDRESS\n", l.Address)
	}
	if c.State == "" {
		fmt.Fprintln(out, "no state folder: a restart forgets all blocks and counts; set `state` in a config")
	}
	if !named {
		printTry(e, c)
		fmt.Fprintln(out, "no config: these are the defaults; edgeguard check prints them as a file to start from")
	}
}

// loginHint says how a browser may change something, where it can.
func loginHint(c *config.Config) string {
	for _, l := range c.Listen.Admin {
		if l.Address.Network == "unix" && !l.ProxyAuth.Set {
			return "; log in with edgeguard console"
		}
	}
	return ""
}

// printLimits prints the limits.
func printLimits(e *command.Env, c *config.Config) {
	for i := range c.Rules.Rules {
		printLimit(e, &c.Rules.Rules[i], &c.Rules.Meters[c.Rules.Rules[i].Meter])
	}
}

// printLimit prints what a rule does: how much it allows in words, and its threshold.
func printLimit(e *command.Env, r *rules.Rule, m *rules.Meter) {
	what := r.Action.String()
	if r.Action == edgeguard.ActionBlock {
		what += " for " + words.Span(r.BlockFor)
	}
	if r.Pending {
		fmt.Fprintf(e.Stdout, "rule %s: no limit until seven days of this site were seen: %s\n", r.Name, what)
		return
	}
	fmt.Fprintf(e.Stdout, "rule %s: over %s in %s (threshold %s × guard %s%s): %s\n", r.Name,
		m.MeasureOf().Allowed(r.Limit), words.Span(m.Window), words.Number(r.Threshold), r.Guard, m.MeasureOf().Note(), what)
}

// printTry prints a command that has an address of the documentation's range
// blocked, where the node counts by forward auth over TCP. Different values it would not
// send, and in mode monitor it would not be refused.
func printTry(e *command.Env, c *config.Config) {
	if c.Monitor {
		return
	}
	for _, l := range c.Listen.Auth {
		if l.Address.Network != "tcp" || l.Emit == 0 || len(c.Rules.Rules) == 0 || c.Rules.Meters[c.Rules.Rules[0].Meter].Distinct != 0 {
			continue
		}
		fmt.Fprintf(e.Stdout, "try it: %s\n", console.TryCommand(l.Address.String(), c.Rules.Rules[0].Limit))
		return
	}
}
