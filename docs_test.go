package edgeguard_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	placed  = regexp.MustCompile(`\b([a-z]+\.md)#([a-z0-9_-]+)`)
	heading = regexp.MustCompile("(?m)^#+ (.+)$|<a name=\"([^\"]+)\">")
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_-]`)
)

// TestLinks finds a link of a page that leads to no file or heading, and a heading that
// code, alarms or other texts name and the page of docs has not.
func TestLinks(t *testing.T) {
	texts, places := readTexts(t)
	links := 0
	for name, text := range texts {
		if path.Ext(name) != ".md" {
			for _, to := range placed.FindAllStringSubmatch(text, -1) {
				if page := places["docs/"+to[1]]; page != nil {
					if links++; !page[to[2]] {
						t.Errorf("%s: %s has no place %s", name, to[1], to[2])
					}
				}
			}
			continue
		}
		for _, to := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			file, place, _ := strings.Cut(to[1], "#")
			if strings.Contains(to[1], ":") {
				continue
			} else if file == "" {
				file = path.Base(name)
			}
			file = path.Join(path.Dir(name), file)
			_, err := os.Stat(file)
			if links++; err != nil || place != "" && !places[file][place] {
				t.Errorf("%s: %s leads nowhere", name, to[1])
			}
		}
	}
	if links < 500 {
		t.Errorf("only %d links were found", links)
	}
}

// readTexts returns the files that may have links, and the places of each page: its
// headings, as GitHub names them.
func readTexts(t *testing.T) (texts map[string]string, places map[string]map[string]bool) {
	t.Helper()
	texts, places = map[string]string{}, map[string]map[string]bool{}
	kinds := []string{".go", ".html", ".json", ".md", ".tmpl", ".yaml", ".yml"}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		} else if d.IsDir() {
			if name != "." && (name[0] == '.' || slices.Contains([]string{"testdata", "dist", "pages", "node_modules"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		} else if !slices.Contains(kinds, path.Ext(name)) || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		texts[name] = string(text)
		if path.Ext(name) == ".md" {
			places[name] = map[string]bool{}
			for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
				words := strings.ToLower(linked.ReplaceAllString(found[1], ""))
				places[name][noSlug.ReplaceAllString(strings.ReplaceAll(words, " ", "-"), "")+found[2]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts, places
}
