package redis

import _ "embed" // library.lua and blocks.lua

// Library is the name of the function library and the beginning of its
// functions' names. A change that older nodes would not understand takes
// another number: then both libraries stand side by side in Redis until the
// last old node is gone.
const Library = "edgeguard1"

// Redis takes a library as one text; it is kept in two to be read.
var (
	//go:embed library.lua
	suspectsText string
	//go:embed blocks.lua
	blocksText string
)

// Source is the library's text for FUNCTION LOAD REPLACE. A load of another
// text under the same name must answer the same calls: it is how a mend
// reaches a running fleet.
var Source = suspectsText + blocksText
