package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
)

// Every command has an example that begins with its own words, and is on the manual page.
func TestEveryCommandHasAnExample(t *testing.T) {
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	page := manPage(root)
	var look func(parent *cobra.Command)
	look = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			if !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion" {
				continue
			}
			if !strings.Contains(c.Example, c.CommandPath()) {
				t.Errorf("%s: the example is %q", c.CommandPath(), c.Example)
			}
			if heading := ".SS " + roff(strings.TrimPrefix(c.UseLine(), "edgeguard ")) + "\n"; !strings.Contains(page, heading) {
				t.Errorf("the manual page has no %q", heading)
			}
			look(c)
		}
	}
	look(root)
}
