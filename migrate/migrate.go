// Package migrate writes what an import of another program's rules comes to as a config
// with a comment for each decision.
//
// Its conditions and its reader of JSON are shared by the imports below it.
//
// A rule of which a part cannot be said is refused whole, by name: half a condition is
// another rule.
package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/rules"
)

// MaxRules is how many rules one file may have. A text with more is no policy that
// somebody wrote.
const MaxRules = 500

// What several imports say: of all rules, of one, and why one is refused.
const (
	NotePaths     = "Paths are compared in normal form: //login, /%6Cogin and /a/../login count as /login. Hosts are compared without their port, and methods and hosts in any case."
	NoteIPv6      = "IPv6 is counted by /64, with the networks around it; `wide: off` leaves these out."
	NoteFields    = "A rule that names a field which no source of yours knows counts nothing: `edgeguard check` warns of it, once the config has your sources."
	NoteShadow    = "%s: shadow, which only reports."
	NoteChallenge = "WARNING: %s becomes deny. edgeguard has no challenge: a person is refused like a program. Set `action: shadow` until the threshold is right."
	NoteResponse  = "The custom response is not imported: edgeguard answers 429, or your proxy answers."
	NoteEverybody = "WARNING: everybody: true. While the count is over the limit, what matches is refused to everybody, and any client can bring that about."
)

// RulesOf returns the rules that find finds in a JSON text. fix says how to get what can be
// read. An error about a text that has the first of a pair of others says that it is the
// second, another format.
func RulesOf(data []byte, fix string, others [][2]string, find func(root *JSONValue) ([]*JSONValue, error)) (list []*JSONValue, err error) {
	root, err := ParseJSON(data)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, fix)
	} else if list, err = find(root); err == nil && len(list) > MaxRules {
		return nil, fmt.Errorf("has %d rules, and at most %d are read", len(list), MaxRules)
	}
	for _, o := range others {
		if err != nil && bytes.Contains(data, []byte(o[0])) {
			return nil, errors.New("is " + o[1] + ", which is not read: " + fix)
		}
	}
	return list, err
}

// Draft is one rule of the other program, as it becomes one here.
type Draft struct {
	// Called is what it is there: "rule login (priority 3)".
	Called string
	// Spec is the rule here, if nothing is in Refused.
	Spec  rules.Spec
	Notes []string // a decision each
	// Refused is what of the rule cannot be said.
	Refused []string
}

// NoteDecision adds a decision.
func (r *Draft) NoteDecision(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Refuse adds a reason why the rule cannot be imported.
func (r *Draft) Refuse(format string, args ...any) {
	r.Refused = append(r.Refused, fmt.Sprintf(format, args...))
}

// SetRate sets how much is allowed in which time, and notes how the program says it.
func (r *Draft) SetRate(limit, seconds uint32, said, program string) {
	r.Spec.Threshold, r.Spec.Window = limit, time.Duration(seconds)*time.Second
	r.NoteDecision("%s in %d seconds: threshold and window. guard is 1, because %s has none.", said, seconds, program)
}

// Report is what an import comes to.
type Report struct {
	From  string   // the other program, as people call it
	Notes []string // what differs for all rules
	Rules []Draft
	// Left is what is not imported besides rules that count.
	Left []string

	names map[string]bool
}

// Leave notes something that is not imported.
func (r *Report) Leave(format string, args ...any) {
	r.Left = append(r.Left, fmt.Sprintf(format, args...))
}

// AddRead adds a rule as Add does, when all that is known of its value was asked for. It is
// refused for what else the value has.
func (r *Report) AddRead(rule *Draft, value *JSONValue, name string) {
	if len(rule.Refused) == 0 { // what was refused was not read to its end
		for _, path := range value.Unread() {
			rule.Refuse("%s is not known to this import", path)
		}
	}
	r.Add(rule, name)
}

// Add adds a rule. Its Spec gets a name like the given one that no other has; if
// edgeguard would refuse it, it is refused with the reason.
func (r *Report) Add(rule *Draft, name string) {
	if r.names == nil {
		r.names = map[string]bool{}
	}
	rule.Spec.Name, rule.Spec.Guard = "imported", "1"
	if rule.Spec.Key.Everybody && rule.Spec.Action == edgeguard.ActionDeny {
		rule.Spec.Everybody = true
		rule.NoteDecision(NoteEverybody)
	}
	if len(rule.Refused) == 0 {
		_, problems := rules.Compile([]rules.Spec{rule.Spec})
		for _, p := range problems {
			rule.Refuse("%s: %s", p.Path, p.Text)
		}
	}
	rule.Spec.Name = ""
	if len(rule.Refused) == 0 {
		rule.Spec.Name = r.unique(name)
		rule.remark()
	}
	r.Rules = append(r.Rules, *rule)
}

// remark notes what differs for a rule that has certain parts, wherever it is from.
func (r *Draft) remark() {
	if strings.Contains(r.Spec.When, "lower(") || strings.Contains(r.Spec.When, "(?i)") {
		r.NoteDecision("Letters are compared in any case as Unicode has it: here the Kelvin sign (U+212A) counts as k, too.")
	}
	if slices.ContainsFunc(r.Spec.Key.With, func(part string) bool {
		return strings.HasPrefix(part, "header:") || strings.HasPrefix(part, "cookie:")
	}) {
		r.NoteDecision("Headers come from a proxy that asks edgeguard, and are in no access log: `edgeguard replay` with one counts nothing by this rule.")
	}
}

// longestName leaves room for a number behind a name of 64 characters.
const longestName = 56

// unique returns a name that a rule can have and none has yet.
func (r *Report) unique(like string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.':
			return c
		}
		return '-'
	}, like[:min(len(like), longestName)])
	name = strings.Trim(name, "-.")
	if name == "" {
		name = "imported"
	}
	for next, i := name, 2; ; i++ {
		if !r.names[next] && next != edgeguard.ManualRule {
			r.names[next] = true
			return next
		}
		next = fmt.Sprintf("%s-%d", name, i)
	}
}

