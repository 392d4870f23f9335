package blocks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// mostShown is how many wrong lines, and how many refused blocks, are printed one by one.
const mostShown = 20

// importer imports one file of blocks, or of allowances.
type importer struct {
	env      *command.Env
	allow    bool
	file     string // as messages name it
	format   string
	defaults admin.BulkEntry
	dryRun   bool
	skipBad  bool
	noWait   *bool

	lines  []int             // of entries, in their order
	blocks []admin.BulkEntry // that are sent
	wrong  []string          // the first wrong lines
	done   imported
}

// imported is what became of a file's entries.
type imported struct {
	Batch   edgeguard.BatchID `json:"batch,omitempty"`
	Added   int               `json:"added"`
	Stays   int               `json:"stays"`
	Refused []refusedLine     `json:"refused"`
	Ended   int               `json:"ended"`
	Wrong   int               `json:"wrong_lines"`
	DryRun  bool              `json:"dry_run,omitempty"`
	// MayBeCustomers are those of a dry run to which the site served pages.
	MayBeCustomers []string `json:"may_be_customers,omitempty"`
}

// refusedLine is a block that the node refuses.
type refusedLine struct {
	Line int `json:"line"`
	admin.BulkResult
}

func blocksImportCommand(e *command.Env) *cobra.Command {
	in := importer{env: e}
	c := &cobra.Command{
		Use:   "import FILE | -",
		Short: "Block all addresses and prefixes of a file",
		Long: `import blocks what a file lists: an address or prefix a line, with comments after #
or ;, a CSV table with the names of its columns (prefix, until, for, owner, reason)
in the first line, or JSON as export writes it. Nothing is sent if a line is wrong.
Where a block is in force that ends no sooner, it stays. What is protected, too wide,
or would refuse too many requests with the others, is refused and named, and the rest
goes on. Without an owner, the blocks are an operator's.

What was added has a name, by which it is taken back: edgeguard blocks remove --batch.`,
		Example: `  edgeguard blocks import drop.txt --for 30d --reason "Spamhaus DROP" --dry-run
  edgeguard blocks export | ssh edge-2 edgeguard blocks import -`,
	}
	c.Flags().StringVar(&in.defaults.For, "for", "1h", "how long, as `TIME` such as 12h or 30d, where a line has no end")
	c.Flags().StringVar(&in.defaults.Owner, "owner", "", "block for the program `NAME` where a line has no owner")
	return in.command(c)
}

func allowImportCommand(e *command.Env) *cobra.Command {
	in := importer{env: e, allow: true}
	c := &cobra.Command{
		Use:   "import FILE | -",
		Short: "Never block the addresses and prefixes of a file",
		Long: `import allows what a file lists, which is as one of blocks: an address or prefix a line,
or a table, or JSON. Nothing is sent if a line is wrong. Where an allowance is in force
that ends no sooner, it stays. What is too wide is refused and named, and the rest goes on.

What was added has a name, by which it is taken back: edgeguard allow remove --batch.`,
		Example: `  edgeguard allow import offices.txt --reason offices
  edgeguard allow import monitors.csv --for 90d --dry-run`,
	}
	c.Flags().StringVar(&in.defaults.For, "for", "", "how long, as `TIME` such as 12h or 30d, where a line has no end (default until removed)")
	return in.command(c)
}

// command makes c import a file.
func (in *importer) command(c *cobra.Command) *cobra.Command {
	c.Args = command.OneArgument("a file, or - for the standard input")
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := in.check(time.Now()); err != nil {
			return command.Usage(fmt.Errorf("import: %w", err))
		}
		return in.open(args[0], c.InOrStdin(), time.Now())
	}
	in.noWait = noWaitFlag(c)
	in.env.JSONFlag(c, "print JSON, one object")
	f := c.Flags()
	f.StringVar(&in.format, "format", "", "`FORMAT` of the file: plain, csv or json (default by its first bytes)")
	f.StringVar(&in.defaults.Reason, "reason", "", "`TEXT` shown with each, where a line has no reason")
	f.BoolVar(&in.dryRun, "dry-run", false, "change nothing, and say what would be done")
	f.BoolVar(&in.skipBad, "skip-bad", false, "report wrong lines, and import the others")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error { return in.run(ctx, node) })
}

