package help

import (
	"fmt"
	"html"
	"html/template"
	"strings"
)

// HTML returns a page as HTML, the map without its title. Its links to other pages lead
// below `under`.
func (p *Page) HTML(under string) template.HTML {
	var out strings.Builder
	w := &style{
		text: html.EscapeString, code: tag("code", html.EscapeString), strong: tag("strong", same), em: tag("em", same),
		link: func(inside, to string) string {
			if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") {
				return `<a rel="noreferrer" href="` + html.EscapeString(to) + `">` + inside + "</a>"
			}
			if topic, ok := topicOf(p, to); ok {
				return `<a href="` + html.EscapeString(under+topic) + `">` + inside + "</a>"
			}
			return inside
		},
	}
	for i, s := range p.Sections {
		blocks := parse(s.source)
		if i == 0 && p.Name == Map {
			blocks = blocks[1:] // it is shown in a page that has one
		}
		w.html(&out, blocks)
	}
	return template.HTML(out.String()) // every text went through EscapeString
}

func tag(name string, inside func(string) string) func(string) string {
	return func(text string) string { return "<" + name + ">" + inside(text) + "</" + name + ">" }
}

func (st *style) html(out *strings.Builder, blocks []block) {
	for _, b := range blocks {
		switch b.kind {
		case heading:
			fmt.Fprintf(out, "<h%d id=\"%s\">%s</h%[1]d>\n", b.level, html.EscapeString(place(plain(b.text))), st.write(b.text))
		case paragraph:
			if text := st.write(b.text); strings.TrimSpace(text) != "" { // a picture alone is none
				fmt.Fprintf(out, "<p>%s</p>\n", text)
			}
		case code:
			fmt.Fprintf(out, "<pre><code>%s</code></pre>\n", html.EscapeString(b.text))
		case list:
			name := "ul"
			if b.ordered {
				name = "ol"
			}
			fmt.Fprintf(out, "<%s>\n", name)
			for _, one := range b.items {
				out.WriteString("<li>")
				if len(one) > 0 && one[0].kind == paragraph { // without space around a single line
					out.WriteString(st.write(one[0].text))
					one = one[1:]
				}
				st.html(out, one)
				out.WriteString("</li>\n")
			}
			fmt.Fprintf(out, "</%s>\n", name)
		case table:
			st.table(out, b.rows)
		}
	}
}

func (st *style) table(out *strings.Builder, rows [][]string) {
	out.WriteString("<table>\n")
	for i, row := range rows {
		name := "td"
		if i == 0 {
			name = "th"
		}
		out.WriteString("<tr>")
		for _, cell := range row {
			fmt.Fprintf(out, "<%s>%s</%[1]s>", name, st.write(cell))
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table>\n")
}
