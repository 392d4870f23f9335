package observe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
)

// What a person at a terminal does with the rows of top.

const topHelp = `up, down   choose a row        Enter  explain it        u  unblock it (asks)
/          only rows with...   r      by requests       ?  this   q  end
`

// The keys that are no letters.
const (
	keyUp, keyDown, keyEscape, keyEnter, keyBack, keyInterrupt = "\x1b[A", "\x1b[B", "\x1b", "\r", "\x7f", "\x03"
)

// mostOnly is the longest text that rows are chosen by.
const mostOnly = 64

// topAct is what a key asks for.
type topAct int

const (
	topDraws topAct = iota
	topEnds
	topExplains
	topUnblocks
)

// topKeys is what the keys have chosen.
type topKeys struct {
	help, byRequests, typing bool
	only                     string // rows that have it
	row                      int
	rows                     []string     // addresses or prefixes that can be chosen
	asks                     netip.Prefix // is unblocked by y
	said                     string       // what came of the last key
}

// press takes a key.
func (k *topKeys) press(key string) topAct {
	if k.asks.IsValid() {
		if key == "y" {
			return topUnblocks
		}
		k.asks, k.said = netip.Prefix{}, ""
		return topDraws
	}
	if k.typing && key != keyInterrupt {
		k.typeKey(key)
		return topDraws
	}
	k.said = ""
	switch key {
	case "q", keyInterrupt:
		return topEnds
	case "?":
		k.help = !k.help
	case "r":
		k.byRequests = !k.byRequests
	case "/":
		k.typing, k.only = true, ""
	case keyUp, "k":
		k.row--
	case keyDown, "j":
		k.row++
	case keyEnter:
		return topExplains
	case "u":
		if prefix, ok := k.chosen(); ok {
			k.asks, k.said = prefix, "unblock "+output.Prefix(prefix)+" on all nodes, and forget its counts? y, or any other key for no\n"
		}
	}
	return topDraws
}

// typeKey takes a key of the text that rows are chosen by.
func (k *topKeys) typeKey(key string) {
	switch {
	case key == keyEnter:
		k.typing = false
	case key == keyEscape:
		k.typing, k.only = false, ""
	case key == keyBack:
		k.only = k.only[:max(0, len(k.only)-1)]
	case len(key) == 1 && key >= " " && len(k.only) < mostOnly:
		k.only += key
	}
}

// chosen returns the prefix of the row that is chosen.
func (k *topKeys) chosen() (netip.Prefix, bool) {
	if len(k.rows) == 0 {
		return netip.Prefix{}, false
	}
	text, _, _ := strings.Cut(k.rows[k.row], " ") // behind it are attributes
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil
}

// choose leaves what the keys have chosen of the rows.
func (k *topKeys) choose(attacks []admin.Attack, top *admin.Top) []admin.Attack {
	has := func(texts ...string) bool {
		return strings.Contains(strings.ToLower(strings.Join(texts, " ")), strings.ToLower(k.only))
	}
	attacks = slices.DeleteFunc(attacks, func(a admin.Attack) bool { return !has(append([]string{who(&a)}, a.Rules...)...) })
	top.Keys = slices.DeleteFunc(top.Keys, func(c admin.KeyCount) bool { return !has(c.Shown, c.Rule) })
	top.Newest = slices.DeleteFunc(top.Newest, func(b admin.Block) bool { return !has(b.Prefix.String(), b.Rule, b.Reason, b.Origin) })
	if k.byRequests {
		slices.SortStableFunc(top.Keys, func(x, y admin.KeyCount) int { return cmp.Compare(y.Count, x.Count) })
		slices.SortStableFunc(top.Newest, func(x, y admin.Block) int { return cmp.Compare(y.Count, x.Count) })
	}
	k.rows = nil
	for i := range top.Keys {
		k.rows = append(k.rows, safetext.Strip(top.Keys[i].Shown))
	}
	for i := range top.Newest {
		k.rows = append(k.rows, output.Prefix(top.Newest[i].Prefix))
	}
	k.row = min(max(k.row, 0), max(len(k.rows)-1, 0))
	return attacks
}

// draw adds to a screen which row is chosen, and what keys do.
func (k *topKeys) draw(screen *bytes.Buffer) {
	if len(k.rows) > 0 {
		name := k.rows[k.row]
		begins := max(strings.Index(screen.String(), "nearest to a limit"), strings.Index(screen.String(), "nothing is counted yet"), 0)
		head, tables := screen.String()[:begins], screen.String()[begins:]
		screen.Reset()
		screen.WriteString(head + strings.Replace(tables, name, "\x1b[7m"+name+"\x1b[27m", 1))
	}
	switch {
	case k.typing || k.only != "":
		fmt.Fprintf(screen, "\nonly rows with: %s\n", k.only)
	case k.help:
		screen.WriteString("\n" + topHelp)
	default:
		screen.WriteString("\n? for keys\n")
	}
	if k.said != "" {
		screen.WriteString("\n" + k.said)
	}
}

// act does what a key asks for, and keeps what came of it.
func (k *topKeys) act(ctx context.Context, e *command.Env, node *client.Client, what topAct, explain func(*command.Env, *admin.Explanation)) {
	prefix, ok := k.chosen()
	switch {
	case what == topExplains && ok:
		x, err := node.Explain(ctx, prefix.Addr())
		var said bytes.Buffer
		to := *e
		to.Stdout = &said
		if err == nil {
			explain(&to, &x)
		} else {
			fmt.Fprintln(&said, safetext.Strip(err.Error()))
		}
		k.said = said.String()
	case what == topUnblocks:
		_, err := node.Unblock(ctx, k.asks.String(), "")
		if k.said = output.Prefix(k.asks) + " is unblocked\n"; err != nil {
			k.said = safetext.Strip(err.Error()) + "\n"
		}
		k.asks = netip.Prefix{}
	}
}

// readKeys sends the keys that are pressed, until reading fails.
func readKeys(ctx context.Context, e *command.Env, to chan<- string) {
	pressed := make([]byte, 64)
	for {
		n, err := e.Stdin.Read(pressed)
		if err != nil {
			return
		}
		for _, key := range splitKeys(string(pressed[:n])) {
			select {
			case to <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// splitKeys returns the keys of what a terminal sent: a byte each, but for an arrow.
func splitKeys(text string) (keys []string) {
	for len(text) > 0 {
		n := 1
		if strings.HasPrefix(text, "\x1b[") || strings.HasPrefix(text, "\x1bO") {
			n = min(3, len(text))
		}
		key := text[:n]
		if n == 3 {
			key = "\x1b[" + key[2:]
		}
		if key == "\n" {
			key = keyEnter
		}
		keys, text = append(keys, key), text[n:]
	}
	return keys
}
