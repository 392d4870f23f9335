package observe

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/blocks"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// topEvery is how often the screen is drawn, and the span that rates are of.
const topEvery = time.Second

// Top returns the command top. explain prints an explanation.
func Top(e *command.Env, explain func(*command.Env, *admin.Explanation)) *cobra.Command {
	var rows int
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch a running node: requests, attacks, keys near a limit, newest blocks",
		Long: `top shows the activity of a running node, updated every second: attacks that go on,
those of which most is refused first, then who is near a limit or blocked. On a terminal it
runs until interrupted, and keys choose a row, explain or unblock it: ? lists them. A row that is longer than the screen is clipped. What is blocked is
below, and not among the keys near a limit. In a pipe, and with --json, top prints once and ends. Rules
that have candidates are followed by what those would have done.`,
		Example: `  edgeguard top
  edgeguard top --rows 20
  edgeguard top --json`,
		Args: command.NoArguments,
		PreRunE: func(*cobra.Command, []string) error {
			if rows < 1 || rows > 1000 {
				return command.Usage(fmt.Errorf("top: --rows %d: use 1 to 1000", rows))
			}
			return nil
		},
	}
	c.Flags().IntVar(&rows, "rows", 10, "show `N` keys, blocks and candidates")
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		return (&topScreen{Env: e, node: node, rows: rows, explain: explain}).watch(ctx)
	})
}

// frameJSON is one frame of top: figures as the API sends them, and rates.
type frameJSON struct {
	// Rates are of the Seconds before the status.
	Seconds float64 `json:"seconds"`
	Rates   struct {
		Decided  float64 `json:"decided"`
		Denied   float64 `json:"denied"`
		Shadowed float64 `json:"shadowed"`
	} `json:"per_second"`
	Status admin.Stats `json:"status"`
	// Attacks are those that go on.
	Attacks []admin.Attack   `json:"attacks"`
	Keys    []admin.KeyCount `json:"keys"`
	Newest  []admin.Block    `json:"newest"`
	// Candidates are what other thresholds of the rules would have done.
	Candidates []candidateJSON `json:"candidates,omitempty"`
}

// frameOf returns the frame of two looks at a node.
func frameOf(before, now *admin.Stats, attacks []admin.Attack, top *admin.Top, candidates []candidateJSON) frameJSON {
	f := frameJSON{Seconds: max(now.Time.Sub(before.Time).Seconds(), 0.001), Status: *now, Attacks: attacks, Keys: top.Keys, Newest: top.Newest, Candidates: candidates}
	rate := func(a, b uint64) float64 { return float64(b-min(a, b)) / f.Seconds }
	f.Rates.Decided = rate(before.Events.Decided, now.Events.Decided)
	f.Rates.Denied = rate(before.Events.Denied, now.Events.Denied)
	f.Rates.Shadowed = rate(before.Events.Shadowed, now.Events.Shadowed)
	return f
}

// topScreen is what top draws, again and again.
type topScreen struct {
	*command.Env
	node    *client.Client
	rows    int
	explain func(*command.Env, *admin.Explanation)
	keys    *topKeys // nil without a keyboard
	before  admin.Stats
}

// watch draws until ctx is done or a key ends it, or once if the output is not a terminal or JSON.
func (s *topScreen) watch(ctx context.Context) (err error) {
	if s.before, err = s.node.Status(ctx); err != nil {
		return err
	}
	live, pressed := s.Width > 0 && !s.JSON, make(chan string)
	if live && s.Raw != nil {
		restore, ok := s.Raw()
		defer restore()
		if ok {
			s.keys = new(topKeys)
			go readKeys(ctx, s.Env, pressed)
		}
	}
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case key := <-pressed:
			what := s.keys.press(key)
			if what == topEnds {
				return nil
			}
			s.keys.act(ctx, s.Env, s.node, what, s.explain)
		case <-ctx.Done():
			return nil
		}
		if err := s.draw(ctx, live); err != nil || !live {
			return endOf(ctx, err)
		}
	}
}

