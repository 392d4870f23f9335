package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// plain takes the marks of Markdown out of a text for the terminal.
var plain = strings.NewReplacer("`", "", "*", "")

// markdown returns what stands between a group's marks on the page. A command
// that serves the whole group is said once.
func markdown(g group, rows []row, conditions string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", g.note)
	shared := sharedCommand(rows)
	head := []string{"what", "goal", "measured", "", "command"}
	if shared != "" {
		head = head[:4]
	}
	tableRow(&b, head)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(head)))
	for _, r := range rows {
		cells := []string{r.what, r.goal, r.measured, r.verdict, "`" + r.command + "`"}
		tableRow(&b, cells[:len(head)])
	}
	if shared != "" {
		fmt.Fprintf(&b, "\nCommand: `%s`\n", shared)
	}
	if conditions != "" {
		fmt.Fprintf(&b, "\n%s\n", conditions)
	}
	return b.String()
}

// sharedCommand returns the command of all rows, empty if they differ.
func sharedCommand(rows []row) string {
	for _, r := range rows {
		if r.command != rows[0].command {
			return ""
		}
	}
	return rows[0].command
}

func tableRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(cell, "|", "\\|"))
	}
	b.WriteString("|\n")
}

// writeRegion replaces what stands between the marks of the group on a page,
// and leaves the rest of the page as it is.
func writeRegion(path string, g group, rows []row, conditions string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err = replaceRegion(page, g.name, markdown(g, rows, conditions))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, page, 0o644)
}

func replaceRegion(page []byte, name, text string) ([]byte, error) {
	first, last := "<!-- figures: "+name+" -->\n", "<!-- end: "+name+" -->"
	before, rest, found := bytes.Cut(page, []byte(first))
	_, after, ended := bytes.Cut(rest, []byte(last))
	if !found || !ended {
		return nil, fmt.Errorf("the page needs the lines %q and %q around the figures", strings.TrimSpace(first), last)
	}
	return []byte(string(before) + first + "\n" + text + "\n" + last + string(after)), nil
}
