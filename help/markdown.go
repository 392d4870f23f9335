package help

import (
	"bytes"
	stdhtml "html"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"edgeguard/internal/safetext"
)

// markdown reads pages and writes them as HTML. It has no parser of HTML, so that is text.
var markdown = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
		parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)),
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
	goldmark.WithRendererOptions(html.WithXHTML()),
)

func without(all []util.PrioritizedValue, left any) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(one util.PrioritizedValue) bool { return one.Value == left })
}

var comment = regexp.MustCompile(`(?s)<!--.*?-->\n?|<a name="[^"]*"></a>`)

// parse reads a text, but for its pictures, and names its headings.
func parse(source []byte) ast.Node {
	doc := markdown.Parser().Parse(text.NewReader(source))
	for _, picture := range all[*ast.Image](doc) {
		in := picture.Parent()
		in.RemoveChild(in, picture)
		if in.ChildCount() == 0 && in.Kind() == ast.KindParagraph {
			in.Parent().RemoveChild(in.Parent(), in)
		}
	}
	for _, h := range all[*ast.Heading](doc) {
		h.SetAttributeString("id", []byte(place(plain(h, source))))
	}
	return doc
}

// all returns the nodes of a type.
func all[T ast.Node](doc ast.Node) (found []T) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if one, ok := n.(T); ok && entering {
			found = append(found, one)
		}
		return ast.WalkContinue, nil
	})
	return found
}

// HTML returns a page as HTML, the map without its title. Its links to other pages lead
// below `under`.
func (p *Page) HTML(under string) template.HTML {
	var out bytes.Buffer
	for i, s := range p.Sections {
		doc := parse(s.source)
		if i == 0 && p.Name == Map {
			doc.RemoveChild(doc, doc.FirstChild()) // it is shown in a page that has one
		}
		for _, link := range all[*ast.Link](doc) {
			in := link.Parent()
			if topic, ok := topicOf(p, string(link.Destination)); ok {
				link.Destination = []byte(under + topic)
			} else if !leadsOutside(link, link.Destination) { // its words stay
				for link.FirstChild() != nil {
					in.InsertBefore(in, link, link.FirstChild())
				}
				in.RemoveChild(in, link)
			}
		}
		for _, link := range all[*ast.AutoLink](doc) {
			if in := link.Parent(); !leadsOutside(link, link.URL(s.source)) {
				in.ReplaceChild(in, link, ast.NewString(link.Label(s.source)))
			}
		}
		_ = markdown.Renderer().Render(&out, s.source, doc) // a buffer takes all
	}
	return template.HTML(out.String()) // the library escapes every text
}

// leadsOutside says whether a link leads to another site, which is then not told from where.
func leadsOutside(link ast.Node, to []byte) bool {
	outside := bytes.HasPrefix(to, []byte("https://")) || bytes.HasPrefix(to, []byte("http://"))
	if outside {
		link.SetAttributeString("rel", []byte("noreferrer"))
	}
	return outside
}

// plain returns what a node says without its marks.
func plain(n ast.Node, source []byte) string {
	return words(n, source, "", func(string, string) string { return "" })
}

// words returns what a node says: code between marks, and behind the words of a link what
// `leads` makes of them and of where it leads.
func words(n ast.Node, source []byte, mark string, leads func(said, to string) string) (said string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		one := words(c, source, mark, leads)
		switch c := c.(type) {
		case *ast.Text:
			one = string(c.Value(source))
			if !c.IsRaw() {
				one = stdhtml.UnescapeString(string(util.UnescapePunctuations([]byte(one))))
			}
			one = safetext.Strip(one)
			if c.SoftLineBreak() || c.HardLineBreak() {
				one += "\n"
			}
		case *ast.CodeSpan:
			one = mark + strings.TrimSpace(one) + mark
		case *ast.AutoLink:
			one = string(c.Label(source))
		case *ast.Link:
			one += leads(one, string(c.Destination))
		case *tables.TableCell:
			if one != "" && said != "" {
				one = ": " + one
			}
		}
		said += one
	}
	return said
}
