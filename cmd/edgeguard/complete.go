package main

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/config"
	"edgeguard/logline"
	"edgeguard/logline/pattern"
	"edgeguard/migrate/awswaf"
	"edgeguard/presets"
)

const (
	// completeTime is how long a node may take to answer: a shell hangs meanwhile.
	completeTime = time.Second
	// completeMost is how many values are offered.
	completeMost = 200
)

// completion gives a shell the values that flags and arguments may have: rules, active
// blocks, kinds, presets and formats. It is what these are read from.
type completion struct {
	// ask calls f with a client for the node that the flags of a command name.
	ask func(ctx context.Context, c *cobra.Command, f func(context.Context, *client.Client) error) error
	// load reads the named config, or else the default one.
	load func(name string) (*config.Config, error)
}

// values yields values as long as yield returns true. What it cannot find out it
// leaves out: an error in the middle of a command line helps nobody.
type values func(ctx context.Context, c *cobra.Command, yield func(string) bool)

// completeValues gives the commands below root their values.
func completeValues(root *cobra.Command) {
	e := &completion{load: command.LoadConfig, ask: func(ctx context.Context, c *cobra.Command, f func(context.Context, *client.Client) error) error {
		return nodeaddr.Given(c)(ctx, f)
	}}
	arguments := map[string]values{
		"blocks remove": e.blocks, "blocks extend": e.blocks, "explain": e.blocks, "blocks confirm": e.held, "allow remove": e.allowances, "clients remove": e.clients, "bouncers remove": e.bouncers,
		"rules": e.rules, "enforce try": fixed([]string{"2m", "5m", "15m", "1h"}), "rules set": e.rules, "rules reset": e.rules, "rules confirm": e.rules, "presets show": fixed(presets.Shipped().Names()),
	}
	flags := map[string]values{
		"blocks --rule": e.rules, "blocks list --rule": e.rules, "blocks remove --rule": e.rules, "events --rule": e.rules,
		"blocks --owner": e.owners, "blocks list --owner": e.owners, "blocks remove --owner": e.owners,
		"blocks --contains": e.blocks, "blocks list --contains": e.blocks, "events --address": e.blocks,
		"events --kind":                   fixed(admin.EventKinds()),
		"import aws-waf --search-strings": fixed(awswaf.Encodings()),
		"bouncers add --kernel":           fixed([]string{"auto", "yes", "no"}),
	}
	for _, name := range []string{"replay", "tune", "serve"} {
		flags[name+" --preset"] = fixed(presets.Shipped().Names())
		flags[name+" --format"] = fixed(formats())
		flags[name+" --rule"] = e.configRules
		flags[name+" --kind"] = fixed(edgeguard.Kinds())
	}
	register(root, "", arguments, flags)
}

// register walks the commands below one.
func register(parent *cobra.Command, path string, arguments, flags map[string]values) {
	for _, c := range parent.Commands() {
		path := strings.TrimPrefix(path+" "+c.Name(), " ")
		if v, ok := arguments[path]; ok {
			c.ValidArgsFunction = offer(v)
		}
		for name, v := range flags {
			of, flag, _ := strings.Cut(name, " --")
			if of == path && c.Flags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, offer(v)) // its only errors are of a flag that is missing or has one
			}
		}
		register(c, path, arguments, flags)
	}
}

// plainValue are the values that mean nothing to a shell. Names of rules are an operator's,
// and may be any text.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/@:+-]*$`)

