package setup

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// askedNames is what decides whether a proxy finds the names of a folder of enforce.names, beside its sites.
type askedNames struct {
	roots []string // folders in which Caddy looks for files
	cache string   // where the http block sets open_file_cache; empty for none
	late  []string // where a location sets who the client is
}

// begin notes a block of nginx that begins.
func (f *Found) begin(s *Statement, blocks []string, at mark) {
	last := len(f.Sites) - 1
	switch {
	case s.Word(0) == "server":
		f.Sites = append(f.Sites, Site{At: lineOf(at.file, s.Line), marks: []mark{at}})
	case s.Word(0) == "http":
		f.http.mark = at
	case s.Word(0) == "if" && s.Word(1) == "(-f" && last >= 0 && within(blocks, "server"):
		f.Sites[last].looks = append(f.Sites[last].looks, path.Dir(strings.TrimSuffix(s.Word(2), ")")))
	}
}

// set notes a directive of nginx.
func (f *Found) set(s *Statement, blocks []string, at string) {
	last := len(f.Sites) - 1
	switch {
	case s.Word(0) == "open_file_cache" && within(blocks, "http") && s.Word(1) != "off":
		f.names.cache = at
	case s.Word(0) == "open_file_cache" && within(blocks, "server") && last >= 0:
		f.Sites[last].cache, f.Sites[last].noFile = at, s.Word(1) == "off"
	case s.Word(0) == "server_name" && within(blocks, "server") && last >= 0:
		f.Sites[last].Names = append(f.Sites[last].Names, s.Words[1:]...)
	case strings.HasPrefix(s.Word(0), "real_ip_") || s.Word(0) == "set_real_ip_from":
		if slices.Contains(blocks, "location") && len(f.names.late) < mostDoubts {
			f.names.late = append(f.names.late, at)
		}
	}
}

// within reports whether a block of this name is the innermost.
func within(blocks []string, name string) bool {
	return len(blocks) > 0 && blocks[len(blocks)-1] == name
}

// cached returns where open_file_cache is set for a server; empty if it has none.
func (n *askedNames) cached(s *Site) string {
	switch {
	case s.noFile:
		return ""
	case s.cache != "":
		return s.cache
	}
	return n.cache
}

// NamesCached returns where nginx's configuration sets an open_file_cache for server blocks
// which would look for names.
func (f *Found) NamesCached() (at []string) {
	for i := range f.Sites {
		if where := f.names.cached(&f.Sites[i]); where != "" && !slices.Contains(at, where) {
			at = append(at, where)
		}
	}
	return at
}

// NamesMissed reports whether the proxy looks into a folder of names at all, and returns why it
// does not refuse, or not soon, whom that has.
func (f *Found) NamesMissed(folder string) (asked bool, why []string) {
	var without []string
	folder = path.Clean(folder)
	asked = slices.Contains(f.names.roots, folder)
	for i := range f.Sites {
		s := &f.Sites[i]
		asks := slices.Contains(s.looks, folder)
		asked = asked || asks
		if where := f.names.cached(s); asks && where != "" {
			why = append(why, fmt.Sprintf("%s: open_file_cache keeps a block or a lift from being in force, for as long as open_file_cache_valid says (60s): take it out, or put `open_file_cache off;` into the server block at %s", where, s.At))
		}
		if !asks && len(without) < mostDoubts {
			without = append(without, s.At)
		}
	}
	if !asked {
		return false, nil
	}
	if len(without) > 0 {
		why = append(why, fmt.Sprintf("nothing is refused by the server blocks at %s: they do not look into %s", strings.Join(without, ", "), folder))
	}
	if len(f.names.late) > 0 {
		why = append(why, fmt.Sprintf("%s: a location says who the client is, after the test has looked for another name: move it into the server block", strings.Join(f.names.late, ", ")))
	}
	return true, why
}