// draw asks the node and draws once.
func (s *topScreen) draw(ctx context.Context, live bool) error {
	now, err := s.node.Status(ctx)
	if err != nil {
		return err
	}
	top, err := s.node.Top(ctx, s.rows)
	if err != nil {
		return err
	}
	list, err := s.node.Rules(ctx)
	if err != nil {
		return err
	}
	attacks, err := goingOn(ctx, s.node)
	if err != nil {
		return err
	}
	candidates := candidatesOf(list.Rules)
	if s.JSON {
		return s.PrintJSON(frameOf(&s.before, &now, attacks, &top, candidates))
	}
	if s.keys != nil {
		attacks = s.keys.choose(attacks, &top)
	}
	var screen bytes.Buffer
	drawTop(&screen, s.Env, &s.before, &now, attacks[:min(len(attacks), s.rows)], &top)
	drawCandidates(&screen, s.Colour, candidates[:min(len(candidates), s.rows)])
	if more := len(candidates) - s.rows; more > 0 {
		fmt.Fprintf(&screen, "and %s: edgeguard rules\n", words.Plural(more, "more candidate", "more candidates"))
	}
	if now.Time.Sub(s.before.Time) >= topEvery/2 { // a key draws between: rates stay those of a second
		s.before = now
	}
	if !live {
		_, err := s.Stdout.Write(screen.Bytes())
		return err
	}
	end := "\x1b[K\n"
	if s.keys != nil {
		s.keys.draw(&screen)
		end = "\x1b[K\r\n" // a terminal that is read key by key adds no return
	}
	// Home, each line cleared to its end, and what is below cleared: a whole clear would
	// flicker.
	_, err = fmt.Fprintf(s.Stdout, "\x1b[H%s\x1b[J", strings.ReplaceAll(screen.String(), "\n", end))
	return err
}

// goingOn returns the attacks that go on.
func goingOn(ctx context.Context, node *client.Client) ([]admin.Attack, error) {
	list, err := node.Attacks(ctx, time.Time{}, time.Time{})
	return slices.DeleteFunc(list.Attacks, func(a admin.Attack) bool { return !a.GoesOn() }), err
}

// endOf is the error of a call, unless the user interrupted it.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// drawTop writes one screen.
func drawTop(out *bytes.Buffer, e *command.Env, before, now *admin.Stats, attacks []admin.Attack, top *admin.Top) {
	mode := "enforce"
	if now.Monitor {
		mode = output.Paint(output.Amber, "monitor: nothing is enforced", e.Colour)
	}
	fmt.Fprintf(out, "edgeguard %s on %s, %s, up %s\n", safetext.Strip(now.Version), safetext.Strip(now.Node), mode, words.Span(now.Time.Sub(now.Started).Round(time.Second)))
	seconds := max(now.Time.Sub(before.Time).Seconds(), 0.001)
	rate := func(a, b uint64) string { return words.Number(uint64(float64(b-min(a, b))/seconds + 0.5)) }
	fmt.Fprintf(out, "%s events/s, %s denied/s, %s would be denied/s; %s events so far\n",
		rate(before.Events.Decided, now.Events.Decided), rate(before.Events.Denied, now.Events.Denied),
		rate(before.Events.Shadowed, now.Events.Shadowed), words.Number(now.Events.Decided))
	fmt.Fprintf(out, "%s, %s in %s of %s MiB\n", words.Plural(now.V4+now.V6, "block", "blocks"), words.Plural(now.Tables.Keys, "key", "keys"),
		words.Number(now.Tables.Used>>20), words.Number(now.Tables.Limit>>20))
	if n := uncountedSince(before, now); n > 0 {
		fmt.Fprintln(out, output.Paint(output.Red, fmt.Sprintf("%s requests were not counted", words.Number(n)), e.Colour))
	}
	drawFleet(out, e, before.Fleet, now, rate)
	for _, a := range now.Alarms() {
		if now.Fleet != nil && a.Text == now.Fleet.Fix {
			continue // the fleet's line says it
		}
		fmt.Fprintln(out, output.Paint(output.Red, "! "+clip(safetext.Strip(a.Text), e.Width-len("! ")), e.Colour))
	}
	fmt.Fprintln(out)
	if len(attacks) > 0 {
		drawAttacks(out, e, attacks)
		fmt.Fprintln(out)
	}
	drawKeys(out, e, top.Keys)
	if len(top.Newest) == 0 {
		return
	}
	fmt.Fprintln(out)
	t := &output.Table{Screen: e.Width}
	for i := range top.Newest {
		blocks.AddRow(t, "newest blocks", &top.Newest[i], now.Time)
	}
	t.Print(out, e.Colour)
}

