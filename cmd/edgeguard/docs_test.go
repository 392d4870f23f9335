package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard/command"
)

// Each command that the pages print is one that there is, with the flags that it has.
func TestDocsPrintCommands(t *testing.T) {
	root := rootCommand(&command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}})
	var pages []string
	for _, pattern := range []string{"../../docs/*.md", "../../docs/start/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	code := regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]+`")
	printed := regexp.MustCompile("(?m)(?:^ *|[`$|&(] *|sudo (?:-u edgeguard )?)edgeguard +([a-z][^`\n|>#;)]*)")
	flag := regexp.MustCompile(`--([a-z][a-z-]*)`)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range code.FindAllString(string(text), -1) {
			for _, match := range printed.FindAllStringSubmatch(span, -1) {
				found++
				c, _, err := root.Find(strings.Fields(match[1]))
				if err != nil || c == root {
					t.Errorf("%s: there is no command edgeguard %s", page, match[1])
					continue
				}
				for _, used := range flag.FindAllStringSubmatch(match[1], -1) {
					if used[1] != "help" && c.Flag(used[1]) == nil {
						t.Errorf("%s: edgeguard %s: %s has no --%s", page, match[1], c.CommandPath(), used[1])
					}
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d commands were found", found)
	}
}
