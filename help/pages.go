// Package help finds and shows the pages of docs that are in the program: the command
// help and the console show the same pages.
package help

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

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
	source  []byte // of the heading and what is below it
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
	source, _ := fs.ReadFile(docs.Pages, Map+".md")
	order := []string{Map}
	for _, link := range all[*ast.Link](parse(source)) {
		name, _, _ := strings.Cut(string(link.Destination), "#")
		order = append(order, strings.TrimSuffix(name, ".md"))
	}
	slices.SortStableFunc(pages, func(a, b *Page) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return pages
})

// newPage cuts a page at its headings.
func newPage(name, text string) *Page {
	source := bytes.TrimLeft(comment.ReplaceAll([]byte(text), nil), "\n")
	p := &Page{Name: name}
	s, from := &Section{Page: p}, 0
	for n := parse(source).FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Lines().Len() == 0 {
			continue
		}
		if at := bytes.LastIndexByte(source[:h.Lines().At(0).Start], '\n') + 1; at > from {
			s.source = source[from:at]
			p.Sections = append(p.Sections, s)
			s, from = &Section{Page: p}, at
		}
		s.level, s.Heading = h.Level, plain(h, source)
		s.Place = place(s.Heading)
	}
	s.source = source[from:]
	p.Sections = append(p.Sections, s)
	p.Title = p.Sections[0].Heading
	p.Sections[0].Place = ""
	return p
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
