package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table returns the house as Markdown. Rows are in the order of names, so that the
// page changes where the house does.
func (h *house) table() string {
	var b strings.Builder
	rooms, arrows, circles := h.count()
	b.WriteString("| what | figure | at most |\n|---|---|---|\n")
	row := func(what, limit, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), limit)
	}
	row("rooms (top folders with product code), arrows between them, pairs that import each other", "no such pair", "%d, %d, %d", rooms, arrows, circles)
	row("`"+nodeFolder+"."+nodeType+"`: methods, fields", fmt.Sprintf("%d, %d", methods, fields), "%d, %d", h.methods, h.fields)
	row("functions: number; lines of the median, of 90 %, of the longest", fmt.Sprint(function), "%s", h.spread(h.functions))
	row("files: number; lines of the median, of 90 %, of the longest", fmt.Sprint(file), "%s", h.spread(h.files))
	row("product lines (without `loadtest/` and `internal/`)", "", "%s", thousands(h.product))
	row("test lines", "", "%s", thousands(h.tests))

	b.WriteString("\n| room | lines | imports the rooms |\n|---|---|---|\n")
	lines, to := h.rooms()
	for _, room := range slices.Sorted(maps.Keys(lines)) {
		all := slices.Sorted(maps.Keys(to[room]))
		for i := range all {
			all[i] = shown(all[i])
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", shown(room), thousands(lines[room]), strings.Join(all, ", "))
	}

	fmt.Fprintf(&b, "\n| package over %s lines | lines | at most | files | why it is one package |\n|---|---|---|---|---|\n", thousands(large))
	for _, folder := range h.large() {
		p := h.packages[folder]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %s |\n", folder, thousands(p.lines), thousands(ceiling), p.files, reasons[folder])
	}
	return b.String()
}

// shown returns a room's name as the page has it.
func shown(room string) string {
	if room == "." {
		return "root"
	}
	return "`" + room + "`"
}

func (h *house) spread(values []int) string {
	return fmt.Sprintf("%s; %d, %d, %d", thousands(len(values)), quantile(values, .5), quantile(values, .9), quantile(values, 1))
}

// thousands returns a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// large returns the packages that need a reason, in order.
func (h *house) large() []string {
	over := slices.DeleteFunc(slices.Collect(maps.Keys(h.packages)), func(f string) bool { return h.packages[f].lines <= large })
	slices.Sort(over)
	return over
}

// check reports what the house does not allow.
func (h *house) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, folder := range h.large() {
		if n := h.packages[folder].lines; n > ceiling {
			bad("%s has %d lines, more than %d: split it", folder, n, ceiling)
		}
		if reasons[folder] == "" {
			bad("%s has more than %d lines: split it, or say in internal/house/limits.go why it is one package", folder, large)
		}
	}
	for folder := range reasons {
		// A package near the line may cross it without a word.
		if p := h.packages[folder]; p == nil || p.lines <= large*9/10 {
			bad("%s needs no reason any more: take it out of internal/house/limits.go", folder)
		}
	}
	if _, _, circles := h.count(); circles > 0 {
		bad("%d pairs of rooms import each other: see the table", circles)
	}
	if h.methods > methods || h.fields > fields {
		bad("%s.%s has %d methods and %d fields, more than %d and %d: move what belongs together into a type of its own", nodeFolder, nodeType, h.methods, h.fields, methods, fields)
	}
	if n := quantile(h.functions, 1); n > function {
		bad("the longest function has %d lines, more than %d: split it", n, function)
	}
	if n := quantile(h.files, 1); n > file {
		bad("the longest file has %d lines, more than %d: split it", n, file)
	}
	return errors.Join(errs...)
}
