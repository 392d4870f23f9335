package main

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/aggregator"
	"edgeguard/cmd/edgeguard/command"
)

func fleetKeyCommand(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print a new key for fleet.key_file",
		Long: `key prints a line for the file that fleet.key_file names: the same file on every
node of one fleet, and in no other place. Nodes with a key sign what they write
to Redis, so that who can write to Redis cannot speak for a node.`,
		Example: `  (umask 027; edgeguard fleet key > /etc/edgeguard/fleet.key)`,
		Args:    command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			var random [32]byte
			rand.Read(random[:]) // never fails: crypto/rand ends the program instead
			_, err := fmt.Fprintln(e.Stdout, aggregator.NewSigningKey(random))
			return err
		},
	}
}
