package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edgeguard/cmd/edgeguard/command"
)

// manCommand prints the manual page. Cobra's own generator requires a markdown
// library for what is fifty lines of roff.
func manCommand(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: `  edgeguard man > /usr/local/share/man/man1/edgeguard.1`,
		Args:    command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			page := manPage(c.Root())
			_, err := io.WriteString(e.Stdout, page)
			return err
		},
	}
}

// manPage writes the command and all below it as one page, in man(7).
func manPage(root *cobra.Command) string {
	var p strings.Builder
	fmt.Fprintf(&p, ".TH EDGEGUARD 1 \"\" \"edgeguard %s\"\n.SH NAME\nedgeguard \\- %s\n", roff(buildVersion()), roff(root.Short))
	fmt.Fprintf(&p, ".SH SYNOPSIS\n.B edgeguard\n.I command\n[flags]\n.SH DESCRIPTION\n%s", paragraphs(root.Long))
	p.WriteString(".SH COMMANDS\n")
	manCommands(&p, root)
	fmt.Fprintf(&p, ".SH FILES\n.TP\n.I %s\nthe config, unless --config names another, with the files conf.d/*.yaml beside it\n", command.DefaultConfig)
	p.WriteString(".SH EXIT STATUS\n0 success, 1 the command failed, 2 the command line is wrong; of status 0 ok, 1 degraded, 2 no answer\n")
	fmt.Fprintf(&p, ".SH SEE ALSO\nedgeguard help TOPIC, for %s\n", roff(strings.Join(topics(), ", ")))
	return p.String()
}

func manCommands(p *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		long := c.Long
		if long == "" {
			long = c.Short + "."
		}
		fmt.Fprintf(p, ".SS %s\n%s", roff(strings.TrimPrefix(c.UseLine(), c.Root().Name()+" ")), paragraphs(long))
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(p, ".TP\n\\fB\\-\\-%s\\fR %s\n%s\n", roff(f.Name), roff(value), roff(usage))
		})
		if c.Example != "" {
			fmt.Fprintf(p, ".PP\n.nf\n%s\n.fi\n", roff(c.Example))
		}
		manCommands(p, c)
	}
}

// paragraphs writes text; indented lines stay as they are.
func paragraphs(text string) string {
	var p strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, "  ") {
			p.WriteString(".PP\n.nf\n" + roff(part) + "\n.fi\n")
		} else {
			p.WriteString(".PP\n" + roff(part) + "\n")
		}
	}
	return p.String()
}

var roffEscapes = strings.NewReplacer(`\`, `\\`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// roff escapes what troff would obey.
func roff(text string) string {
	escaped := roffEscapes.Replace(text)
	if strings.HasPrefix(escaped, ".") || strings.HasPrefix(escaped, "'") {
		escaped = `\&` + escaped
	}
	return escaped
}
