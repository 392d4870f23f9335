package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/enforce"
	"edgeguard/internal/safetext"
	"edgeguard/node/lists"
)

// packagedState is where a node keeps its state by the packaged config.
const packagedState = "/var/lib/edgeguard"

// enforceEmptyCommand returns `edgeguard enforce empty`, which empties a node's lists of
// blocks: it runs when edgeguard leaves a host whose proxies still read them.
func enforceEmptyCommand(e *command.Env) *cobra.Command {
	var configFile, state string
	var noTables, shared bool
	c := &cobra.Command{
		Use:   "empty [--config FILE] [--state FOLDER] [--no-tables] [--shared]",
		Short: "Empty the lists of a node that has ended for good",
		Long: `empty removes every address from the lists that this host's node wrote, so that no
address stays blocked by a list that nothing updates. The files stay, because a proxy
does not start without a file that it includes. Removing the package runs it. Run it
as the user that serves, after the node has ended: lists of a running node are left
alone. So are lists with on_remove: keep, and files that another program has changed.
A table of the kernel's packet filter is deleted: where edgeguard enforce clear --all
of root has done that, --no-tables passes it over, and requires no right.
A list behind somebody's API, of AWS WAF or Cloudflare, that a fleet shares is left to
the other nodes: --shared empties it too, for the last node of a fleet.
A config with errors is no obstacle: the state folder has a record of the lists.`,
		Example: `  systemctl stop edgeguard
  sudo -u edgeguard edgeguard enforce empty`,
		Args: command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return emptyLists(c.Context(), e, configFile, state, noTables, shared)
		},
	}
	c.Flags().StringVar(&configFile, "config", "", "config `FILE` (default /etc/edgeguard/edgeguard.yaml if it is there)")
	c.Flags().StringVar(&state, "state", "", "state `FOLDER` of the node, instead of the config's")
	c.Flags().BoolVar(&noTables, "no-tables", false, "pass over tables of the kernel's packet filter")
	c.Flags().BoolVar(&shared, "shared", false, "empty lists that other nodes of the fleet may keep, too")
	return c
}

// emptyLists empties what it finds, and prints a line for each list.
func emptyLists(ctx context.Context, e *command.Env, configFile, state string, noTables, shared bool) error {
	owned, problems := listsOf(configFile, state)
	for _, problem := range problems {
		fmt.Fprintf(e.Stderr, "edgeguard: %s\n", safetext.Lines(problem.Error()))
	}
	left := len(problems)
	for _, o := range owned {
		if lists.Gone(&o) || noTables && lists.IsTable(&o) {
			continue // nothing was written there, or it was deleted
		}
		path := safetext.Strip(o.Path)
		if o.Keep {
			fmt.Fprintf(e.Stdout, "kept %s: its config says on_remove: keep\n", path)
			continue
		}
		if lists.IsShared(&o) && !shared {
			fmt.Fprintf(e.Stdout, "kept %s: other nodes of the fleet may keep it; --shared empties it too\n", path)
			continue
		}
		switch err := lists.Empty(ctx, time.Now(), &o); {
		case err == nil:
			fmt.Fprintf(e.Stdout, "emptied %s\n", path)
		case errors.Is(err, enforce.ErrNotLoaded):
			fmt.Fprintf(e.Stdout, "emptied %s\n", path)
			fmt.Fprintf(e.Stderr, "edgeguard: %s: reload the program that reads it: %s\n", path, safetext.Lines(err.Error()))
			left++
		default:
			fmt.Fprintf(e.Stdout, "left %s: %s\n", path, safetext.Lines(err.Error()))
			left++
		}
	}
	if left > 0 {
		return errors.New("not every list could be emptied and put in force: see above")
	}
	return nil
}

// listsOf returns the lists of the config, and those that the state folder has on
// record besides, with what could not be read.
func listsOf(configFile, state string) (owned []enforce.Owned, problems []error) {
	c, err := command.LoadConfig(configFile)
	if err != nil {
		state = cmp.Or(state, packagedState)
		problems = append(problems, fmt.Errorf("the config cannot be read, so only the lists on record in %s are emptied: %w", state, err))
	} else {
		owned, state = lists.Owned(c), cmp.Or(state, c.State)
	}
	if state == "" {
		return owned, problems
	}
	recorded, err := enforce.LoadOwned(filepath.Join(state, enforce.OwnedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, fmt.Errorf("the record of lists cannot be used (run this as the user that serves): %w", err))
	}
	for _, r := range recorded {
		if !slices.ContainsFunc(owned, func(o enforce.Owned) bool { return o.File == r.File }) {
			owned = append(owned, r)
		}
	}
	return owned, problems
}
