package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edgeguard/admin/call"
	"edgeguard/cmd/edgeguard/output"
)

// otherWords are what people type who know another tool, with the command here that does it,
// whole: a name that is near in letters is no help to them.
var otherWords = map[string]string{
	"ban":       `edgeguard blocks add 203.0.113.9 --for 2h --reason "why"`,
	"block":     `edgeguard blocks add 203.0.113.9 --for 2h --reason "why"`,
	"unban":     "edgeguard blocks remove 203.0.113.9",
	"unblock":   "edgeguard blocks remove 203.0.113.9",
	"whitelist": `edgeguard allow add 203.0.113.9 --reason "why"`,
	"allowlist": `edgeguard allow add 203.0.113.9 --reason "why"`,
	"blacklist": "edgeguard blocks",
	"decisions": "edgeguard blocks",
	"alerts":    "edgeguard attacks",
	"validate":  "edgeguard check --config /etc/edgeguard/edgeguard.yaml",
	"test":      "edgeguard check --config /etc/edgeguard/edgeguard.yaml",
	"config":    "edgeguard check --config /etc/edgeguard/edgeguard.yaml",
	"audit":     "edgeguard changes",
	"history":   "edgeguard events --since 24h",
	"log":       "edgeguard events --since 24h",
	"logs":      "edgeguard events --since 24h",
	"start":     "systemctl start edgeguard",
	"stop":      "systemctl stop edgeguard",
	"restart":   "systemctl restart edgeguard",
	"run":       "edgeguard serve",
	"install":   "edgeguard setup",
	"uninstall": "edgeguard help upgrade#uninstall",
	"upgrade":   "edgeguard help upgrade",
	"undo":      "edgeguard changes",
	"threshold": "edgeguard rules set site --threshold 800 --preview",
	"nodes":     "edgeguard fleet status",
	"cluster":   "edgeguard fleet status",
}

// otherFlags are flags that one command here has, and the flag of another for the same.
var otherFlags = map[string]string{"note": "reason", "reason": "note", "dry-run": "preview", "preview": "dry-run"}

// flagOf adds to the error of an unknown flag the one that c has in its place.
func flagOf(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	use := otherFlags[unknown.GetSpecifiedName()]
	if c.Flags().Lookup(use) == nil {
		return err
	}
	return fmt.Errorf("%w: use --%s", err, use)
}

// wordOf returns the error for a command line that begins with a word of another tool.
func wordOf(args []string, err error) (error, bool) {
	if len(args) == 0 || !strings.HasPrefix(err.Error(), "unknown command") {
		return nil, false
	}
	use, ok := otherWords[strings.ToLower(args[0])]
	if !ok {
		return nil, false
	}
	if len(args) > 1 {
		if prefix, p := call.ParsePrefix("prefix", args[1]); p == nil {
			use = strings.Replace(use, "203.0.113.9", output.Prefix(prefix), 1)
		}
	}
	return fmt.Errorf("there is no command %q: use\n  %s", strings.ToLower(args[0]), use), true
}
