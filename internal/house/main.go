// Command house measures the structure of this checkout: rooms and arrows,
// sizes of packages, files and functions. It prints a table, and with -write writes
// it between the markers of a page:
//
//	go run ./internal/house -write docs/architecture.md
//
// It fails if a limit is broken, or a large package has no reason (limits.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	write := flag.String("write", "", "write the table between the markers of this `file`")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(write string) error {
	h, err := read(".")
	if err != nil {
		return err
	}
	table := h.table()
	if write == "" {
		fmt.Print(table)
	} else if err := replace(write, table); err != nil {
		return err
	}
	return h.check()
}

// The lines around the table in a page.
const begin, end = "<!-- house: begin -->\n", "<!-- house: end -->\n"

func replace(file, table string) error {
	head, _, tail, err := split(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(head+begin+table+end+tail), 0o644)
}

// split returns the table of a page, and what is before and after it.
func split(file string) (head, table, tail string, err error) {
	page, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	head, rest, found := strings.Cut(string(page), begin)
	table, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", "", fmt.Errorf("%s: has no table: add the lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return head, table, tail, nil
}
