// Package bouncertest runs Debian's bouncers of CrowdSec against a node. It has tests
// alone.
package bouncertest