// uncountedSince returns how many requests were not counted between two looks.
func uncountedSince(before, now *admin.Stats) (n uint64) {
	for _, u := range now.Uncounted {
		n += u.Count
	}
	for _, u := range before.Uncounted {
		n -= min(n, u.Count)
	}
	return n
}

// drawFleet writes the state of the node in its fleet, in one line; nothing for a
// node alone.
func drawFleet(out *bytes.Buffer, e *command.Env, before *admin.Fleet, now *admin.Stats, rate func(a, b uint64) string) {
	f := now.Fleet
	if f == nil {
		return
	}
	if f.Lost() != "" {
		lost := "fleet " + safetext.Strip(f.Namespace) + " degraded"
		if !f.Since.IsZero() {
			lost += " for " + words.Span(max(0, now.Time.Sub(f.Since)).Round(time.Second))
		}
		fmt.Fprintln(out, output.Paint(output.Red, clip(lost+": "+safetext.Strip(f.Fix), e.Width), e.Colour))
		return
	}
	pushed := uint64(0)
	if before != nil {
		pushed = before.Pushed
	}
	held := ""
	if f.Held > 0 {
		held = ", " + output.Paint(output.Amber, words.Plural(f.Held, "block", "blocks")+" held", e.Colour)
	}
	if f.Unpublished > 0 {
		held += ", " + words.Plural(f.Unpublished, "block", "blocks") + " to be sent"
	}
	if f.Staying > 0 {
		held += ", " + words.Plural(f.Staying, "block", "blocks") + " not to be sent: this node may be broken"
	}
	fmt.Fprintf(out, "fleet %s: %s, pushed %.1f s ago, %s keys/s of %s, clock %+.1f ms%s\n", safetext.Strip(f.Namespace),
		words.Plural(f.Alive, "node", "nodes"), f.PushLag, rate(pushed, f.Pushed), words.Plural(f.Suspects, "suspect", "suspects"), f.Ahead*1e3, held)
}

// drawKeys writes the keys nearest to their limits: a row for an address, with how many
// more rules it is near, and none for what is blocked, which is below.
func drawKeys(out *bytes.Buffer, e *command.Env, keys []admin.KeyCount) {
	if len(keys) == 0 {
		fmt.Fprintln(out, "nothing is counted yet")
		return
	}
	t := &output.Table{Screen: e.Width}
	inFleet := slices.ContainsFunc(keys, func(k admin.KeyCount) bool { return k.Fleet != nil })
	for _, k := range keys {
		more := ""
		if k.More > 0 {
			more = "+" + words.Plural(k.More, "rule", "rules")
		}
		row := []output.Cell{
			output.Text(output.Plain, "nearest to a limit", k.Shown), output.Text(output.Plain, "rule", k.Rule), output.Text(output.Faint, "", more),
			output.Number(output.Plain, "count", k.Unit.Amount(k.Count)), output.Number(output.Faint, "limit", k.Unit.Amount(k.Limit)),
			output.Text(output.Faint, "of", k.Unit.Many), output.Number(output.Amber, "", words.Percent(k.Count, k.Limit)),
		}
		if inFleet {
			var count, share, nodes string
			if f := k.Fleet; f != nil {
				count, share, nodes = k.Unit.Amount(f.Count), words.Percent(f.Count, k.Limit), words.Number(len(f.Nodes))
			}
			row = append(row, output.Number(output.Plain, "in the fleet", count), output.Number(output.Amber, "", share), output.Number(output.Faint, "nodes", nodes))
		}
		t.Cells(row...)
	}
	t.Print(out, e.Colour)
}

// clip cuts a text to the width of the screen; a pipe has none, and all room.
func clip(text string, width int) string {
	if width < 1 {
		return text
	}
	return output.Clip(text, width)
}
