package report

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"edgeguard/internal/atomicfile"
	"edgeguard/loadtest/report/plot"
)

//go:embed pages
var pageFiles embed.FS

var docPages = template.Must(template.New("").Funcs(template.FuncMap{
	"prose":   prose.Replace,
	"table":   markdownTable,
	"figures": markdownFigures,
}).ParseFS(pageFiles, "pages/*.md"))

// Pictures are the plots that README.md shows.
const boundaryPicture, blockPicture = "boundary.svg", "time-to-block.svg"

// WritePages writes benchmarks.md and figures.md into a folder, each whole, and the
// pictures of README.md into its img. Nothing of an older page is kept.
func (r *Report) WritePages(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, "img"), 0o755); err != nil {
		return err
	}
	short, missing, all := r.missed()
	page := struct {
		Command, Stamp string
		Failed         []string
		Sections       []section
		Groups         []Table
		Short          int
		Missing, All   int
	}{r.command(), prose.Replace(r.Time.String()), r.Parts.Failed, r.questions(), r.every(), short, missing, all}
	for _, name := range []string{"benchmarks.md", "figures.md"} {
		var text bytes.Buffer
		if err := docPages.ExecuteTemplate(&text, name, page); err != nil {
			return err
		}
		if err := replace(filepath.Join(folder, name), text.Bytes()); err != nil {
			return err
		}
	}
	if err := replace(filepath.Join(folder, "img", boundaryPicture), plot.DrawLines(boundary())); err != nil {
		return err
	}
	blocks := r.blockTimes()
	if len(blocks.Rows) == 0 {
		return nil // the picture of an earlier run shows what this one did not measure
	}
	return replace(filepath.Join(folder, "img", blockPicture), plot.DrawBars(blocks))
}

// every is all groups: of those that the run left out, the goals.
func (r *Report) every() []Table {
	all := make([]Table, 0, len(groups()))
	for _, g := range groups() {
		i := slices.IndexFunc(r.Groups, func(t Table) bool { return t.Name == g.name })
		if i >= 0 {
			all = append(all, r.Groups[i])
			continue
		}
		all = append(all, (&runner{idle: true}).measure(g))
	}
	return all
}

func replace(name string, text []byte) error {
	return atomicfile.Replace(name, text, atomicfile.Options{Mode: 0o644})
}

// command is what was typed for this run.
func (r *Report) command() string {
	text := "go run ./loadtest report"
	if r.Full {
		text += " -full"
	}
	if len(r.Only) > 0 {
		text += " -only " + strings.Join(r.Only, ",")
	}
	return text + " -write docs"
}

// prose is a text as a paragraph of Markdown holds it, whatever a program said.
var prose = strings.NewReplacer("\n", " ", "\r", " ", "<", "&lt;")

// cell is a text as a table of Markdown holds it, whatever a program said.
var cell = strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;")

func markdownTable(g *grid) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(&b, "| %s ", cell.Replace(c))
		}
		b.WriteString("|\n")
	}
	line(g.Head)
	b.WriteString("|" + strings.Repeat("---|", len(g.Head)) + "\n")
	for _, row := range g.Rows {
		line(row)
	}
	return b.String()
}

// markdownFigures writes the figures of a group, and each command that made some of them once.
func markdownFigures(rows []Figure) string {
	g := &grid{Head: []string{"what", "goal", "measured"}}
	var commands []string
	for _, r := range rows {
		goal, measured := r.Goal, r.Measured
		if goal == statedGoal {
			goal = ""
		}
		if r.Verdict == "short" {
			measured += ", short"
		}
		g.add(r.What, goal, measured)
		if c := "`" + r.Command + "`"; !slices.Contains(commands, c) {
			commands = append(commands, c)
		}
	}
	return markdownTable(g) + "\nBy " + strings.Join(commands, ",\n") + "\n"
}

// link is one of Markdown.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// marks are those of Markdown.
var marks = strings.NewReplacer("`", "", "*", "")

// plain takes the marks and links of Markdown out of a text.
func plain(text string) string { return marks.Replace(link.ReplaceAllString(text, "$1")) }
