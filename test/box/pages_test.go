package box

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A step is a block of a page that a scenario follows.
type step struct {
	where     string // page:line of its fence
	scenarios []string
	lang      string
	text      string // is run
	reason    string // why it is not tested
}

var (
	fence = regexp.MustCompile("^( *)```(.*)$")
	mark  = regexp.MustCompile(`^<!-- box: (?:no, (.+)|([a-z0-9-]+(?:,[a-z0-9-]+)*)) -->$`)
)

// stepsOf returns the blocks of a page. Each must have a mark: a scenario, or the
// reason why no box follows it.
func stepsOf(page, text string) ([]step, error) {
	var steps []step
	var open *step
	var indent, comment string
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		switch found := fence.FindStringSubmatch(line); {
		case open != nil && bare == "```":
			steps, open = append(steps, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case found != nil:
			indent = found[1]
			open = &step{where: fmt.Sprintf("%s:%d", page, i+1), lang: found[2]}
			if err := open.marked(comment); err != nil {
				return nil, fmt.Errorf("%s: %w", open.where, err)
			}
			comment = ""
		case strings.HasPrefix(bare, "<!-- box:"):
			comment = bare
		case bare != "" && comment != "":
			return nil, fmt.Errorf("%s:%d: %s is not followed by a block", page, i, comment)
		}
	}
	return steps, nil
}

// marked reads the comment above a block.
func (s *step) marked(comment string) error {
	found := mark.FindStringSubmatch(comment)
	if found == nil {
		return fmt.Errorf("the mark above the block is %q: write <!-- box: NAME --> or <!-- box: no, REASON -->", comment)
	}
	s.reason = found[1]
	if found[2] != "" {
		s.scenarios = strings.Split(found[2], ",")
	}
	return nil
}

// pages are those whose blocks are followed.
var pages = []string{"README.md", "docs/operations.md"}

// allSteps returns the blocks of all pages.
func allSteps(t *testing.T) []step {
	t.Helper()
	var all []step
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := stepsOf(page, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, steps...)
	}
	return all
}

// TestEveryMarkHasAScenario fails when a block names a scenario that does not
// exist, or when the last block of a scenario has left the pages.
func TestEveryMarkHasAScenario(t *testing.T) {
	marked := make(map[string]bool)
	for _, s := range allSteps(t) {
		for _, name := range s.scenarios {
			marked[name] = true
			if !slices.ContainsFunc(scenarios, func(have scenario) bool { return slices.Contains(have.follows, name) }) {
				t.Errorf("%s: there is no scenario %s", s.where, name)
			}
		}
	}
	for _, s := range scenarios {
		for _, name := range s.follows {
			if !marked[name] {
				t.Errorf("no block of %s is marked <!-- box: %s -->", strings.Join(pages, ", "), name)
			}
		}
	}
}

// TestReadmeRunsInACheckout fails when README.md has a reader do with a file what the
// checkout does not hold and no block before made. What needs the least comes first.
func TestReadmeRunsInACheckout(t *testing.T) {
	const serve, suite, dist, install = "go run ./cmd/edgeguard serve", "make test", "make dist", "apt-get install"
	var order []string
	for _, s := range allSteps(t) {
		if strings.HasPrefix(s.where, "README.md:") {
			for _, command := range []string{serve, suite, dist, install} {
				if strings.HasPrefix(s.text, command) {
					order = append(order, command)
				}
			}
		}
	}
	if want := []string{serve, suite, dist, install}; !slices.Equal(order, want) {
		t.Errorf("README.md has %q, want %q", order, want)
	}
}

func TestStepsOf(t *testing.T) {
	const page = "text\n\n" +
		"   <!-- box: one,two -->\n   ```sh\n   echo a\n     echo b\n   ```\n" +
		"<!-- box: no, it needs a fleet -->\n```sh\nrm x\n```\n" +
		"<!-- box: two -->\n```\nbare <!-- box: one -->\n```\n"
	steps, err := stepsOf("p.md", page)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%s|%s|%s|%q|%s", s.where, strings.Join(s.scenarios, "+"), s.lang, s.text, s.reason))
	}
	want := []string{
		`p.md:4|one+two|sh|"echo a\n  echo b\n"|`,
		`p.md:9||sh|"rm x\n"|it needs a fleet`,
		`p.md:13|two||"bare <!-- box: one -->\n"|`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bad := range []string{"```sh\na\n```\n", "text\n\n  ```\n  a\n  ```\n", "<!-- box: One -->\n```\n```\n", "<!-- box: one -->\ntext\n```\n```\n", "<!-- box: no -->\ntext\n"} {
		if _, err := stepsOf("p.md", bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
