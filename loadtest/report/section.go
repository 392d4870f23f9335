package report

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard/loadtest/report/plot"
)

// section is a question with its answer: the same on the page with plots and in
// docs/benchmarks.md.
type section struct {
	ID       string
	Question string
	Says     []string // sentences, each a paragraph
	Table    *grid    // nil where nothing of it was measured
	Command  string   // what a reader types for the table
	Charts   []plot.Chart
	Aside    bool // docs/figures.md has it, not docs/benchmarks.md
}

// grid is a table of texts. The first column names the row.
type grid struct {
	Head  []string
	Texts bool // what is in the cells is to be read, not compared
	Rows  [][]string
}

func (g *grid) add(cells ...string) { g.Rows = append(g.Rows, cells) }

// questions are all that the report may answer, in their order.
func (r *Report) questions() []section {
	all := []section{r.exact(), r.documents(), r.fast(), r.memory(), r.request(), r.block(), r.skew(), r.oneRedis(), r.rules()}
	for i := range all {
		all[i].Table = all[i].Table.tidy()
	}
	return all
}

// sections are the questions of which something was measured.
func (r *Report) sections() []section {
	return slices.DeleteFunc(r.questions(), func(s section) bool { return (s.Table == nil || len(s.Table.Rows) == 0) && len(s.Charts) == 0 })
}

// tidy leaves out the goals of a table in which nothing has one.
func (g *grid) tidy() *grid {
	if g == nil || len(g.Head) != len(quoted) || g.Head[1] != quoted[1] {
		return g
	}
	t := &grid{Head: g.Head, Texts: g.Texts}
	goals := false
	for _, row := range g.Rows {
		row = slices.Clone(row)
		if row[1] == statedGoal {
			row[1] = ""
		}
		goals = goals || row[1] != ""
		t.Rows = append(t.Rows, row)
	}
	if !goals {
		t.Head = []string{g.Head[0], g.Head[2]}
		for i, row := range t.Rows {
			t.Rows[i] = []string{row[0], row[2]}
		}
	}
	return t
}

// row finds a figure of a group.
func (r *Report) row(group, what string) (Figure, bool) {
	for _, t := range r.Groups {
		if t.Name != group {
			continue
		}
		for _, row := range t.Rows {
			if row.What == what {
				return row, true
			}
		}
	}
	return Figure{}, false
}

// quote adds figures of a group to a table of what, goal and figure. A figure whose
// group was not measured is left out.
func (r *Report) quote(g *grid, group string, whats ...string) {
	for _, what := range whats {
		if row, ok := r.row(group, what); ok {
			g.add(upper(what), row.Goal, row.Measured, row.Verdict)
		}
	}
}

func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

var quoted = []string{"what", "goal", "measured", ""}

// rules is what a rule costs.
func (r *Report) rules() section {
	s := section{ID: "rule", Question: "What does a rule cost?", Table: &grid{Head: quoted, Texts: true}, Command: "go run ./loadtest report -only instructions,rules"}
	s.Says = []string{"In instructions of a verdict. Rules with a path are looked up once for all of them, so that 200 which do not match cost hardly more than 1; each rule that counts the request " +
		"costs a count. What an attacker can make dear is a long path that nearly matches; he pays for its bytes, too."}
	r.quote(s.Table, "instructions", "a verdict of one rule", "a verdict of two rules, one counts", "a verdict for IPv6, wide networks not counted", "a verdict for IPv6, with its /56 and /48",
		"1 rule of a path, it does not match", "20 rules of a path, none matches", "200 rules of a path, none matches", "20 rules that all count", "200 rules that all count", "20 rules, 4 KiB of hostile path")
	r.quote(s.Table, "rules", "all four terms hold", "the method differs")
	lines := plot.Lines{Title: "Instructions of a verdict, by rules", X: "rules", Y: "instructions", LogX: true, LogY: true}
	for _, one := range []struct {
		name  string
		whats [3]string
	}{
		{"a path, none matches", [3]string{"1 rule of a path, it does not match", "20 rules of a path, none matches", "200 rules of a path, none matches"}},
		{"all count", [3]string{"a verdict of one rule", "20 rules that all count", "200 rules that all count"}},
	} {
		series := plot.Series{Name: one.name}
		for i, n := range []float64{1, 20, 200} {
			if row, ok := r.row("instructions", one.whats[i]); ok && !row.Missing {
				series.Points = append(series.Points, plot.Point{X: n, Y: row.Time})
			}
		}
		if len(series.Points) > 0 {
			lines.Series = append(lines.Series, series)
		}
	}
	if len(lines.Series) > 0 {
		s.Charts = append(s.Charts, lines)
	}
	return s
}

// short are the figures that miss their goal.
func (r *Report) short() *grid {
	g := &grid{Head: []string{"what", "goal", "measured"}}
	for _, t := range r.Groups {
		for _, row := range t.Rows {
			if row.Verdict == "short" {
				g.add(fmt.Sprintf("%s: %s", t.Title, row.What), row.Goal, row.Measured)
			}
		}
	}
	return g
}

// missing is how many figures could not be measured, and of how many.
func (r *Report) missing() (missing, all int) {
	for _, t := range r.Groups {
		for _, row := range t.Rows {
			if all++; row.Missing {
				missing++
			}
		}
	}
	return missing, all
}
