package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The types below are the parts of Grafana's dashboard model that the board
// uses. Grafana's own Go module of them was rejected: it is larger than all of
// edgeguard, and only four kinds of panels are needed.
type (
	dashboard struct {
		UID           string      `json:"uid"`
		Title         string      `json:"title"`
		Description   string      `json:"description"`
		Tags          []string    `json:"tags"`
		SchemaVersion int         `json:"schemaVersion"`
		Editable      bool        `json:"editable"`
		GraphTooltip  int         `json:"graphTooltip"` // 1: one crosshair for all panels
		Timezone      string      `json:"timezone"`
		Refresh       string      `json:"refresh"`
		Time          span        `json:"time"`
		Templating    variables   `json:"templating"`
		Annotations   annotations `json:"annotations"`
		Links         []boardLink `json:"links"`
		Panels        []shown     `json:"panels"`
	}
	span struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	variables struct {
		List []variable `json:"list"`
	}
	variable struct {
		Name       string         `json:"name"`
		Label      string         `json:"label"`
		Type       string         `json:"type"`
		Query      string         `json:"query"`
		Datasource *source        `json:"datasource,omitempty"`
		Multi      bool           `json:"multi"`
		IncludeAll bool           `json:"includeAll"`
		AllValue   string         `json:"allValue,omitempty"`
		Refresh    int            `json:"refresh"` // 2: when the time range changes
		Sort       int            `json:"sort"`    // 1: by name
		Current    map[string]any `json:"current,omitempty"`
	}
	annotations struct {
		List []annotation `json:"list"`
	}
	annotation struct {
		Name        string `json:"name"`
		Datasource  source `json:"datasource"`
		Enable      bool   `json:"enable"`
		IconColor   string `json:"iconColor"`
		Target      marks  `json:"target"`
		TitleFormat string `json:"titleFormat"`
		TextFormat  string `json:"textFormat"`
	}
	marks struct {
		RefID    string `json:"refId"`
		Expr     string `json:"expr"`
		Interval string `json:"interval"`
	}
	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	// shown is a panel or a row on the board.
	shown struct {
		ID              int              `json:"id"`
		Type            string           `json:"type"`
		Title           string           `json:"title"`
		Description     string           `json:"description,omitempty"`
		GridPos         position         `json:"gridPos"`
		Datasource      *source          `json:"datasource,omitempty"`
		Targets         []target         `json:"targets,omitempty"`
		FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
		Options         map[string]any   `json:"options,omitempty"`
		Transformations []transformation `json:"transformations,omitempty"`
		Collapsed       *bool            `json:"collapsed,omitempty"` // of a row
		Panels          []shown          `json:"panels,omitempty"`
	}
	position struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	target struct {
		RefID        string `json:"refId"`
		Datasource   source `json:"datasource"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Instant      bool   `json:"instant"`
		Range        bool   `json:"range"`
		Format       string `json:"format"`
	}
	fieldConfig struct {
		Defaults  map[string]any `json:"defaults"`
		Overrides []any          `json:"overrides"`
	}
	// boardLink is beside the board's title. With "All" as the node it leads nowhere.
	boardLink struct {
		Title       string `json:"title"`
		Type        string `json:"type"`
		URL         string `json:"url"`
		Tooltip     string `json:"tooltip"`
		TargetBlank bool   `json:"targetBlank"`
	}
	link struct {
		Title       string `json:"title"`
		URL         string `json:"url"`
		TargetBlank bool   `json:"targetBlank"`
	}
	transformation struct {
		ID      string         `json:"id"`
		Options map[string]any `json:"options"`
	}
)

// prometheus is the data source that the viewer chooses.
var prometheus = source{Type: "prometheus", UID: "${datasource}"}

const (
	columns   = 24 // of Grafana's grid
	statWidth = 4
	plotWidth = 8
	statHigh  = 4
	plotHigh  = 8
)

// newDashboard returns the board.
func newDashboard() *dashboard {
	d := &dashboard{
		UID: "edgeguard-overview", Title: "edgeguard", Tags: []string{"edgeguard"},
		Description:   "Who is refused and why, and whether the nodes are well. Made by `go run ./internal/monitoring`.",
		SchemaVersion: 39, Editable: true, GraphTooltip: 1, Timezone: "browser", Refresh: "30s",
		Time:       span{"now-6h", "now"},
		Templating: variables{chosen()},
		Annotations: annotations{[]annotation{{
			Name: "Alarms", Datasource: prometheus, Enable: true, IconColor: "orange",
			Target:      marks{"Alarms", scoped(`sum by (instance, kind) (increase(edgeguard_alarms_total[1m])) > 0`), "1m"},
			TitleFormat: "{{kind}}", TextFormat: "{{instance}}",
		}}},
	}
	for _, place := range []boardLink{
		{Title: "Now", URL: "/?from=${__from:date:iso}&until=${__to:date:iso}", Tooltip: "What happened in this time, in the console of the chosen node"},
		{Title: "Blocked", URL: "/blocked", Tooltip: "Who is blocked, in the console of the chosen node"},
		{Title: "Health", URL: "/health", Tooltip: "How the chosen node is, in its console"},
	} {
		d.Links = append(d.Links, boardLink{"Console: " + place.Title, "link", "http://${instance}" + place.URL, place.Tooltip, true})
	}
	id, y := 1, 0
	for _, r := range rows {
		open := false
		d.Panels = append(d.Panels, shown{ID: id, Type: "row", Title: r.title, GridPos: position{1, columns, 0, y}, Collapsed: &open})
		id, y = id+1, y+1
		x, high := 0, 0
		for i := range r.panels {
			p := r.panels[i].shown(id)
			if x+p.GridPos.W > columns {
				x, y, high = 0, y+high, 0
			}
			p.GridPos.X, p.GridPos.Y = x, y
			x, high = x+p.GridPos.W, max(high, p.GridPos.H)
			d.Panels = append(d.Panels, p)
			id++
		}
		y += high
	}
	return d
}

// chosen returns the variables. A data source's choice has no data source.
func chosen() []variable {
	all := map[string]any{"text": "All", "value": "$__all"}
	ask := func(name, label, query string) variable {
		return variable{Name: name, Label: label, Type: "query", Query: query, Datasource: &prometheus, Multi: true, IncludeAll: true, AllValue: ".*", Refresh: 2, Sort: 1, Current: all}
	}
	return []variable{
		{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1},
		ask("job", "Job", `label_values(edgeguard_build_info, job)`),
		ask("instance", "Node", `label_values(edgeguard_build_info{job=~"$job"}, instance)`),
		ask("rule", "Rule", `label_values(edgeguard_rule_limit{job=~"$job",instance=~"$instance"}, rule)`),
	}
}

// shown returns the panel as Grafana knows it.
func (p *panel) shown(id int) shown {
	s := shown{
		ID: id, Type: p.kind, Title: p.title, Description: p.about, Datasource: &prometheus,
		GridPos:     position{H: plotHigh, W: plotWidth},
		FieldConfig: &fieldConfig{Defaults: map[string]any{"unit": p.unit}, Overrides: []any{}},
		Options:     p.options(),
	}
	if p.kind == stat {
		s.GridPos.H, s.GridPos.W = statHigh, statWidth
	}
	names := func(label string) bool {
		return slices.ContainsFunc(p.asks, func(q query) bool { return strings.Contains(q.legend, "{{"+label+"}}") })
	}
	// Where Prometheus scrapes a node, its console is, too.
	switch {
	case names("instance"):
		s.FieldConfig.Defaults["links"] = []link{{Title: "The console of ${__field.labels.instance}", URL: "http://${__field.labels.instance}/", TargetBlank: true}}
	case names("rule"):
		s.FieldConfig.Defaults["links"] = []link{{Title: "Rule ${__field.labels.rule} in the console of the chosen node", URL: "http://${instance}/rules/${__field.labels.rule}", TargetBlank: true}}
	}
	if p.kind == timeseries {
		s.FieldConfig.Defaults["custom"] = map[string]any{"fillOpacity": 10, "showPoints": "never", "axisSoftMin": 0}
	}
	if p.kind == table {
		s.Transformations = []transformation{{"organize", map[string]any{"excludeByName": map[string]bool{"Time": true}}}}
	}
	for i, q := range p.asks {
		t := target{RefID: string(rune('A' + i)), Datasource: prometheus, Expr: scoped(q.expr), LegendFormat: q.legend, Range: true, Format: "time_series"}
		if p.kind == table || p.kind == stat {
			t.Instant, t.Range = true, false
		}
		if p.kind == table {
			t.Format = "table"
		}
		s.Targets = append(s.Targets, t)
	}
	return s
}

// options returns the settings of the panel's kind.
func (p *panel) options() map[string]any {
	switch p.kind {
	case stat:
		return map[string]any{"colorMode": "none", "graphMode": "none", "reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}}
	case timeseries:
		return map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		}
	case states:
		return map[string]any{"showValue": "auto", "mergeValues": true}
	}
	return map[string]any{"showHeader": true}
}

var metric = regexp.MustCompile(`\b(?:edgeguard|process)_[a-z0-9_]+(\{)?`)

// scoped returns a query for the nodes that the board's variables choose.
func scoped(expr string) string {
	const choice = `job=~"$job",instance=~"$instance"`
	return metric.ReplaceAllStringFunc(expr, func(name string) string {
		if bare, labelled := strings.CutSuffix(name, "{"); labelled {
			return bare + "{" + choice + ","
		}
		return name + "{" + choice + "}"
	})
}

// json returns the board as a file.
func (d *dashboard) json() ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // queries have < and >
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}