// Specs returns the imported rules.
func (r *Report) Specs() []rules.Spec {
	var all []rules.Spec
	for i := range r.Rules {
		if len(r.Rules[i].Refused) == 0 {
			all = append(all, r.Rules[i].Spec)
		}
	}
	return all
}

// Missing returns a line for each thing that was not imported.
func (r *Report) Missing() []string {
	var all []string
	for i := range r.Rules {
		if rule := &r.Rules[i]; len(rule.Refused) > 0 {
			all = append(all, line(rule.Called+": not imported: "+strings.Join(rule.Refused, "; ")))
		}
	}
	for _, left := range r.Left {
		all = append(all, line("not imported: "+left))
	}
	return all
}

// ConfigText returns the imported rules as a config that refuses nothing yet. The file is named
// in its first comment.
func (r *Report) ConfigText(file string) string {
	var b strings.Builder
	specs := r.Specs()
	comment(&b, "", fmt.Sprintf("Written by edgeguard import from %s, %s: %s, and %d not imported.",
		r.From, file, words.Plural(len(specs), "rule", "rules"), len(r.Missing())))
	comment(&b, "", "Next: `edgeguard check`, then `edgeguard replay` and `edgeguard tune` with a log of yours, each with --config and this file.")
	for _, note := range r.Notes {
		comment(&b, "", "- "+note)
	}
	b.WriteString("\n# Nothing is refused before this is `enforce`.\nmode: monitor\n\n")
	if len(specs) == 0 {
		b.WriteString("rules: []\n")
	} else {
		b.WriteString("rules:\n")
	}
	for i := range r.Rules {
		r.Rules[i].write(&b)
	}
	if len(r.Left) > 0 {
		b.WriteString("\n")
	}
	for _, left := range r.Left {
		comment(&b, "", "NOT IMPORTED: "+left)
	}
	return b.String()
}

func (r *Draft) write(b *strings.Builder) {
	if len(r.Refused) > 0 {
		comment(b, "  ", "NOT IMPORTED: "+r.Called)
		for _, reason := range r.Refused {
			comment(b, "  ", "- "+reason)
		}
		return
	}
	comment(b, "  ", r.Called)
	for _, note := range r.Notes {
		comment(b, "  ", "- "+note)
	}
	field := func(name, value string) { b.WriteString(name + ": " + value + "\n") }
	s := &r.Spec
	field("  - name", yaml.Quote(s.Name))
	if match := yaml.MatchText(&s.Match); match != "{}" {
		field("    match", match)
	}
	if s.When != "" {
		field("    when", yaml.Quote(s.When))
	}
	field("    threshold", fmt.Sprint(s.Threshold))
	field("    guard", s.Guard)
	field("    window", yaml.Duration(s.Window))
	var key []string
	if s.Key.Everybody {
		key = append(key, "address: none")
	}
	if len(s.Key.With) > 0 {
		key = append(key, "with: "+yaml.Flow(s.Key.With))
	}
	if len(key) > 0 {
		field("    key", "{"+strings.Join(key, ", ")+"}")
	}
	field("    action", s.Action.String())
	if s.Everybody {
		field("    everybody", "true")
	}
	if s.Action == edgeguard.ActionBlock {
		field("    block_for", yaml.Duration(s.BlockFor))
	}
}

// comment writes one line that YAML passes over.
func comment(b *strings.Builder, indent, text string) {
	b.WriteString(indent + "# " + line(text) + "\n")
}

// longest is how much of a text of another program is shown.
const longest = 600

// line returns a text as one line. U+2028 and U+2029 end lines for some readers of YAML.
func line(text string) string {
	return safetext.Cut(strings.NewReplacer("\u2028", " ", "\u2029", " ").Replace(safetext.Strip(text)), longest)
}
