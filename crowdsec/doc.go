// Package crowdsec is a client of a CrowdSec's local API (LAPI). It takes decisions from it as
// a bouncer does ([Client], [Follower]), and reports blocks to it as a machine does
// ([AlertQueue]). A node that answers bouncers itself does so in package lapi.
//
// What a LAPI answers is bounded and judged before any of it blocks: see [Filter].
package crowdsec
