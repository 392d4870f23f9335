package detector

import (
	"strings"

	"edgeguard"
)

// answer is what an event says of the site: whether it works.
type answer uint8

const (
	noAnswer     answer = iota // nothing: no answer of the site's, or a redirect, which promises nothing
	success                    // a page, or what an API is asked for
	failure                    // an error in place of one
	otherFailure               // an error that says nothing of the site, and is excused while it fails
)

// answerOf says what an event tells of the site, by a status that no stranger wrote. Files
// that pages are made of tell nothing: they come from other places than pages, and browsers
// keep them. Nor does a client that went away.
func answerOf(ev *edgeguard.Event) answer {
	if ev.Known&edgeguard.FieldStatus == 0 || ev.Kind&ev.Verified&edgeguard.KindResponse == 0 {
		return noAnswer
	}
	switch s := ev.Status; {
	case s >= 200 && s < 300, s == 304:
		if isAsset(ev) {
			return noAnswer
		}
		return success
	case s < 400:
		return noAnswer
	case s == 499, isAsset(ev):
		return otherFailure
	}
	return failure
}

// longestExtension is of those in assets.
const longestExtension = 5

// isAsset reports whether the path ends in the extension of a file that pages are made of.
func isAsset(ev *edgeguard.Event) bool {
	path := ev.Path
	if ev.Known&edgeguard.FieldPath == 0 {
		return false
	}
	if end := strings.IndexByte(path, '?'); end >= 0 {
		path = path[:end]
	}
	end := path[max(0, len(path)-longestExtension-1):]
	if strings.IndexByte(end, '.') < 0 { // as of nearly all pages
		return false
	}
	var extension [longestExtension]byte
	n := copy(extension[:], end[strings.LastIndexByte(end, '.')+1:])
	for k := range n {
		extension[k] |= 0x20 // letters become lower case, digits stay
	}
	return assets(string(extension[:n]))
}

func assets(extension string) bool {
	switch extension {
	case "css", "js", "mjs", "map", "wasm", "png", "jpg", "jpeg", "gif", "svg", "ico", "webp", "avif", "bmp", "woff", "woff2", "ttf",
		"otf", "eot", "mp3", "mp4", "webm", "ogg", "m4a":
		return true
	}
	return false
}
