// Package bouncers runs Debian's bouncers of CrowdSec against a node. It has tests
// alone.
package bouncers
