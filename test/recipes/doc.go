// Package recipes runs what `edgeguard snippets` prints. That is a real node with the printed
// lines of its config, the real server or packet filter with the printed lines of its
// own, and the commands of the printed units.
package recipes
