package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/enforce/names"
	"edgeguard/enforce/nftables"
	"edgeguard/internal/safetext"
)

// clearTime is how long clear waits for a node before it acts without it.
const clearTime = 25 * time.Second

// clearResult is what clear did.
type clearResult struct {
	// Node is the state of the node that did it; nil where the tables were deleted
	// without one.
	Node    *admin.KernelState `json:"node,omitempty"`
	Deleted []string           `json:"deleted"`           // tables
	Emptied string             `json:"emptied,omitempty"` // a folder of names
	// Paused says that a node that starts leaves the packet filter empty.
	Paused bool `json:"paused"`
}

func enforceClearCommand(e *command.Env) *cobra.Command {
	var table string
	var all bool
	c := &cobra.Command{
		Use:   "clear [--table NAME | --all]",
		Short: "Empty the kernel's packet filter and the folder of names, with or without a running node",
		Long: `clear has the kernel drop nothing more for edgeguard, and a proxy find no name in the
folder of enforce.names, until edgeguard enforce resume. It asks the node. Where none
answers it deletes the config's table and names itself, as root.

--table and --all ask no node, and pause nothing: a running node puts its table back
within seconds. Only tables that edgeguard made are deleted. The removal of the package
runs edgeguard enforce clear --all.`,
		Example: "  edgeguard enforce clear\n  edgeguard enforce clear --table edgeguard",
		Args:    command.NoArguments,
	}
	nodeaddr.Flags(c)
	e.JSONFlag(c, "print JSON, one object")
	c.Flags().StringVar(&table, "table", "", "delete this `TABLE` without asking a node")
	c.Flags().BoolVar(&all, "all", false, "delete all tables that edgeguard made, without asking a node")
	c.MarkFlagsMutuallyExclusive("table", "all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		done, err := clearKernel(e, c, table, all)
		if e.JSON { // what was deleted before an error, too
			return errors.Join(err, e.PrintJSON(done))
		}
		return command.Show(e, done, err, kernelCleared)
	}
	return c
}

// clearKernel asks the node, or deletes tables itself.
func clearKernel(e *command.Env, c *cobra.Command, table string, all bool) (done clearResult, err error) {
	done.Deleted = []string{}
	tables := []string{table}
	switch {
	case all:
		if tables, err = nftables.Tables(c.Context()); err != nil {
			return done, needsRoot(err)
		}
	case table == "":
		answered, err := clearByNode(c, &done)
		if answered {
			return done, err
		}
		fmt.Fprintf(e.Stderr, "edgeguard: the node did not do it: %s\n", safetext.Lines(err.Error()))
		var problem error
		tables, problem = configuredTable(c, &done)
		defer func() { err = errors.Join(err, problem) }()
	}
	for _, table := range tables {
		if err := nftables.Clear(c.Context(), table); err != nil {
			return done, needsRoot(err)
		}
		done.Deleted = append(done.Deleted, table)
	}
	return done, nil
}

// needsRoot says that root may do what was refused: the kernel's error is worded for the
// service.
func needsRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("this user may not change the packet filter: run the command as root")
	}
	return err
}

// clearByNode has the node empty its packet filter. It reports whether the node did, or may
// not be passed over: who is no operator does not get around it as root.
func clearByNode(c *cobra.Command, done *clearResult) (answered bool, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), clearTime)
	defer cancel()
	s, err := nodeaddr.Get(ctx, nodeaddr.Given(c), func(ctx context.Context, node *client.Client) (admin.KernelState, error) {
		return node.ChangeKernel(ctx, "clear")
	})
	if err == nil {
		done.Node, done.Paused = &s, true
		return true, nil
	}
	p := new(call.Problem)
	return errors.As(err, &p) && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden), err
}

// configuredTable returns the config's table, empties its folder of names, and leaves the mark
// in the state folder that keeps the next start from filling them again.
func configuredTable(c *cobra.Command, done *clearResult) (tables []string, err error) {
	name, _ := c.Flags().GetString("config")
	cfg, err := command.LoadConfig(name)
	if err != nil || cfg.Enforce.NFTables == nil && cfg.Enforce.Names == nil {
		return []string{"edgeguard"}, nil
	}
	if cfg.State != "" {
		done.Paused = nftables.TrialMark{Path: filepath.Join(cfg.State, nftables.TrialMarkName)}.WriteMark("cleared while no node answered") == nil
	}
	if n := cfg.Enforce.Names; n != nil {
		if err = names.Clear(c.Context(), n.Folder, true); err == nil {
			done.Emptied = n.Folder
		}
	}
	if cfg.Enforce.NFTables != nil {
		tables = []string{cfg.Enforce.NFTables.Table}
	}
	return tables, err
}

// kernelCleared says what was done.
func kernelCleared(e *command.Env, done *clearResult) {
	if done.Node != nil {
		describeKernel(e, done.Node)
		return
	}
	for _, table := range done.Deleted {
		fmt.Fprintf(e.Stdout, "cleared: the kernel no longer has edgeguard's table %s\n", safetext.Strip(table))
	}
	if done.Emptied != "" {
		fmt.Fprintf(e.Stdout, "cleared: the folder of names %s is empty\n", safetext.Strip(done.Emptied))
	}
	switch {
	case len(done.Deleted) == 0 && done.Emptied == "":
		fmt.Fprintln(e.Stdout, "cleared: edgeguard has no table in the kernel")
	case done.Paused:
		fmt.Fprint(e.Stdout, "  A node that starts leaves it empty until edgeguard enforce resume.\n")
	default:
		fmt.Fprint(e.Stdout, "  A node with enforce.nftables in its config makes it again.\n")
	}
}
