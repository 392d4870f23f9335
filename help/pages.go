// Package help finds and shows the pages of docs that are in the program: the command
// help and the console show the same pages.
//
// It reads as much of Markdown as the pages use, and they are our own: what a reader
// asks for is compared and never shown as HTML.
package help

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"edgeguard/docs"
)

// Map is the name of the page that leads to all others.
const Map = "README"

// Page is one page. Its name is its path from docs without the ending, "start/nginx" say.
type Page struct {
	Name, Title string
	Sections    []*Section // the first is what stands above the second heading
}

// Section is a heading with what stands below it, up to the next heading.
type Section struct {
	Page    *Page
	Place   string // the heading as links name it; "" of the page's title
	Heading string // as plain text
	level   int
	source  string // of the heading and what is below it
}

// Topic returns what the command help takes for a section.
func (s *Section) Topic() string {
	if s.Place == "" {
		return s.Page.Name
	}
	return s.Page.Name + "#" + s.Place
}

// Pages returns all pages, in the order in which the map has them.
func Pages() []*Page { return read() }

// read takes the pages apart once, when somebody asks for help.
var read = sync.OnceValue(func() []*Page {
	var pages []*Page
	_ = fs.WalkDir(docs.Pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := fs.ReadFile(docs.Pages, name) // it is embedded
			pages = append(pages, newPage(strings.TrimSuffix(name, ".md"), string(text)))
		}
		return err
	})
	order := map[string]int{Map: -1}
	for i, link := range linked.FindAllStringSubmatch(sourceOf(pages, Map), -1) {
		if name := strings.TrimSuffix(link[1], ".md"); order[name] == 0 {
			order[name] = i - 1000
		}
	}
	order[Map] = -1000
	slices.SortStableFunc(pages, func(a, b *Page) int { return order[a.Name] - order[b.Name] })
	return pages
})

var linked = regexp.MustCompile(`\]\(([^)#\s]+)`)

func sourceOf(pages []*Page, name string) (source string) {
	for _, p := range pages {
		if p.Name == name {
			for _, s := range p.Sections {
				source += s.source
			}
		}
	}
	return source
}

// newPage cuts a page at its headings. A line of code that begins with # is none.
func newPage(name, text string) *Page {
	p, from, code := &Page{Name: name}, 0, false
	cut := func(to int) {
		if source := text[from:to]; strings.TrimSpace(source) != "" {
			p.Sections = append(p.Sections, newSection(p, source))
		}
		from = to
	}
	at := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code && headingLevel(line) > 0 && at > 0 {
			cut(at)
		}
		at += len(line)
	}
	cut(len(text))
	p.Title = p.Sections[0].Heading
	p.Sections[0].Place = ""
	return p
}

func newSection(p *Page, source string) *Section {
	heading, _, _ := strings.Cut(source, "\n")
	s := &Section{Page: p, level: headingLevel(heading), source: source}
	s.Heading = plain(strings.TrimLeft(heading, "# "))
	s.Place = place(s.Heading)
	return s
}

func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level > 6 || !strings.HasPrefix(line[level:], " ") {
		return 0
	}
	return level
}

var noPlace = regexp.MustCompile(`[^\p{L}\p{N}_-]`)

// place returns how a link names a heading, as GitHub does.
func place(heading string) string {
	return noPlace.ReplaceAllString(strings.ReplaceAll(strings.ToLower(heading), " ", "-"), "")
}

// Find returns the page of a topic, and its section where the topic names one:
// "rules", "rules.md", "nginx" for start/nginx, "rules#fleet". The section is nil
// where it names none.
func Find(topic string) (*Page, *Section) {
	name, at, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(topic), "docs/"), "#")
	name = strings.TrimSuffix(name, ".md")
	for _, p := range Pages() {
		if own := strings.ToLower(p.Name); own != name && path.Base(own) != name {
			continue
		}
		if at == "" {
			return p, nil
		}
		for _, s := range p.Sections {
			if s.Place == at {
				return p, s
			}
		}
		return nil, nil
	}
	return nil, nil
}
