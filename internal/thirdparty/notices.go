package main

import (
	"fmt"
	"slices"
	"strings"
)

// notices returns the licences of the parts as one text.
func notices(parts []part) []byte {
	var b strings.Builder
	b.WriteString("The program edgeguard contains the work of others. These are their licences and notices.\nMade by `make generate`.\n")
	for _, p := range parts {
		b.WriteString("\n" + strings.Repeat("=", 80) + "\n" + strings.TrimSpace(p.name+" "+p.version) + "\n")
		for _, f := range p.files {
			fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("-", 79-len(f.name)), f.name)
			b.WriteString(strings.Trim(strings.ReplaceAll(f.text, "\r\n", "\n"), "\n") + "\n")
		}
	}
	return []byte(b.String())
}

// licences returns the SPDX identifiers of a part's licences, by what their texts
// must have; none if a text is of no licence that is known here.
func (p *part) licences() (ids []string) {
	for _, f := range p.files {
		id := ""
		text := strings.Join(strings.Fields(f.text), " ")
		switch {
		case strings.Contains(f.name, "NOTICE"), strings.Contains(f.name, "PATENTS"):
			continue
		case strings.Contains(text, "Apache License Version 2.0, January 2004"):
			id = "Apache-2.0"
		case strings.Contains(text, "Permission is hereby granted, free of charge, to any person obtaining a copy"):
			id = "MIT"
		case !strings.Contains(text, "Redistribution and use in source and binary forms, with or without modification"):
			return nil
		case strings.Contains(text, "Neither the name"):
			id = "BSD-3-Clause"
		default:
			id = "BSD-2-Clause"
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
