package formats

import (
	"bytes"

	"edgeguard/logline/scan"
)

// isHAProxyOwn reports whether a message behind a syslog header is one of HAProxy about
// itself: syslog puts these into the same file. A line of a request begins with the
// client's address, so that no client writes the words which this looks at:
//
//	[NOTICE]   (760) : New worker (762) forked
//	Proxy main started.
//	Server app/app1 is DOWN, reason: Layer4 connection problem, …
//	backend app has no server available!
//
// Everything else stays a line that is not counted. "Connect from …" is one: it is
// how HAProxy logs a request without option httplog.
func isHAProxyOwn(message []byte) bool {
	word, rest := cutWord(message)
	switch string(word) {
	case "[NOTICE]", "[WARNING]", "[ALERT]":
		return isProcess(bytes.TrimLeft(rest, " "))
	case "Proxy":
		_, rest = cutWord(rest)
		did, _ := cutWord(rest)
		return isOneOf(did, "started.", "stopped", "hard-stopped", "reached")
	case "Backup":
		if word, rest = cutWord(rest); string(word) != "Server" {
			return false
		}
		return isServer(rest)
	case "Server":
		return isServer(rest)
	case "backend", "proxy":
		_, rest = cutWord(rest)
		return string(bytes.TrimRight(rest, " ")) == "has no server available!"
	}
	return false
}

// isProcess reports whether a message goes on with "(760) : ", and before HAProxy 2.4
// with "325/094152 (760) : ".
func isProcess(b []byte) bool {
	if word, rest := cutWord(b); len(word) == len("325/094152") && word[3] == '/' {
		b = rest
	}
	if !scan.HasPrefix(b, "(") {
		return false
	}
	n := 1
	for n < len(b) && scan.IsDigit(b[n]) {
		n++
	}
	return n > 1 && scan.HasPrefix(b[n:], ") : ")
}

// isServer reports whether a message goes on with a server's name and state.
func isServer(b []byte) bool {
	name, rest := cutWord(b)
	does, _ := cutWord(rest)
	return bytes.IndexByte(name, '/') > 0 && isOneOf(does, "is", "was", "enters", "remains")
}

// cutWord returns the text before and behind the first blank.
func cutWord(b []byte) (word, rest []byte) {
	word, rest, _ = bytes.Cut(b, []byte{' '})
	return word, rest
}

func isOneOf(word []byte, words ...string) bool {
	for _, w := range words {
		if string(word) == w {
			return true
		}
	}
	return false
}
