package redis

import _ "embed"

// LibraryName is the name of the function library and the prefix of its functions'
// names. A change that older nodes would not understand takes another number:
// then Redis has both libraries until the last old node is gone.
const LibraryName = "edgeguard1"

// Redis loads a library as one text. It is kept in two files, to be read.
var (
	//go:embed library.lua
	suspectsText string
	//go:embed blocks.lua
	blocksText string
	//go:embed replay.lua
	replayText string
)

// LibrarySource is the library's text for FUNCTION LOAD REPLACE. Another text under
// the same name must answer the same calls: this is how a fix reaches a running
// fleet.
var LibrarySource = suspectsText + blocksText

// replayName is the name of the library with what only a replay calls: its user
// may set the clock of a namespace, and a node's may not.
const replayName = LibraryName + "_replay"

// sources are the libraries that Install loads, by name.
var sources = map[string]string{LibraryName: LibrarySource, replayName: replayText}

// function returns the full name of one of the library's functions.
func function(what string) string { return LibraryName + "_" + what }
