// Package console looks at the console's pages as a browser does: of a real node
// with real blocks, whose pages are compared with its API.
package console
