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

// The words of other tools lead to commands that there are, with arguments that they take.
func TestOtherWords(t *testing.T) {
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	for word, use := range otherWords {
		if c, _, err := root.Find([]string{word}); err == nil && c != root {
			t.Errorf("%s is a command", word)
		}
		name, rest, _ := strings.Cut(use, " ")
		if name == "systemctl" {
			continue
		}
		c, args, err := root.Find(strings.Fields(strings.ReplaceAll(rest, `"`, "")))
		if err != nil || c == root || name != "edgeguard" {
			t.Errorf("%s leads to %q: %v", word, use, err)
			continue
		}
		if err := c.ParseFlags(args); err != nil {
			t.Errorf("%s leads to %q: %v", word, use, err)
		} else if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			t.Errorf("%s leads to %q: %v", word, use, err)
		}
	}
}
