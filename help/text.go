package help

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"edgeguard/internal/safetext"
)

// Text returns a page for a terminal of a width. Where it is longer than `whole` lines,
// it returns what the page begins with, and its headings as topics.
func (p *Page) Text(width, whole int) string {
	var all strings.Builder
	for _, s := range p.Sections {
		all.WriteString(s.Text(width))
	}
	if strings.Count(all.String(), "\n") <= whole || len(p.Sections) < 3 {
		return all.String()
	}
	var short strings.Builder
	short.WriteString(p.Sections[0].Text(width))
	for _, s := range p.Sections[1:] {
		fmt.Fprintf(&short, "  %s%s\n", strings.Repeat("  ", max(0, s.level-2)), s.Topic())
	}
	return short.String()
}

// Below returns a section and those that belong to it.
func (s *Section) Below() []*Section {
	all := s.Page.Sections
	for i := range all {
		if all[i] == s {
			end := i + 1
			for end < len(all) && all[end].level > s.level {
				end++
			}
			return all[i:end]
		}
	}
	return nil
}

// Text returns a section for a terminal of a width.
func (s *Section) Text(width int) string {
	t := terminal{section: s, width: width}
	t.blocks(parse(s.source), "", "")
	return t.out.String()
}

// topicOf returns the topic to which a link of a page leads.
func topicOf(from *Page, to string) (topic string, ok bool) {
	file, at, _ := strings.Cut(to, "#")
	if name := strings.TrimSuffix(file, ".md"); file == "" {
		topic = from.Name
	} else if topic = path.Join(path.Dir(from.Name), name); name == file {
		return "", false
	}
	if at != "" {
		topic += "#" + at
	}
	page, _ := Find(topic)
	return topic, page != nil && strings.HasPrefix(topic, page.Name)
}

// terminal writes blocks as lines of text.
type terminal struct {
	section *Section
	width   int
	out     bytes.Buffer
}

// words returns what a node says, and the topics to which it leads.
func (t *terminal) words(n ast.Node) string {
	return words(n, t.section.source, "`", func(said, to string) string {
		if topic, ok := topicOf(t.section.Page, to); ok && topic != strings.TrimSuffix(said, ".md") {
			return " [" + topic + "]"
		}
		return ""
	})
}

// blocks writes the blocks in a node, the first line behind `first` and the others behind
// `rest`.
func (t *terminal) blocks(in ast.Node, first, rest string) {
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			said, mark := plain(n, t.section.source), "-"
			if n.Level == 1 {
				mark = "="
			}
			t.out.WriteString(said + "\n" + strings.Repeat(mark, len([]rune(said))) + "\n\n")
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
				code := safetext.Strip(strings.ReplaceAll(string(line.Value(t.section.source)), "\t", "    "))
				t.out.WriteString(strings.TrimRight(rest+"    "+code, " ") + "\n") // Strip makes the line's end a space
			}
			t.out.WriteString("\n")
		case *ast.List:
			t.list(n, rest)
		case *tables.Table:
			t.table(n, rest)
		default:
			t.wrap(t.words(n), first, rest)
			t.out.WriteString("\n")
		}
		first = rest
	}
}

func (t *terminal) list(l *ast.List, rest string) {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if l.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		t.blocks(item, rest+mark, rest+strings.Repeat(" ", len(mark)))
		if item.ChildCount() == 1 {
			t.tight()
		}
	}
	t.tight()
	t.out.WriteString("\n")
}

// tight takes back the empty line at the end.
func (t *terminal) tight() {
	t.out.Truncate(len(bytes.TrimRight(t.out.Bytes(), "\n")))
	t.out.WriteByte('\n')
}

// table writes a row as its first cell, and below it the others, each with its head
// where there are more than two.
func (t *terminal) table(all *tables.Table, rest string) {
	for row := all.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
		t.wrap(t.words(row.FirstChild()), rest, rest)
		head := all.FirstChild().FirstChild().NextSibling()
		for cell := row.FirstChild().NextSibling(); cell != nil; cell, head = cell.NextSibling(), head.NextSibling() {
			said := t.words(cell)
			if said != "" && row.ChildCount() > 2 {
				said = t.words(head) + ": " + said
			}
			if said != "" {
				t.wrap(said, rest+"    ", rest+"      ")
			}
		}
	}
	t.out.WriteString("\n")
}

// wrap writes words in lines of the width.
func (t *terminal) wrap(text, first, rest string) {
	line, used := first, false
	for word := range strings.FieldsSeq(text) {
		if used && len([]rune(line))+1+len([]rune(word)) > t.width {
			t.out.WriteString(line + "\n")
			line, used = rest, false
		}
		if used {
			line += " "
		}
		line, used = line+word, true
	}
	t.out.WriteString(line + "\n")
}
