package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/migrate"
	"edgeguard/migrate/awswaf"
	"edgeguard/migrate/cloudflare"
	"edgeguard/migrate/nginx"
)

// The exit codes: something was not imported; the file cannot be read.
const (
	exitMissing = 1
	exitUnread  = 2
)

// mostImported bounds a file. `nginx -T` prints lists of networks, too.
const mostImported = 16 << 20

// importCommand returns `edgeguard import`: rules of AWS WAF, Cloudflare and nginx become
// rules of edgeguard.
func importCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Make rules of those of AWS WAF, Cloudflare or nginx",
		Long: `import reads the rules by which another program limits requests, and prints a config
with these rules: each with a comment for what was decided, in mode monitor. A rule of
which a part cannot be said here is refused whole and by name, in the config as a
comment and on the standard error. Next, try the rules with a log of yours:
edgeguard replay --config FILE LOG.

It exits 0 if everything was imported, 1 if something was not, and 2 if the file cannot
be read.`,
		Example: `  edgeguard import aws-waf acl.json -o imported.yaml
  edgeguard import cloudflare ruleset.json
  nginx -T | edgeguard import nginx -`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return command.Usage(fmt.Errorf("import: unknown source %q: use aws-waf, cloudflare or nginx", args[0]))
			}
			return c.Help()
		},
	}
	c.AddCommand(importAWSWAFCommand(e), importCloudflareCommand(e), importNginxCommand(e))
	return c
}

func importCloudflareCommand(e *command.Env) *cobra.Command {
	c := importFrom(e, `cloudflare FILE | -`, "Make rules of Cloudflare's rate limiting rules", cloudflare.Import)
	c.Long = `cloudflare reads the answer of Cloudflare's API with the rate limiting rules of a zone:
GET /zones/ZONE/rulesets/phases/http_ratelimit/entrypoint. Expressions over path, host,
method, query, User-Agent and status can be said; the rest of a rule that has more is not
imported either, and named with its place.`
	c.Example = `  edgeguard import cloudflare ruleset.json -o imported.yaml
  curl -H "Authorization: Bearer $TOKEN" https://api.cloudflare.com/client/v4/zones/$ZONE/rulesets/phases/http_ratelimit/entrypoint | edgeguard import cloudflare -`
	return c
}

func importAWSWAFCommand(e *command.Env) *cobra.Command {
	encoding := string(awswaf.Auto)
	c := importFrom(e, `aws-waf FILE | -`, "Make rules of the rate-based rules of an AWS WAF web ACL", func(data []byte) (*migrate.Report, error) {
		return awswaf.Import(data, awswaf.Encoding(encoding))
	})
	c.Long = `aws-waf reads what aws wafv2 get-web-acl or get-rule-group prints, or the JSON of a
rule from the console. Rate-based rules become rules that deny while the count is over
the limit. Other rules, labels, countries, IP sets and patterns are named.`
	c.Example = `  edgeguard import aws-waf acl.json -o imported.yaml
  aws wafv2 get-web-acl --name site --scope REGIONAL --id ID | edgeguard import aws-waf -`
	c.Flags().StringVar(&encoding, "search-strings", encoding, "how search strings are written: `HOW` is base64 as the AWS CLI prints them, plain as the console shows them, or auto")
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(awswaf.Encodings(), encoding) {
			return command.Usage(fmt.Errorf("aws-waf: --search-strings %q: use one of %s", encoding, strings.Join(awswaf.Encodings(), ", ")))
		}
		return nil
	}
	return c
}

func importNginxCommand(e *command.Env) *cobra.Command {
	c := importFrom(e, `nginx FILE | -`, "Propose rules for nginx's limit_req", nginx.Import)
	c.Long = `nginx reads what nginx -T prints, or one file that has everything, and proposes a rule
for each limit_req: its rate in a minute, and its burst. These rules only report, because
a leaky bucket has no window.`
	c.Example = `  nginx -T | edgeguard import nginx - -o imported.yaml
  nginx -T > all.conf && edgeguard import nginx all.conf`
	return c
}

// importFrom returns the command that imports from one program.
func importFrom(e *command.Env, use, short string, read func([]byte) (*migrate.Report, error)) *cobra.Command {
	var output string
	var force bool
	c := &cobra.Command{
		Use: use, Short: short,
		Args: command.OneArgument("a file, or - for the standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			report, text, err := readForeign(e, args[0], read)
			if err != nil {
				return command.Ended{Code: exitUnread, Err: err}
			}
			if err := writeImported(e, output, force, text); err != nil {
				return command.Ended{Code: exitUnread, Err: err}
			}
			return sayMissing(e, report, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write the config to this `FILE`, which must not be there yet")
	c.Flags().BoolVar(&force, "force", false, "with --output: replace the file")
	return c
}

// readForeign reads a file, and returns what it comes to and the config of that.
func readForeign(e *command.Env, name string, read func([]byte) (*migrate.Report, error)) (*migrate.Report, string, error) {
	in, called := e.Stdin, "the standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = f.Close() }() // it was only read
		in, called = f, name
	}
	data, err := io.ReadAll(io.LimitReader(in, mostImported+1))
	if err == nil && len(data) > mostImported {
		err = fmt.Errorf("is larger than %d bytes", mostImported)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", called, err)
	}
	report, err := read(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", called, err)
	}
	text := report.ConfigText(called)
	if _, err := config.Parse("the config", []byte(text)); err != nil {
		return nil, "", fmt.Errorf("%s: the config of it would be wrong, so none is printed: %w", called, err)
	}
	return report, text, nil
}

// writeImported writes the config to a file, or prints it.
func writeImported(e *command.Env, output string, force bool, text string) error {
	if output == "" {
		_, err := io.WriteString(e.Stdout, text)
		return err
	}
	if force {
		return atomicfile.Replace(output, []byte(text), atomicfile.Options{Mode: 0o644, Inherit: true})
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: add --force to replace it", output)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// sayMissing says what was not imported, and what to do next.
func sayMissing(e *command.Env, report *migrate.Report, output string) error {
	missing := report.Missing()
	for _, text := range missing {
		fmt.Fprintln(e.Stderr, text)
	}
	if output != "" {
		next := fmt.Sprintf(". Next: edgeguard replay --config %s LOG", safetext.Strip(output))
		if len(report.Specs()) == 0 {
			next = ""
		}
		fmt.Fprintf(e.Stderr, "%s has %s%s\n", safetext.Strip(output), words.Plural(len(report.Specs()), "rule", "rules"), next)
	}
	if len(missing) == 0 {
		return nil
	}
	return command.Ended{Code: exitMissing, Err: fmt.Errorf("import: %s not imported", words.Plural(len(missing), "part of the file was", "parts of the file were"))}
}
