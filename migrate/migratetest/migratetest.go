// Package migratetest has what the tests of all imports do.
package migratetest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/config"
	"edgeguard/migrate"
	"edgeguard/rules"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Examples imports each file that the pattern names. Each is read whole or refused by
// name, the golden file beside it has what it comes to, and `check` accepts that.
func Examples(t *testing.T, pattern string, read func([]byte) (*migrate.Report, error)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if report, err := read(data); err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				Accepted(t, report)
				got = report.ConfigText(filepath.Base(file))
			}
			golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || string(want) != got {
				t.Errorf("%s: %v; with -update it is written\n%s", golden, err, got)
			}
		})
	}
}

// Accepted holds that a report's YAML is read as a config with the report's rules, in mode
// monitor, and that all its lines are printable.
func Accepted(t *testing.T, report *migrate.Report) {
	t.Helper()
	text := report.ConfigText("a\nrules: [] file")
	c, err := config.Parse("imported", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !c.Monitor {
		t.Errorf("the config enforces\n%s", text)
	}
	want, problems := rules.Compile(report.Specs())
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	same := func(a, b rules.Rule) bool {
		return a.Name == b.Name && a.Limit == b.Limit && a.Action == b.Action && a.BlockFor == b.BlockFor &&
			want.Meters[a.Meter].Fingerprint == c.Rules.Meters[b.Meter].Fingerprint
	}
	if !slices.EqualFunc(want.Rules, c.Rules.Rules, same) {
		t.Errorf("the config has the rules %+v, want %+v\n%s", c.Rules.Rules, want.Rules, text)
	}
	for _, r := range text {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			t.Fatalf("the config has the character %q\n%q", r, text)
		}
	}
}

// Meter returns what the one rule of a report counts; nil if none was imported.
func Meter(t *testing.T, report *migrate.Report) *rules.Meter {
	t.Helper()
	specs := report.Specs()
	if len(specs) == 0 {
		return nil
	}
	set, problems := rules.Compile(specs)
	if len(problems) > 0 || len(specs) > 1 {
		t.Fatalf("%d rules, %v", len(specs), problems)
	}
	return &set.Meters[0]
}
