package help

import (
	"fmt"
	"path"
	"strings"
)

// same writes a text as it is.
func same(text string) string { return text }

// plain returns a text without its marks.
func plain(text string) string {
	st := style{text: same, code: same, strong: same, em: same, link: func(inside, _ string) string { return inside }}
	return st.write(text)
}

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
	t := terminal{width: width}
	t.style = style{text: same, code: func(c string) string { return "`" + c + "`" }, strong: same, em: same, link: func(inside, to string) string {
		if topic, ok := topicOf(s.Page, to); ok && topic != strings.TrimSuffix(inside, ".md") {
			return inside + " [" + topic + "]"
		}
		return inside
	}}
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
	style
	width int
	out   strings.Builder
}

// blocks writes blocks, the first line behind `first` and the others behind `rest`.
func (t *terminal) blocks(blocks []block, first, rest string) {
	for _, b := range blocks {
		switch b.kind {
		case heading:
			text, mark := plain(b.text), "-"
			if b.level == 1 {
				mark = "="
			}
			t.out.WriteString(text + "\n" + strings.Repeat(mark, len([]rune(text))) + "\n\n")
		case paragraph:
			t.wrap(t.write(b.text), first, rest)
			t.out.WriteString("\n")
		case code:
			for line := range strings.SplitSeq(b.text, "\n") {
				t.out.WriteString(strings.TrimRight(rest+"    "+line, " ") + "\n")
			}
			t.out.WriteString("\n")
		case list:
			t.list(b, rest)
		case table:
			t.table(b, rest)
		}
		first = rest
	}
}

func (t *terminal) list(b block, rest string) {
	for i, blocks := range b.items {
		mark := "- "
		if b.ordered {
			mark = fmt.Sprintf("%d. ", i+1)
		}
		t.blocks(blocks, rest+mark, rest+strings.Repeat(" ", len(mark)))
		if len(blocks) == 1 {
			t.tight()
		}
	}
	t.tight()
	t.out.WriteString("\n")
}

// tight takes back the empty line at the end.
func (t *terminal) tight() {
	text := strings.TrimRight(t.out.String(), "\n")
	t.out.Reset()
	t.out.WriteString(text + "\n")
}

// table writes a row as its first cell, and below it the others, each with its head
// where there are more than two.
func (t *terminal) table(b block, rest string) {
	for _, row := range b.rows[1:] {
		t.wrap(t.write(row[0]), rest, rest)
		for i, cell := range row[1:] {
			if len(row) > 2 && i+1 < len(b.rows[0]) && cell != "" {
				cell = b.rows[0][i+1] + ": " + cell
			}
			if cell != "" {
				t.wrap(t.write(cell), rest+"    ", rest+"      ")
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
