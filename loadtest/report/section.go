package report

import (
	"slices"
	"strings"
)

// section is a question with its answer, as docs/benchmarks.md has it.
type section struct {
	Question string
	Says     []string // sentences, each a paragraph
	Table    *grid    // nil where nothing of it was measured
	Command  string   // what a reader types for the table
	Aside    bool     // it is printed, and docs/benchmarks.md has it not
}

// question is one that quotes figures of groups.
type question int

const (
	fastQuestion question = iota
	blockQuestion
	redisQuestion
	ruleQuestion
)

// grid is a table of texts. The first column names the row.
type grid struct {
	Head []string
	Rows [][]string
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

// tidy leaves out the goals of a table in which nothing has one.
func (g *grid) tidy() *grid {
	if g == nil || !slices.Equal(g.Head, quoted) {
		return g
	}
	t := &grid{Head: g.Head}
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

// quote adds the figures that answer a question to a table of what, goal and figure. A
// figure whose group was not measured is left out.
func (r *Report) quote(g *grid, asked question) {
	for _, t := range r.Groups {
		for _, row := range t.Rows {
			what := upper(row.What)
			if t.Name == "instructions" && asked == fastQuestion {
				what += ", instructions" // the others are times
			}
			if slices.Contains(row.answers, asked) {
				g.add(what, row.Goal, row.Measured, row.Verdict)
			}
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
	s := section{Question: "What does a rule cost?", Table: &grid{Head: quoted}, Command: "go run ./loadtest report -only instructions,rules"}
	s.Says = []string{"In instructions of a verdict, but for what is in nanoseconds. Rules with a path are looked up once for all of them; a hostile path is long and nearly matches."}
	r.quote(s.Table, ruleQuestion)
	return s
}

// missed is how many figures miss their goal, or could not be measured, and of how many.
func (r *Report) missed() (short, missing, all int) {
	for _, t := range r.Groups {
		for _, row := range t.Rows {
			all++
			if row.Missing {
				missing++
			}
			if row.Verdict == "short" {
				short++
			}
		}
	}
	return short, missing, all
}
