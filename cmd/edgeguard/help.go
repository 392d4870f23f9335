package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/help"
	spelling "edgeguard/internal/nearest"
	"edgeguard/internal/safetext"
)

const (
	helpWidth = 80  // of a pipe; a terminal has its own, up to helpWide
	helpWide  = 100 // longer lines are hard to read
	helpWhole = 120 // lines of a page that a terminal gets whole
	helpFound = 8   // sections that a search shows
)

// helpCommand prints a command's help, a page of docs, or where the pages have some words.
func helpCommand(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC | WORDS]",
		Short: "Help about a command, a page of the documentation, or a search in it",
		Long: `help prints the help of a command, or a page of the documentation: these are in the
program. Of a long page a terminal gets the beginning and the headings; a pipe gets all
of it. Other words are searched in all pages.`,
		Example: `  edgeguard help
  edgeguard help blocks add
  edgeguard help tasks
  edgeguard help rules.md | less
  edgeguard help fleet#join-a-node
  edgeguard help unblock customer`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (offered []string, _ cobra.ShellCompDirective) {
			parent, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range parent.Commands() {
				if sub.IsAvailableCommand() {
					offered = append(offered, sub.Name())
				}
			}
			if len(args) == 0 {
				offered = append(offered, topics()...)
			}
			return offered, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return printHelp(e, c.Root(), args) },
	}
}

// topics returns the names of the pages, as the command help takes them.
func topics() (names []string) {
	for _, p := range help.Pages() {
		if p.Name != help.Map {
			names = append(names, p.Name)
		}
	}
	return names
}

func printHelp(e *command.Env, root *cobra.Command, args []string) error {
	if len(args) == 0 {
		if err := root.Help(); err != nil {
			return err
		}
		page, _ := help.Find(help.Map)
		fmt.Fprintf(e.Stdout, "\n%s", page.Text(widthOf(e), 1000))
		return nil
	}
	topic := strings.Join(args, " ")
	page, section := help.Find(strings.ReplaceAll(topic, " ", "-"))
	if c, rest, err := root.Find(strings.Fields(topic)); err == nil && c != root && len(rest) == 0 {
		c.InitDefaultHelpFlag() // the help names it
		if err := c.Help(); err != nil || page == nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "\nTo read more: edgeguard help %s.md\n", page.Name)
		return nil
	}
	switch {
	case section != nil:
		for _, s := range section.Below() {
			fmt.Fprint(e.Stdout, s.Text(widthOf(e)))
		}
	case page != nil:
		whole := helpWhole
		if e.Width == 0 {
			whole = 1 << 30
		}
		fmt.Fprint(e.Stdout, page.Text(widthOf(e), whole))
	default:
		return printFound(e, root, topic)
	}
	return nil
}

// printFound prints the sections that have the words of a topic.
func printFound(e *command.Env, root *cobra.Command, topic string) error {
	found := help.Search(topic, helpFound)
	if use, ok := otherWords[strings.ToLower(topic)]; ok {
		fmt.Fprintf(e.Stdout, "here it is\n    %s\n", use)
	} else if len(found) == 0 {
		names := topics()
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		if near, ok := spelling.Name(topic, names); ok {
			return command.Usage(fmt.Errorf("help: nothing has %q: did you mean %s?", safetext.Strip(topic), near))
		}
		return command.Usage(fmt.Errorf("help: nothing has %q: edgeguard help lists commands and pages", safetext.Strip(topic)))
	}
	for _, f := range found {
		fmt.Fprintf(e.Stdout, "edgeguard help %s\n    %s\n", f.Topic(), f.Line)
	}
	return nil
}

func widthOf(e *command.Env) int {
	if e.Width == 0 {
		return helpWidth
	}
	return max(40, min(e.Width, helpWide))
}
