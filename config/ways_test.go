package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard/config"
)

// waysColumns is how many columns the table of docs/ways.md has.
const waysColumns = 6

// ways are the sections of a config of which each field is a way in or out.
var ways = map[string]any{"sensors": config.Sensors{}, "enforce": config.Enforcers{}, "haproxy": config.HAProxy{}, "notify": config.Notify{}, "crowdsec": config.CrowdSec{}}

// noWays are the other fields of a config, and a list of ways. One that is added goes here, or to ways.
var noWays = []string{
	"Blocklists", "Node", "Monitor", "Listen", "TrustedProxies", "Allowlist", "Protected", "Clients", "OwnHosts", "Wide", "Memory", "MaxBlocks", "MaxImported", "RollUp", "State", "KeepEvents", "KeepEventsFor", "Overlay",
	"Samples", "SamplesForReaders", "Log", "Specs", "Rules", "Floods", "Crawlers", "Fleet", "Variables", "Asked", "Requests", "Pieces", "Warnings",
}

// TestWays: docs/ways.md has a whole row for each sensor and each enforcer that a
// config can have.
func TestWays(t *testing.T) {
	keys := wayRows(t)
	for _, want := range wayKeys(t) {
		if !slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "`"+want+"`") }) {
			t.Errorf("docs/ways.md has no row with %s in its first column", want)
		}
	}
	for _, format := range listFormats(t) {
		if !slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "`format: "+format+"`") }) {
			t.Errorf("docs/ways.md has no row for lists of the format %s", format)
		}
	}
}

// wayRows returns the first columns of the table.
func wayRows(t *testing.T) (keys []string) {
	page, err := os.ReadFile("../docs/ways.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- ways: begin -->\n")
	table, _, found := strings.Cut(table, "<!-- ways: end -->")
	if !found {
		t.Fatal("docs/ways.md has no table between its marks")
	}
	for i, row := range strings.Split(strings.TrimSpace(table), "\n") {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if len(cells) != waysColumns || slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) == "" }) {
			t.Errorf("row %d has an empty column, or %d in place of %d: %.60s…", i+1, len(cells), waysColumns, row)
		}
		keys = append(keys, cells[0])
	}
	return keys
}

// wayKeys returns the keys of all sensors and enforcers.
func wayKeys(t *testing.T) []string {
	keys := []string{"listen.auth", "blocklists"}
	keys = append(keys, "listen.envoy")
	for section, of := range ways {
		for i := range reflect.TypeOf(of).NumField() {
			keys = append(keys, section+"."+strings.ToLower(reflect.TypeOf(of).Field(i).Name))
		}
	}
	for i := range reflect.TypeFor[config.Config]().NumField() {
		name := reflect.TypeFor[config.Config]().Field(i).Name
		if _, is := ways[strings.ToLower(name)]; !is && !slices.Contains(noWays, name) {
			t.Errorf("the field %s of a config is neither among ways nor among noWays", name)
		}
	}
	slices.Sort(keys)
	return keys
}

// listFormats returns the formats of lists in files, as an error names them.
func listFormats(t *testing.T) []string {
	found := regexp.MustCompile(`use (.+)`).FindStringSubmatch(problems(t, "enforce: {files: {file: /a, format: 0x}}\n")[0].Fix)
	if found == nil {
		t.Fatal("an error does not name the formats")
	}
	return strings.Split(found[1], ", ")
}
