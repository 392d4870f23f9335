package haproxy

// The variables of a request in haproxy.cfg, for as long as it lasts.
const (
	methodVar = "txn.eg_method"
	hostVar   = "txn.eg_host"
	pathVar   = "txn.eg_path"
	cutVar    = "txn.eg_cut" // the path as it is for servers that cut parameters off; not set for a path without
)

// foldVar and bareVar return the variables of both forms of a path that rules with fold
// compare, for the variable of the path.
func foldVar(path string) string { return path + "_fold" }
func bareVar(path string) string { return path + "_bare" }

// dotdots is how many names before as many ".." in a row are resolved ("/a/b/../.." has
// two). No browser sends one, and a path with more counts for every rule that asks for it.
const dotdots = 8

// unresolved is in a path where a ".." is left.
const unresolved = "/../"

// Patterns below find no line feed and no NUL byte: both become another control
// character, and no column's path has any.
const (
	// An escape that is none, such as "%zz", stays as it is: url_dec gives up on it. The
	// second time finds those that follow directly on one.
	badEscape  = `,regsub("%([^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f]|[0-9A-Fa-f]?$)","%25\1",g)`
	decodePath = `,regsub("%0[0Aa]","%0D",g)` + badEscape + badEscape + `,url_dec`

	// Slashes are merged, and doubled for the time being, so that each name has its own
	// two: "//a//../". A dot segment at the end leaves a slash.
	splitPath = `,regsub("/+","//",g),concat(/),regsub("/([.][.]?)/$","/\1///"),regsub("/[.]/","",g)`
	// A name with the ".." after it.
	dotdot   = `,regsub("/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+)//[.][.]/","",g)`
	joinPath = `,regsub("^/(/[.][.]/)+","/"),regsub("/$",""),regsub("/+","/",g)`

	// Parameters, of the path as it was sent.
	cutPath  = `path,regsub("(;|%3[Bb])[^/]*","",g)`
	foldPath = `,lower,regsub("([^/])/$","\1")`
	barePath = `,regsub("([^/.])[.]+[^./]*$","\1")`
)
