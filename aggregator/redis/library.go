package redis

import _ "embed" // library.lua and blocks.lua

// Library is the name of the function library and the prefix of its functions'
// names. A change that older nodes would not understand takes another number:
// then Redis has both libraries until the last old node is gone.
const Library = "edgeguard1"

// Redis loads a library as one text. It is kept in two files, to be read.
var (
	//go:embed library.lua
	suspectsText string
	//go:embed blocks.lua
	blocksText string
)

// Source is the library's text for FUNCTION LOAD REPLACE. Another text under
// the same name must answer the same calls: this is how a fix reaches a running
// fleet.
var Source = suspectsText + blocksText
