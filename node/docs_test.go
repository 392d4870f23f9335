package node

import (
	"regexp"
	"strings"
	"testing"

	"edgeguard/config"
)

// Every example of the pages that are about a running node is a good config. Those of
// other programs' configs are marked yml.
func TestDocsExamples(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, page := range []string{"configuration.md", "operations.md", "start/haproxy.md"} {
		found := block.FindAllStringSubmatch(read(t, "../docs", page), -1)
		if len(found) == 0 {
			t.Errorf("%s has no example", page)
		}
		for _, example := range found {
			c, err := config.Parse(page, []byte(example[1]))
			if err != nil {
				t.Errorf("%v in\n%s", err, example[1])
			} else if len(c.Warnings) > 0 {
				t.Errorf("%v in\n%s", c.Warnings, example[1])
			}
		}
	}
}

// Every alarm that a node raises is in the page for operators.
func TestDocsNameEveryAlarm(t *testing.T) {
	page := read(t, "../docs/operations.md")
	kinds := regexp.MustCompile(`\t[A-Z]\w* += "(\w+)"`).FindAllStringSubmatch(read(t, "alarm/kinds.go"), -1)
	if len(kinds) < 5 {
		t.Fatalf("only %d kinds found", len(kinds))
	}
	for _, kind := range kinds {
		if !strings.Contains(page, "`"+kind[1]+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", kind[1])
		}
	}
}
