package rules

import (
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// provokedMethods are those that a page can have a browser send elsewhere: any other method is
// asked for first, by OPTIONS.
var provokedMethods = []string{"GET", "HEAD", "POST", "OPTIONS"}

// Provokable reports whether a page elsewhere may have made a browser send the request. It may
// not if the Referer is of an own host or of the host that was asked, or Sec-Fetch-Site says
// same-origin or none: no page can write these. Nor if the method or the agent is no page's: a
// browser's begins with Mozilla/, and no page can change it without being asked for.
// A client that is no browser writes what it likes; what it gains is a block for less long.
func Provokable(ev *edgeguard.Event, own *Hosts) bool {
	const http = edgeguard.KindRequest | edgeguard.KindResponse
	switch known := ev.Known; {
	case ev.Kind&http == 0,
		known&edgeguard.FieldMethod != 0 && !slices.Contains(provokedMethods, ev.Method),
		known&edgeguard.FieldAgent != 0 && !strings.HasPrefix(ev.Agent, "Mozilla/"),
		known&edgeguard.FieldFetchSite != 0 && (ev.FetchSite == "same-origin" || ev.FetchSite == "none"):
		return false
	case known&edgeguard.FieldReferer != 0 && ev.Referer != "":
		return !FromOwnPage(ev, own)
	}
	return true
}

// FromOwnPage reports whether the Referer is of an own host, or of the host that was asked. A client
// writes it; a page cannot.
func FromOwnPage(ev *edgeguard.Event, own *Hosts) bool {
	if ev.Known&edgeguard.FieldReferer == 0 || ev.Referer == "" {
		return false
	}
	from := addressHost(ev.Referer)
	return own != nil && own.hasHost(from) || ev.Known&edgeguard.FieldHost != 0 && sameHost(from, ev.Host)
}

// sameHost reports whether two hosts are one in normal form, and not empty.
func sameHost(a, b string) bool {
	var room, other [hostRoom]byte
	one := unsafetext.String(normalHost(room[:0], a))
	return one != "" && one == unsafetext.String(normalHost(other[:0], b))
}
