package report

import (
	"embed"
	"html/template"
	"io"

	"edgeguard/loadtest/report/plot"
)

//go:embed pages
var pageFiles embed.FS

var htmlPage = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"plain": plain,
}).ParseFS(pageFiles, "pages/report.html"))

// drawn is a section with its charts as SVG.
type drawn struct {
	section
	Drawings []drawing
}

type drawing struct {
	Title string
	SVG   template.HTML
}

// judged is a group with how many of its figures are short.
type judged struct {
	Table
	Short int
}

// WriteHTML writes one page with everything in it: plots, tables, styles.
func (r *Report) WriteHTML(w io.Writer) error {
	css, err := pageFiles.ReadFile("pages/report.css")
	if err != nil {
		return err
	}
	page := struct {
		Style, Charts template.CSS
		Stamp         string
		Failed        []string
		Seed          uint64
		Full          bool
		Sections      []drawn
		Groups        []judged
	}{Style: template.CSS(css), Charts: plot.Style(), Stamp: r.Time.String(), Failed: r.Parts.Failed, Seed: r.Seed, Full: r.Full}
	for _, s := range r.sections() {
		one := drawn{section: s}
		for _, c := range s.Charts {
			svg, err := plot.SVG(c)
			if err != nil {
				return err
			}
			one.Drawings = append(one.Drawings, drawing{c.Name(), svg})
		}
		page.Sections = append(page.Sections, one)
	}
	for _, t := range r.Groups {
		one := judged{Table: t}
		for _, row := range t.Rows {
			if row.Verdict == "short" {
				one.Short++
			}
		}
		page.Groups = append(page.Groups, one)
	}
	return htmlPage.Execute(w, page)
}
