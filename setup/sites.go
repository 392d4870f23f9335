package setup

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Site is what answers requests: a server block of nginx, a site of a Caddyfile, a frontend of HAProxy.
type Site struct {
	At    string // where it begins, FILE:LINE
	Names []string
	// Logs says that it has a log of its own.
	Logs bool
	// Unfit says why lines of edgeguard do not go there; empty if they do.
	Unfit string
	looks []string // folders in which it looks for names by itself
	marks []mark
	// Where a server block of nginx sets open_file_cache, and whether it turns that off.
	cache  string
	noFile bool
}

// mark is a place in a file: behind which of its bytes lines are put.
type mark struct {
	file  string
	after int
}

// httpBlock is where nginx reads what is for all server blocks: the files of a folder, and the block
// itself.
type httpBlock struct {
	folder string
	mark   mark
}

// Wiring is what a proxy's configuration gets, so that the proxy refuses.
type Wiring struct {
	// Site are the lines of each site, and Inner those of each of its blocks that answer first. LogLine is
	// that of a site without a log.
	Site, Inner []string
	LogLine     string
	// End are lines behind all others. Host is this host's name, by which HAProxy calls itself.
	End  []string
	Host string
	// Folder is where names are: a site that looks there by itself has what it needs. Skip reports
	// whether one is left out.
	Folder string
	Skip   func(*Site) bool
}

// Wired is a configuration with its lines.
type Wired struct {
	Common  string            // where nginx reads a file for all sites
	Texts   map[string]string // of the files that change, by their paths
	Sites   []Site            // that have the lines now
	Without []Site            // that have not
}

// Wire puts lines into the files of a configuration, which files returns without marked lines.
func (f *Found) Wire(w *Wiring, files Files) (Wired, error) {
	out := Wired{Texts: map[string]string{}}
	into := map[string][]insertion{}
	for i := range f.Sites {
		s := &f.Sites[i]
		if w.Folder != "" && slices.Contains(s.looks, w.Folder) {
			continue
		}
		if len(s.marks) == 0 || s.Unfit != "" || w.Skip(s) {
			out.Without = append(out.Without, *s)
			continue
		}
		out.Sites = append(out.Sites, *s)
		for k, m := range s.marks {
			lines := w.Site
			if k > 0 {
				lines = w.Inner
			} else if w.LogLine != "" && !s.Logs {
				lines = append([]string{w.LogLine}, lines...)
			}
			into[m.file] = append(into[m.file], insertion{m.after, lines})
		}
	}
	if len(w.End) > 0 {
		into[f.http.mark.file] = append(into[f.http.mark.file], insertion{f.http.mark.after, f.fitted(w)})
	}
	if f.Proxy == "nginx" {
		if out.Common = path.Join(f.http.folder, "edgeguard.conf"); f.http.folder == "" {
			out.Common = path.Join(path.Dir(f.Config), "edgeguard.conf")
			into[f.http.mark.file] = append(into[f.http.mark.file], insertion{f.http.mark.after, []string{"include " + quoteNginx(out.Common) + ";"}})
		}
	}
	delete(into, "") // no http block was found
	for file, all := range into {
		text, err := files.Read(file)
		if err != nil {
			return Wired{}, err
		}
		out.Texts[file] = insert(text, all)
	}
	return out, nil
}

// insertion is lines that are put behind a byte of a text.
type insertion struct {
	after int
	lines []string
}

const (
	// marked ends a line that edgeguard has put into a file of another program, and split one that stands
	// where no line ended before. A plain "# edgeguard" people write, too.
	marked = " # edgeguard --install"
	split  = " # edgeguard --install, in a line that it split"
)

// insert puts lines into a text, each of them marked.
func insert(text string, all []insertion) string {
	slices.SortStableFunc(all, func(a, b insertion) int { return b.after - a.after })
	for i, one := range all {
		if i > 0 && one.after == all[i-1].after && slices.Equal(one.lines, all[i-1].lines) {
			continue // the file is included twice
		}
		rest, next, ends := strings.Cut(text[one.after:], "\n")
		indent, eol := indentOf(text[strings.LastIndexByte(text[:one.after], '\n')+1:]), "\n"
		if deeper := indentOf(next); len(deeper) > len(indent) {
			indent = deeper
		} else if strings.HasSuffix(text[:one.after], "{") {
			indent += "    "
		}
		if strings.HasSuffix(rest, "\r") || !ends && strings.Contains(text, "\r\n") {
			eol = "\r\n"
		}
		at, b, first := one.after, new(strings.Builder), marked
		if word := strings.TrimSpace(rest); ends && (word == "" || word[0] == '#') {
			at += len(rest) + 1
		} else if ends || text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString(eol)
			first = split
		}
		for i, line := range one.lines {
			end := marked
			if i == 0 {
				end = first
			}
			b.WriteString(indent + line + end + eol)
		}
		text = text[:at] + b.String() + text[at:]
	}
	return text
}

var (
	// splitLine is a line with both its ends, where it still stands behind a brace or at the end of the text.
	splitLine  = regexp.MustCompile(`(\{)\r?\n[ \t]*[^\s#][^\n]*` + split + `\r?\n|\r?\n[ \t]*[^\s#][^\n]*` + split + `\r?\n\z`)
	markedLine = regexp.MustCompile(`(?m)^[ \t]*[^\s#][^\n]*` + marked + `\r?\n`)
	movedLine  = regexp.MustCompile(`(?m)^[ \t]*[^\s#][^\n]*` + split + `\r?\n`)
)

// indentOf returns the blanks at the start of a text.
func indentOf(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " \t"))] }

// Unmark returns a text without the lines that edgeguard has put into it.
func Unmark(text string) string {
	return movedLine.ReplaceAllString(splitLine.ReplaceAllString(markedLine.ReplaceAllString(text, ""), "$1"), "")
}
