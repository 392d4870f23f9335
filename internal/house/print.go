package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// most is how many of the largest are shown.
const most = 10

// print writes all figures, the same for the same checkout.
func (h *house) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	h.printRooms(w)
	h.printPackages(w)
	h.printLargest(w)

	ways, longest := map[string][]string{}, []string(nil)
	for _, folder := range slices.Sorted(maps.Keys(h.packages)) {
		if way := h.chain(folder, ways); len(way) > len(longest) {
			longest = way
		}
	}
	_, _ = fmt.Fprintf(w, "\nlongest chain of imports, %d packages: %s\n", len(longest), strings.Join(longest, " > "))

	var untested []string
	for folder, p := range h.packages {
		if p.tests == 0 && p.files > 0 {
			untested = append(untested, folder)
		}
	}
	slices.Sort(untested)
	_, _ = fmt.Fprintf(w, "\npackages without a test of their own, %d: %s\n", len(untested), strings.Join(untested, ", "))
}

func (h *house) printRooms(w io.Writer) {
	type room struct {
		lines, packages int
		imports         map[string]bool
	}
	rooms, lines := map[string]*room{}, 0
	for folder, p := range h.packages {
		r := rooms[roomOf(folder)]
		if r == nil {
			r = &room{imports: make(map[string]bool)}
			rooms[roomOf(folder)] = r
		}
		r.lines += p.lines
		r.packages++
		lines += p.lines
		for imported := range p.imports {
			if other := roomOf(imported); other != roomOf(folder) {
				r.imports[other] = true
			}
		}
	}
	_, _ = fmt.Fprintf(w, "product: %d lines, %d packages, %d rooms; all tests: %d lines\n", lines, len(h.packages), len(rooms), h.tests)
	_, _ = fmt.Fprint(w, "\nroom\tlines\tpackages\timports\n")
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		r := rooms[name]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", name, r.lines, r.packages, strings.Join(slices.Sorted(maps.Keys(r.imports)), " "))
	}
}

func (h *house) printPackages(w io.Writer) {
	_, _ = fmt.Fprint(w, "\npackage\tlines\tfiles\texports\timporters\timports\tchain\ttest lines\n")
	ways := map[string][]string{}
	for _, folder := range slices.Sorted(maps.Keys(h.packages)) {
		p := h.packages[folder]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", folder,
			p.lines, p.files, p.exports, h.importers(folder), len(p.imports), len(h.chain(folder, ways)), p.tests)
	}
}

func (h *house) printLargest(w io.Writer) {
	of := func(count func(*typ) int) (all []sized) {
		for name, t := range h.types {
			all = append(all, sized{name, count(t)})
		}
		return all
	}
	for _, list := range []struct {
		what string
		all  []sized
	}{
		{"methods of a type", of(func(t *typ) int { return t.methods })},
		{"fields of a type", of(func(t *typ) int { return t.fields })},
		{"lines of a function", h.functions},
		{"lines of a file", h.files},
	} {
		slices.SortFunc(list.all, func(a, b sized) int { return cmp.Or(b.lines-a.lines, cmp.Compare(a.name, b.name)) })
		_, _ = fmt.Fprintf(w, "\nmost %s\n", list.what)
		for _, one := range list.all[:min(most, len(list.all))] {
			_, _ = fmt.Fprintf(w, "%s\t%d\n", one.name, one.lines)
		}
	}
}
