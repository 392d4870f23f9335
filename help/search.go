package help

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Found is a section that has what was searched.
type Found struct {
	*Section
	Line string // the line of it that has most of the words, as plain text
	rank int
}

// What a search looks at: words beyond these are left out.
const (
	mostWords  = 8
	longestAsk = 200
)

// why are the pages for who asks why it is as it is, and not what to do.
var why = []string{"architecture", "benchmarks", "comparison", "detection", "figures"}

// small are words that say nothing of what is searched.
var small = strings.Fields("a an and are by can do does for from how i in is it my of on or the to was what when where which who why with")

// Search returns the sections that have the words of a text, the best first, at most
// `most` of them. Where none has all words, those with most of them are the best.
func Search(text string, most int) []Found {
	asked := wordsOf(text)
	var found []Found
	for _, p := range Pages() {
		if p.Name == Map {
			continue
		}
		for _, s := range p.Sections {
			if f := s.look(asked); f.rank > 0 {
				found = append(found, f)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return b.rank - a.rank })
	found = found[:min(most, len(found))]
	for i := range found {
		found[i].Line = shown(found[i].Line)
	}
	return found
}

// wordsOf returns the words that a text asks for.
func wordsOf(text string) []string {
	text = strings.ToLower(text[:min(len(text), longestAsk)])
	all := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;?!\"'`()", r) })
	telling := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(small, w) })
	if len(telling) == 0 {
		telling = all
	}
	for i, w := range telling {
		if len(w) > 4 { // of many things or of one
			telling[i] = strings.TrimSuffix(w, "s")
		}
	}
	slices.Sort(telling)
	telling = slices.Compact(telling)
	return telling[:min(mostWords, len(telling))]
}

// look finds the line of a section that has most of the words, and ranks the section: by
// how many of the words it has, then how many stand in its heading, whether a line is about
// one, as a table's row, and how many stand in one line. Pages to start with come first.
func (s *Section) look(asked []string) Found {
	f, heading := Found{Section: s}, strings.ToLower(s.Heading+" "+s.Page.Title+" "+s.Page.Name)
	best, inHeading, begins, has := 0, 0, 0, make([]bool, len(asked))
	low := strings.ToLower(string(s.source))
	if !slices.ContainsFunc(asked, func(word string) bool { return strings.Contains(low, word) || strings.Contains(heading, word) }) {
		return f
	}
	for i, word := range asked {
		if beginsWord(heading, word) {
			inHeading++
			has[i] = true
		}
	}
	for line := range strings.Lines(string(s.source)) {
		low, in := strings.ToLower(line), 0
		for i, word := range asked {
			if beginsWord(low, word) {
				in++
				has[i] = true
			}
			if strings.HasPrefix(strings.TrimLeft(low, "|-*` "), word) {
				begins = 1
			}
		}
		if saysSomething(line) && (in > best || f.Line == "") {
			best, f.Line = in, line
		}
	}
	all := 0
	for _, h := range has {
		if h {
			all++
		}
	}
	if all == 0 {
		return f
	}
	f.rank = 1000*all + 100*inHeading + 10*best + 50*begins
	switch name := s.Page.Name; {
	case name == "tasks", strings.HasPrefix(name, "start/"):
		f.rank += 105
	case slices.Contains(why, name):
		f.rank -= 105
	}
	return f
}

// saysSomething says whether a line can stand for its section.
func saysSomething(line string) bool {
	return !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "```")
}

// beginsWord says whether a word of the text begins as asked: "block" finds blocks, and
// "all" no install.
func beginsWord(text, asked string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], asked)
		if i < 0 {
			return false
		}
		at += i
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		at += len(asked)
	}
}

// shown returns a line of a page as plain text.
func shown(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "|") {
		line += "\n|" + strings.Repeat("-|", strings.Count(line, "|")-strings.Count(line, `\|`)-1) // the head of a table
	}
	line = strings.Join(strings.Fields(plain(parse([]byte(line)), []byte(line))), " ")
	if runes := []rune(line); len(runes) > 120 {
		line = string(runes[:119]) + "…"
	}
	return line
}