// check refuses flags that no line could be imported with.
func (in *importer) check(now time.Time) error {
	if f := fileFormat(in.format); f != "" && !slices.Contains(fileFormats, f) {
		return fmt.Errorf("--format %s: use one of %v", in.format, fileFormats)
	}
	in.defaults.For = ownedSpan(in.defaults.For)
	if err := checked(now, admin.BulkEntry{Prefix: "192.0.2.1", For: in.defaults.For, Owner: in.defaults.Owner, Reason: in.defaults.Reason}); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// checked returns why a node would refuse an entry, whatever it has in force.
func checked(now time.Time, e admin.BulkEntry) error {
	_, p := call.ParsePrefix("prefix", e.Prefix)
	if p == nil {
		_, p = call.Until(now, e.For, e.Until, call.DefaultFor)
	}
	if p == nil {
		_, p = admin.OwnerRule(e.Owner, false)
	}
	if p = cmp.Or(p, call.CheckReason(e.Reason)); p == nil {
		return nil
	}
	return p
}

// open reads the file.
func (in *importer) open(name string, stdin io.Reader, now time.Time) error {
	from := stdin
	if in.file = "stdin"; name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in.file, from = safetext.Strip(name), file
	}
	return in.read(from, now)
}

// read reads all entries and checks each.
func (in *importer) read(from io.Reader, now time.Time) error {
	err := readFile(from, fileFormat(in.format), func(one fileEntry, err error) {
		block := in.withDefaults(one)
		if err == nil && !one.Until.IsZero() && one.For == "" && !one.Until.After(now) {
			in.done.Ended++
			return
		}
		if err == nil {
			err = checked(now, block)
		}
		if err == nil {
			in.lines, in.blocks = append(in.lines, one.Line), append(in.blocks, block)
			return
		}
		if in.done.Wrong++; in.done.Wrong <= mostShown {
			in.wrong = append(in.wrong, fmt.Sprintf("%s:%d: %s", in.file, one.Line, safetext.Strip(err.Error())))
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was sent", in.file, err)
	}
	if in.done.Wrong > 0 && !in.skipBad {
		for _, line := range in.wrong {
			fmt.Fprintln(in.env.Stderr, line)
		}
		return fmt.Errorf("%s: %s; nothing was sent: correct them, or use --skip-bad", in.file, words.Plural(in.done.Wrong, "wrong line", "wrong lines"))
	}
	return nil
}

// withDefaults returns the block of an entry.
func (in *importer) withDefaults(one fileEntry) admin.BulkEntry {
	b := admin.BulkEntry{Prefix: one.Prefix, For: ownedSpan(one.For), Until: one.Until, Reason: cmp.Or(one.Reason, in.defaults.Reason), Owner: cmp.Or(one.Owner, in.defaults.Owner)}
	if b.For == "" && b.Until.IsZero() {
		b.For = in.defaults.For
	}
	return b
}

// run sends the blocks and says what became of them.
func (in *importer) run(ctx context.Context, node *client.Client) error {
	in.done.DryRun, in.done.Refused = in.dryRun, []refusedLine{}
	if err := in.send(ctx, node); err != nil {
		return fmt.Errorf("%w; before it, %s: import the file again, what is in force stays", err, in.summary())
	}
	err := command.Show(in.env, in.done, nil, func(*command.Env, *imported) {
		in.print()
		if in.done.Added > 0 && !in.dryRun {
			Say(ctx, in.env.Stdout, node, !*in.noWait)
		}
	})
	if err != nil {
		return err
	}
	for _, line := range in.wrong {
		fmt.Fprintln(in.env.Stderr, line)
	}
	if n := len(in.done.Refused); n+in.done.Wrong > 0 {
		return fmt.Errorf("%s refused, %s", words.Plural(n, "entry", "entries"), words.Plural(in.done.Wrong, "wrong line", "wrong lines"))
	}
	return nil
}

// send sends the blocks, one request after the other.
func (in *importer) send(ctx context.Context, node *client.Client) error {
	spent, sent := 0.0, 0
	put := node.Import
	if in.allow {
		put = node.ImportAllowances
	}
	for sent < len(in.blocks) {
		some := fitting(in.blocks[sent:])
		done, err := put(ctx, admin.BulkRequest{Blocks: some, Spent: spent, Batch: in.done.Batch, DryRun: in.dryRun})
		if err != nil {
			return err
		}
		if len(done.Results) != len(some) {
			return fmt.Errorf("the node answered %d results for %d entries", len(done.Results), len(some))
		}
		in.done.Batch = cmp.Or(in.done.Batch, done.Batch)
		for i, one := range done.Results {
			if one.MayBeCustomer {
				in.done.MayBeCustomers = append(in.done.MayBeCustomers, one.Prefix)
			}
			if one.Result == admin.BulkRefused {
				in.done.Refused = append(in.done.Refused, refusedLine{in.lines[sent+i], one})
			}
		}
		in.done.Added, in.done.Stays = in.done.Added+done.Added, in.done.Stays+done.Stays
		spent, sent = done.Spent, sent+len(some)
	}
	return nil
}

// fitting returns the first of the entries, as many as one request may have.
func fitting(all []admin.BulkEntry) []admin.BulkEntry {
	const most, other = 30 << 20, 150 // bytes of a request, and those of an entry's other fields
	size := 0
	for i := range all {
		if size += other + len(all[i].Prefix) + 6*len(all[i].Reason); size > most || i == admin.MostBulk {
			return all[:i]
		}
	}
	return all
}

// print prints the first refused blocks and the summary.
func (in *importer) print() {
	for i, r := range in.done.Refused {
		if i == mostShown {
			fmt.Fprintf(in.env.Stdout, "and %s more: --json lists them\n", words.Number(len(in.done.Refused)-i))
			break
		}
		fmt.Fprintf(in.env.Stdout, "%s:%d: refused: %s", in.file, r.Line, safetext.Strip(r.Detail))
		if r.Fix != "" {
			fmt.Fprintf(in.env.Stdout, "; %s", safetext.Strip(r.Fix))
		}
		fmt.Fprintln(in.env.Stdout)
	}
	if may := in.done.MayBeCustomers; len(may) > 0 {
		fmt.Fprintf(in.env.Stdout, "the site served pages to %s of them before, they may be customers: %s", words.Number(len(may)), safetext.Strip(strings.Join(output.First(may, mostShown), ", ")))
		if len(may) > mostShown {
			fmt.Fprint(in.env.Stdout, ", and more: --json lists them")
		}
		fmt.Fprintln(in.env.Stdout)
	}
	fmt.Fprintln(in.env.Stdout, in.summary())
	if in.done.Batch != 0 {
		fmt.Fprintf(in.env.Stdout, "batch %s; to take it back: edgeguard %s remove --batch %s\n", in.done.Batch, in.kind(), in.done.Batch)
	}
}

// kind is the command of what is imported.
func (in *importer) kind() string {
	if in.allow {
		return "allow"
	}
	return "blocks"
}

// summary counts what became of the entries.
func (in *importer) summary() string {
	verb := "added"
	if in.dryRun {
		verb = "would be added"
	}
	return fmt.Sprintf("%s %s, in force already %s, refused %s, ended %s, wrong lines %s", verb, words.Number(in.done.Added),
		words.Number(in.done.Stays), words.Number(len(in.done.Refused)), words.Number(in.done.Ended), words.Number(in.done.Wrong))
}