// offer returns the function by which cobra offers values: the values that begin with
// what was typed and are not on the line already.
func offer(v values) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmp.Or(c.Context(), context.Background()), completeTime)
		defer cancel()
		given := make(map[string]bool)
		for _, a := range args {
			given[a] = true
		}
		v(ctx, c, func(value string) bool {
			if strings.HasPrefix(value, typed) && plainValue.MatchString(value) && !given[value] {
				given[value] = true
				found = append(found, value)
			}
			return len(found) < completeMost && ctx.Err() == nil
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// formats returns those that have a name; log_format strings are as in a server's config.
func formats() []string {
	return slices.Concat([]string{"auto"}, logline.Names(), []string{"pcap"}, pattern.ServiceNames())
}

func fixed(all []string) values {
	return func(_ context.Context, _ *cobra.Command, yield func(string) bool) {
		for _, value := range all {
			if !yield(value) {
				return
			}
		}
	}
}

// rules are the names of the node's rules.
func (e *completion) rules(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	_ = e.ask(ctx, c, func(ctx context.Context, node *client.Client) error {
		list, err := node.Rules(ctx)
		for _, r := range list.Rules {
			if !yield(r.Name) {
				break
			}
		}
		return err
	})
}

// configRules are the names of the config's rules, for commands that ask no node.
func (e *completion) configRules(_ context.Context, c *cobra.Command, yield func(string) bool) {
	name, _ := c.Flags().GetString("config")
	loaded, err := e.load(name)
	if err != nil {
		return
	}
	for _, r := range loaded.Specs {
		if !yield(r.Name) {
			return
		}
	}
}

// blocks are the prefixes of the active blocks.
func (e *completion) blocks(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	eachListed(ctx, e, c, yield, func(ctx context.Context, node *client.Client) iter.Seq2[admin.ActiveBlock, error] {
		return node.Blocks(ctx, client.Filter{})
	}, func(b admin.ActiveBlock) string { return output.Prefix(b.Prefix) })
}

// owners are the programs whose blocks are active.
func (e *completion) owners(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	eachListed(ctx, e, c, yield, func(ctx context.Context, node *client.Client) iter.Seq2[admin.ActiveBlock, error] {
		return node.Blocks(ctx, client.Filter{})
	}, func(b admin.ActiveBlock) string { return b.Owner })
}

// held are the prefixes of what awaits confirmation.
func (e *completion) held(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	eachListed(ctx, e, c, yield, func(ctx context.Context, node *client.Client) iter.Seq2[admin.HeldBlock, error] {
		return node.Held(ctx)
	},
		func(b admin.HeldBlock) string { return output.Prefix(b.Prefix) })
}

// eachListed yields what a node lists.
func eachListed[T any](ctx context.Context, e *completion, c *cobra.Command, yield func(string) bool, list func(context.Context, *client.Client) iter.Seq2[T, error], text func(T) string) {
	_ = e.ask(ctx, c, func(ctx context.Context, node *client.Client) error {
		for item, err := range list(ctx, node) {
			if err != nil || !yield(text(item)) {
				return err
			}
		}
		return nil
	})
}

// allowances are the prefixes that were allowed at run time: those of the config cannot
// be removed.
func (e *completion) allowances(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	_ = e.ask(ctx, c, func(ctx context.Context, node *client.Client) error {
		all, err := node.Allowances(ctx)
		for i := range all {
			if all[i].Source != admin.AllowedByConfig && !yield(output.Prefix(all[i].Prefix)) {
				break
			}
		}
		return err
	})
}

// clients are the networks that were named as clients' at run time, likewise.
func (e *completion) clients(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	_ = e.ask(ctx, c, func(ctx context.Context, node *client.Client) error {
		all, err := node.Clients(ctx)
		for i := range all {
			if all[i].Source != admin.AllowedByConfig && !yield(output.Prefix(all[i].Prefix)) {
				break
			}
		}
		return err
	})
}

// bouncers yields those that have a key.
func (e *completion) bouncers(ctx context.Context, c *cobra.Command, yield func(string) bool) {
	_ = e.ask(ctx, c, func(ctx context.Context, node *client.Client) error {
		all, err := node.Bouncers(ctx)
		for _, b := range all.Bouncers {
			if !yield(b.Name) {
				break
			}
		}
		return err
	})
}
