// Package docs has the pages of this folder as they are in the program, for package
// help.
package docs

import "embed"

// Pages are the pages, by their paths from this folder. Those of adr are not among them.
//
//go:embed *.md start/*.md
var Pages embed.FS
