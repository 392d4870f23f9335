package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is in deploy/ is what this program makes.
func TestFilesAreUpToDate(t *testing.T) {
	files, err := generate(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		there, err := os.ReadFile(filepath.Join("../../deploy", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if string(there) != string(content) {
			t.Errorf("deploy/%s differs from what internal/monitoring makes: run `make generate`", name)
		}
	}
}

// TestBoard holds what Grafana does not check: it shows a panel that overlaps
// another, or has no data source, without a word.
func TestBoard(t *testing.T) {
	type cell struct{ x, y int }
	ids, titles, taken := make(map[int]bool), make(map[string]bool), make(map[cell]string)
	for _, p := range newDashboard().Panels {
		if ids[p.ID] || titles[p.Title] {
			t.Errorf("two panels have the id %d or the title %q", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		at := p.GridPos
		if at.X < 0 || at.X+at.W > columns || at.W == 0 || at.H == 0 {
			t.Errorf("%s: %+v is outside of the board", p.Title, at)
		}
		for x := range at.W {
			for y := range at.H {
				c := cell{at.X + x, at.Y + y}
				if taken[c] != "" {
					t.Fatalf("%s overlaps %s", p.Title, taken[c])
				}
				taken[c] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults["unit"] == "" || len(p.Targets) == 0 {
			t.Errorf("%s: has no description, unit or query", p.Title)
		}
		for _, target := range p.Targets {
			if *p.Datasource != prometheus || target.Datasource != prometheus {
				t.Errorf("%s: its data source is not the one that the viewer chooses", p.Title)
			}
			if target.LegendFormat == "" {
				t.Errorf("%s: a query without a legend", p.Title)
			}
		}
	}
	if d := newDashboard(); len(d.Links) < 3 {
		t.Errorf("the board leads to no console: %v", d.Links)
	}
	for _, p := range newDashboard().Panels {
		for _, target := range p.Targets {
			if _, linked := p.FieldConfig.Defaults["links"]; !linked && (strings.Contains(target.LegendFormat, "{{instance}}") || strings.Contains(target.LegendFormat, "{{rule}}")) {
				t.Errorf("%s: what it names has no link", p.Title)
			}
		}
	}
	content, err := newDashboard().json()
	if err != nil || !json.Valid(content) {
		t.Errorf("%v: %s", err, content)
	}
}

var (
	named = regexp.MustCompile(`\bedgeguard_[a-z0-9_]+`)
	// ofHistogram are the series that Prometheus makes of one metric.
	ofHistogram = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// Every metric of docs/api.md is on the board, in an alert, or left out for a
// reason; and no query names one that does not exist.
func TestMetricsAreShown(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Metrics\n")
	if !found {
		t.Fatal("docs/api.md has no section Metrics")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documented := make(map[string]bool)
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range named.FindAllString(cells[1], -1) {
				documented[name] = true
			}
		}
	}
	used := make(map[string]bool)
	for _, expr := range expressions() {
		for _, name := range named.FindAllString(expr, -1) {
			if !documented[name] {
				name = ofHistogram.ReplaceAllString(name, "")
			}
			used[name] = true
		}
	}
	for name := range used {
		if !documented[name] {
			t.Errorf("%s is asked for, and docs/api.md does not have it", name)
		}
		if unshown[name] != "" {
			t.Errorf("%s is asked for, and is in the list of those that are not", name)
		}
	}
	for name := range documented {
		if !used[name] && unshown[name] == "" {
			t.Errorf("%s is in docs/api.md, and neither on the board nor in an alert: add it to panels.go, or to unshown with a reason", name)
		}
	}
	for name := range unshown {
		if !documented[name] {
			t.Errorf("unshown has %s, which docs/api.md does not have", name)
		}
	}
}

// expressions returns every query of the board and the rules, without the names of
// what the rules record.
func expressions() (all []string) {
	for _, r := range rows {
		for _, p := range r.panels {
			for _, q := range p.asks {
				all = append(all, q.expr)
			}
		}
	}
	for _, r := range recordings {
		all = append(all, r.expr)
	}
	for i := range alerts {
		expr := alerts[i].expr
		for _, r := range recordings {
			expr = strings.ReplaceAll(expr, r.name, "")
		}
		all = append(all, expr)
	}
	return all
}
