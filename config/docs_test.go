package config_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/config/key"
)

// yamlBlock finds the examples of a Markdown page.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocs compiles every example of docs/rules.md and tries the events that
// its comments name: "METHOD TARGET [STATUS] [costs N]", joined by commas.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 10 {
		t.Fatalf("only %d examples found", len(blocks))
	}
	for _, block := range blocks {
		c, err := config.Parse("docs/rules.md", []byte(block[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
			continue
		}
		if len(c.Warnings) > 0 {
			t.Errorf("warnings %v\n%s", c.Warnings, block[1])
		}
		t.Run(c.Rules.Rules[0].Name, func(t *testing.T) {
			tryEvents(t, c, block[1])
			readBack(t, c)
		})
	}
}

// TestFormatsPage: the examples of docs/formats.md can be used as they are, and
// nothing warns that their rules count nothing.
func TestFormatsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		c, err := config.Parse("docs/formats.md", []byte(block[1]))
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%v, warnings %v\n%s", err, c.Warnings, block[1])
		}
	}
}

func tryEvents(t *testing.T, c *config.Config, block string) {
	tried := 0
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		wanted, isMatch := strings.CutPrefix(line, "# matches: ")
		refused, isNot := strings.CutPrefix(line, "# not: ")
		if !isMatch && !isNot {
			continue
		}
		if isNot {
			wanted = refused
		}
		for text := range strings.SplitSeq(wanted, ", ") {
			tried++
			ev, wantCost := parseEvent(t, text)
			cost, matched := matchAny(t, c, &ev)
			if matched != isMatch || wantCost > 0 && cost != wantCost {
				t.Errorf("%q: matches %v with cost %d", text, matched, cost)
			}
		}
	}
	if tried == 0 {
		t.Errorf("names no events:\n%s", block)
	}
}

// matchAny returns the cost that the first rule which matches counts.
func matchAny(t *testing.T, c *config.Config, ev *edgeguard.Event) (cost uint16, ok bool) {
	for i := range c.Rules.Meters {
		meter := &c.Rules.Meters[i]
		if cost, ok = meter.Match(ev); !ok {
			continue
		}
		if _, hasKey := meter.AppendAttributes(ev, nil); !hasKey {
			t.Errorf("%s has no key", ev.Path)
		}
		return cost, true
	}
	return 0, false
}

// parseEvent reads an event of the page. It has a status of 200 and every
// field that a log or a request can have.
func parseEvent(t *testing.T, text string) (ev edgeguard.Event, cost uint16) {
	words := strings.Fields(text)
	ev = edgeguard.Event{
		Kind: edgeguard.KindRequest | edgeguard.KindResponse, Known: ^edgeguard.Field(0),
		Host: "www.example.org", Method: words[0], Path: words[1], Status: 200, Port: 443,
		Header: func(string) (string, bool) { return "secret", true },
	}
	number := func(word string) uint16 {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return uint16(n)
	}
	rest := words[2:]
	if len(rest) > 0 && rest[0] != "costs" {
		ev.Status, rest = number(rest[0]), rest[1:]
	}
	if len(rest) == 2 {
		cost = number(rest[1])
	}
	return ev, cost
}

// TestConfigurationPage: the examples of docs/configuration.md can be used as they
// are.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		c, err := config.Parse("docs/configuration.md", []byte(block[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
			continue
		}
		readBack(t, c)
	}
}

// keyTable finds a table of docs/configuration.md that is filled from the keys.
var keyTable = regexp.MustCompile(`(?s)(<!-- keys: ([a-z_. ]*?) *-->\n).*?(<!-- end of keys -->)`)

// TestConfigurationTables: the page's tables say of each key what its line in the code
// says. `make generate` fills them.
func TestConfigurationTables(t *testing.T) {
	const name = "../docs/configuration.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tables := config.Tables()
	filled := keyTable.ReplaceAllStringFunc(string(page), func(found string) string {
		parts := keyTable.FindStringSubmatch(found)
		var rows []keyRow
		sections := strings.Split(parts[2], " ")
		for _, section := range sections {
			keys, known := tables[section]
			if !known {
				t.Errorf("%s has a table %q, and no such keys are known, or it is there twice", name, section)
			}
			delete(tables, section)
			rows = addKeys(t, rows, section, keys, string(page))
		}
		return parts[1] + keyText(rows, len(sections)) + parts[3]
	})
	for missing := range tables {
		t.Errorf("%s has no table of the keys of %q: add <!-- keys: %s --> and <!-- end of keys -->", name, missing, missing)
	}
	if *update {
		if err := os.WriteFile(name, []byte(filled), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(page), filled); diff != "" {
		t.Errorf("%s differs (-is +should be), run make generate:\n%s", name, diff)
	}
}

// keyRow is a row of a table, and of those sections that have it.
type keyRow struct {
	name, rest string
	sections   []string
}

// addKeys adds a section's keys. One that other sections have, too, has one row, where
// its line is the same. A key without a sentence has none: the page's prose has it.
func addKeys(t *testing.T, rows []keyRow, section string, keys key.List, page string) []keyRow {
	t.Helper()
	for _, k := range keys {
		if k.Meaning == "" {
			if !strings.Contains(page, "`"+k.Name) {
				t.Errorf("the key %s of %q has neither a sentence nor a place on the page", k.Name, section)
			}
			continue
		}
		row := keyRow{k.Name, fmt.Sprintf("| %s | %s |\n", allowedText(k), k.Meaning), nil}
		at, next := -1, len(rows)
		for i := range rows {
			if rows[i].name == row.name {
				next = i + 1
				if rows[i].rest == row.rest {
					at = i
				}
			}
		}
		if at < 0 {
			at, rows = next, slices.Insert(rows, next, row)
		}
		rows[at].sections = append(rows[at].sections, section[strings.LastIndexByte(section, '.')+1:])
	}
	return rows
}

// allowedText returns a key's default, and in parentheses what else is allowed, where the
// key's name or its sentence does not say it.
func allowedText(k key.Key) string {
	if slices.Contains([]string{"", "a path", "a mapping", "`true`, `false`", k.Default}, k.Allowed) {
		return k.Default
	}
	rest := slices.DeleteFunc(strings.Split(k.Allowed, ", "), func(word string) bool { return word == k.Default })
	return strings.TrimSpace(k.Default + " (" + strings.Join(rest, ", ") + ")")
}

// keyText returns a table of keys of so many sections.
func keyText(rows []keyRow, sections int) string {
	var b strings.Builder
	b.WriteString("| key | default (allowed) | meaning |\n|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| `%s` ", row.name)
		if len(row.sections) < sections {
			fmt.Fprintf(&b, "(%s) ", strings.Join(row.sections, ", "))
		}
		b.WriteString(row.rest)
	}
	return b.String()
}
