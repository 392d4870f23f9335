// Package box follows the printed instructions on a real system. It boots a
// minimal Debian with systemd in namespaces of its own, installs the package
// there, and runs the fenced commands of README.md and docs/operations.md, and those
// of the snippets, as they are printed. So a page that does not work fails a
// test. `make test-box` runs it, as root; see docs/adr/0036-a-booted-box.md.
//
// A comment above a block in a page says which scenario follows it:
//
//	<!-- box: NAME -->       runs the commands
//	<!-- box: no, REASON --> is not tested
package box
