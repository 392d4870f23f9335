package migratetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/migrate"
)

// NothingIsPassedOver changes each value below the fields of a name, one after the other,
// in all files of which a rule is imported, and adds a field to each object. Each change
// has to change the result. What lies at a path that ends with one of the passed texts
// may change nothing.
func NothingIsPassedOver(t *testing.T, pattern, below string, read func([]byte) (*migrate.Report, error), passed ...string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, err := read(data)
		if err != nil || len(before.Specs()) == 0 {
			continue
		}
		for n := 0; ; n++ {
			var tree any
			if err := json.Unmarshal(data, &tree); err != nil {
				t.Fatal(err)
			}
			m := mutator{below: below, passed: passed, left: n}
			m.walk(&tree, "", false)
			if m.at == "" {
				break
			}
			changed, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			after, err := read(changed)
			if err == nil && after.ConfigText("f") == before.ConfigText("f") && !refusedAlready(before, m.at) {
				t.Errorf("%s: %s was changed, and the result is the same", file, m.at)
			}
			tried++
		}
	}
	if tried < 100 {
		t.Errorf("%d changes were tried", tried)
	}
}

// refusedAlready reports whether what lies at a path belongs to a rule that is refused or
// left out anyway. Rules of such files are in a list, in the order of the report.
func refusedAlready(r *migrate.Report, path string) bool {
	_, rest, found := strings.Cut(path, "ules[")
	var i int
	if _, err := fmt.Sscanf(rest, "%d]", &i); !found || err != nil {
		return false
	}
	called := fmt.Sprintf("rule %d ", i+1)
	for j := range r.Rules {
		if strings.HasPrefix(r.Rules[j].Called, called) {
			return len(r.Rules[j].Refused) > 0
		}
	}
	return true
}

// mutator makes one change.
type mutator struct {
	below  string
	passed []string
	left   int    // how many changes come before it
	at     string // where it was made
}

func (m *mutator) walk(v *any, path string, within bool) {
	if m.at != "" || slices.ContainsFunc(m.passed, func(p string) bool { return within && strings.HasSuffix(path, p) }) {
		return
	}
	switch x := (*v).(type) {
	case map[string]any:
		if within && m.now(path+".Added") {
			x["Added"] = 1
			return
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			inner := x[name]
			m.walk(&inner, path+"."+name, within || name == m.below)
			x[name] = inner
		}
	case []any:
		for i := range x {
			m.walk(&x[i], fmt.Sprintf("%s[%d]", path, i), within)
		}
	case string:
		if within && m.now(path) {
			*v = x + "Z"
		}
	case float64:
		if within && m.now(path) {
			*v = x + 60
		}
	case bool:
		if within && m.now(path) {
			*v = !x
		}
	}
}

// now reports whether this is the change to make.
func (m *mutator) now(path string) bool {
	m.left--
	if m.left < 0 {
		m.at = path
	}
	return m.left < 0
}
