package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// writeTables puts the tables that were printed in the place of those with the same header in a
// page, and the sentence on scenes in which nobody was stopped.
func writeTables(page string, printed []byte) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	tables := make(map[string][]string)
	for _, table := range blocksOf(string(printed)) {
		tables[keyOf(table)] = table
	}
	var out bytes.Buffer
	replaced := 0
	for _, block := range blocksOf(string(text)) {
		if table, known := tables[keyOf(block)]; known && keyOf(block) != "" {
			block = table
			replaced++
		}
		out.WriteString(strings.Join(block, ""))
	}
	if replaced == 0 {
		return fmt.Errorf("%s has none of the tables that were printed", page)
	}
	return os.WriteFile(page, out.Bytes(), 0o644)
}

// writtenTo is writeTables unless something failed before.
func writtenTo(page string, printed *bytes.Buffer, before error) error {
	if before != nil {
		return before
	}
	return writeTables(page, printed.Bytes())
}

// keyOf is the same for a block that takes another's place: the header of a table; empty for none.
func keyOf(block []string) string {
	if strings.HasSuffix(block[0], nobodyStopped) {
		return nobodyStopped
	}
	if strings.HasPrefix(block[0], "|") {
		return block[0]
	}
	return ""
}

// blocksOf splits a text into tables and the lines between them.
func blocksOf(text string) (all [][]string) {
	within := false
	for line := range strings.Lines(text) {
		if is := strings.HasPrefix(line, "|"); is && within {
			all[len(all)-1] = append(all[len(all)-1], line)
		} else {
			all, within = append(all, []string{line}), is
		}
	}
	return all
}
