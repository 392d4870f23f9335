package main

import (
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/observe"
)

// Every command has an example that begins with its own words, and is on the manual page.
func TestEveryCommandHasAnExample(t *testing.T) {
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	page := manPage(root)
	for c := range below(root) {
		if strings.HasPrefix(c.CommandPath(), "edgeguard completion") {
			continue
		}
		if !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: the example is %q", c.CommandPath(), c.Example)
		}
		if heading := ".SS " + roff(strings.TrimPrefix(c.UseLine(), "edgeguard ")) + "\n"; !strings.Contains(page, heading) {
			t.Errorf("the manual page has no %q", heading)
		}
	}
}

// Every flag has its sentence on the manual page, and so in the command's help.
func TestEveryFlagHasASentence(t *testing.T) {
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	found := 0
	for c := range below(root) {
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			found++
			value, usage := pflag.UnquoteUsage(f)
			if len(strings.Fields(usage)) < 2 || f.Value.Type() != "bool" && value == "" {
				t.Errorf("%s --%s %s: %q", c.CommandPath(), f.Name, value, usage)
			}
		})
	}
	if found < 100 {
		t.Errorf("only %d flags were found", found)
	}
}

// docs/tasks.md and the manual page have each exit code; a command whose help says what one
// means has it in docs/tasks.md, too.
func TestExitCodesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, codes, _ := strings.Cut(string(page), "\n## Exit codes\n")
	for _, code := range []int{exitOK, exitError, exitUsage, exitMissing, exitUnread, observe.Degraded, observe.Unreachable} {
		if !strings.Contains(codes, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("docs/tasks.md has no exit code %d", code)
		}
	}
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	named, says := 0, regexp.MustCompile(`(?i)\bexits? (?:code|[0-9])`)
	for c := range below(root) {
		name := strings.TrimPrefix(c.CommandPath(), "edgeguard ")
		if says.MatchString(c.Long) {
			if named++; !strings.Contains(codes, "`"+name+"`") {
				t.Errorf("the exit codes of %s are not in docs/tasks.md", name)
			}
		}
	}
	if named < 4 {
		t.Errorf("only %d commands say what their exit codes mean", named)
	}
}

// below yields all commands that there are.
func below(parent *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		for _, c := range parent.Commands() {
			if !c.IsAvailableCommand() {
				continue
			}
			if !yield(c) {
				return
			}
			for deeper := range below(c) {
				if !yield(deeper) {
					return
				}
			}
		}
	}
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
