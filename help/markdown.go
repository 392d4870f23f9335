package help

import (
	"regexp"
	"strings"
)

// kind is what a block is.
type kind int

const (
	paragraph kind = iota
	heading
	code
	list
	table
)

// block is a piece of a page that stands by itself.
type block struct {
	kind
	level   int        // of a heading
	text    string     // of a paragraph, heading or code
	ordered bool       // a list has numbers
	items   [][]block  // of a list
	rows    [][]string // of a table; the first are its heads
}

var (
	item    = regexp.MustCompile(`^(?:[-*]|(\d+)\.) +`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->|<a name="[^"]*"></a>`)
	ruler   = regexp.MustCompile(`^\|[-:| ]+\|$`)
)

// parse takes a text apart.
func parse(text string) (blocks []block) {
	lines := strings.Split(text, "\n")
	for len(lines) > 0 {
		n, b := 1, block{}
		switch line := lines[0]; {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "<!--") && strings.HasSuffix(line, "-->"):
			lines = lines[1:]
			continue
		case strings.HasPrefix(line, "```"):
			n, b = fence(lines)
		case headingLevel(line) > 0:
			b = block{kind: heading, level: headingLevel(line), text: strings.TrimLeft(line, "# ")}
		case item.MatchString(line):
			n, b = items(lines)
		case strings.HasPrefix(line, "|"):
			n, b = tableOf(lines)
		default:
			for n < len(lines) && !begins(lines[n]) {
				n++
			}
			b.text = strings.Join(lines[:n], "\n")
		}
		lines = lines[n:]
		blocks = append(blocks, b)
	}
	return blocks
}

// begins says whether a line is no more of the paragraph before it.
func begins(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") || headingLevel(line) > 0 || item.MatchString(line)
}

// fence reads code up to its last line.
func fence(lines []string) (n int, b block) {
	for n = 1; n < len(lines) && !strings.HasPrefix(lines[n], "```"); n++ {
	}
	return min(n+1, len(lines)), block{kind: code, text: strings.Join(lines[1:n], "\n")}
}

// items reads a list: what belongs to an item is indented as its text is.
func items(lines []string) (n int, b block) {
	b = block{kind: list, ordered: item.FindStringSubmatch(lines[0])[1] != ""}
	for n < len(lines) && item.MatchString(lines[n]) {
		indent := len(item.FindString(lines[n]))
		own := []string{lines[n][indent:]}
		for n++; n < len(lines); n++ {
			line := lines[n]
			deep := len(line) - len(strings.TrimLeft(line, " "))
			if blank := strings.TrimSpace(line) == ""; !blank && deep < min(indent, 2) || blank && !goesOn(lines[n:]) {
				break
			}
			own = append(own, line[min(deep, indent):])
		}
		b.items = append(b.items, parse(strings.Join(own, "\n")))
		for n < len(lines)-1 && strings.TrimSpace(lines[n]) == "" && item.MatchString(lines[n+1]) {
			n++
		}
	}
	return n, b
}

// goesOn says whether an item goes on after an empty line.
func goesOn(lines []string) bool { return len(lines) > 1 && strings.HasPrefix(lines[1], "  ") }

func tableOf(lines []string) (n int, b block) {
	b.kind = table
	for ; n < len(lines) && strings.HasPrefix(lines[n], "|"); n++ {
		if !ruler.MatchString(lines[n]) {
			b.rows = append(b.rows, cells(lines[n]))
		}
	}
	return n, b
}

// cells cuts a row of a table; \| is no border.
func cells(row string) []string {
	row = strings.ReplaceAll(strings.Trim(strings.TrimSpace(row), "|"), `\|`, "\x00")
	found := strings.Split(row, "|")
	for i := range found {
		found[i] = strings.TrimSpace(strings.ReplaceAll(found[i], "\x00", "|"))
	}
	return found
}

// inline is what a span of text may be: code, a picture, a link, an address, strong
// or stressed words.
var inline = regexp.MustCompile("``(.+?)``|`([^`]+)`" + `|!\[([^\]]*)\]\([^)]*\)|\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)]*)\)|<(https?://[^>]+)>|\*\*(.+?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*`)

// The groups of inline.
const (
	codes, code1, picture, linkText, linkTo, address, strong, stressed = 1, 2, 3, 4, 5, 6, 7, 8
)

// style writes the spans of a text in one form.
type style struct {
	text   func(string) string
	code   func(string) string
	strong func(string) string // of what is inside, written already
	em     func(string) string
	link   func(inside, to string) string
}

// write returns a text in a style.
func (st *style) write(text string) string {
	text = comment.ReplaceAllString(text, "")
	var out strings.Builder
	for {
		m := inline.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(st.text(text))
			return out.String()
		}
		out.WriteString(st.text(text[:m[0]]))
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		has := func(n int) bool { return m[2*n] >= 0 }
		switch {
		case has(codes), has(code1):
			out.WriteString(st.code(strings.TrimSpace(group(codes) + group(code1))))
		case has(linkText):
			out.WriteString(st.link(st.write(group(linkText)), group(linkTo)))
		case has(address):
			out.WriteString(st.link(st.text(group(address)), group(address)))
		case has(strong):
			out.WriteString(st.strong(st.write(group(strong))))
		case has(stressed):
			out.WriteString(st.em(st.write(group(stressed))))
		}
		text = text[m[1]:]
	}
}
