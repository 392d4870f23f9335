package differential

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator draws requests as no client should write them.
type generator struct{ *rand.Rand }

// one draws one of the choices.
func (g generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

// chance is true p times of a hundred.
func (g generator) chance(p int) bool { return g.IntN(100) < p }

// request draws a request, from its line to the blank line.
func (g generator) request() string {
	var b strings.Builder
	if g.chance(2) {
		b.WriteString("\r\n")
	}
	end := "\r\n"
	if g.chance(4) {
		end = "\n"
	}
	b.WriteString(g.line() + end)
	b.WriteString("Host: " + g.host() + end)
	b.WriteString("Connection: close" + end)
	if g.chance(3) { // nginx and Apache write each byte as four
		for _, name := range []string{"User-Agent", "Referer", "Cookie"} {
			b.WriteString(name + ": " + strings.Repeat(g.one("\xff", "\"", "\\"), 7900+g.IntN(280)) + end)
		}
		b.WriteString(end)
		return b.String()
	}
	for _, name := range []string{"User-Agent", "Referer", "Cookie", "X-Junk"} {
		if g.chance(60) {
			b.WriteString(name + ": " + g.field(name) + end)
		}
	}
	if g.chance(30) {
		b.WriteString("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(g.user()+":pw")) + end)
	}
	b.WriteString(end)
	return b.String()
}

// line draws a request line.
func (g generator) line() string {
	gap := func() string {
		if g.chance(92) {
			return " "
		}
		return g.one("  ", "   ", "\t", " \t ")
	}
	line := g.method() + gap() + g.target()
	if g.chance(3) {
		return line // HTTP/0.9
	}
	line += gap() + g.one("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/1.01", "http/1.1")
	if g.chance(5) {
		line += g.one(" ", "  ", "\t", " x")
	}
	return line
}

func (g generator) method() string {
	if g.chance(80) {
		return g.one("GET", "POST", "HEAD")
	}
	return g.one("PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "post", "Get", "FOO", "M-SEARCH", "A_B", "GET1")
}

// target draws a request target: in origin form mostly, with any scheme else.
func (g generator) target() string {
	if g.chance(2) {
		return g.one(paths...) + "?" + strings.Repeat("\xff", 7900+g.IntN(280))
	}
	target := g.path() + g.query()
	if g.chance(85) {
		return target
	}
	scheme := g.one("http", "https", "HTTP", "ftp", "x", "ws", "a+b.c-1", "h2")
	if g.chance(10) {
		target = ""
	}
	return scheme + "://" + g.one("example.org", "h", "h:80", "example.org.", "[::1]", "[2001:db8::1]:80", "127.0.0.1", "u@h", "a_b") + target
}

// paths are what requests are after.
var paths = []string{"/wp-login.php", "/wp-login.php", "/login", "/api/v1/auth", "/secret/door", "/a/b/c/d", "/", "/.well-known/x", "/x.y"}

// path draws a way to write one of them that the server may or may not undo.
func (g generator) path() string {
	path := g.one(paths...)
	if g.chance(20) {
		return path
	}
	rate := g.one("", "", "a", "aaaa") // how much is escaped
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		switch {
		case c == '/' && g.chance(25):
			b.WriteString(g.slash())
		case c != '/' && g.IntN(12) < len(rate):
			fmt.Fprintf(&b, g.one("%%%02x", "%%%02X"), c)
		default:
			b.WriteByte(c)
		}
	}
	if g.chance(25) {
		b.WriteString(g.one("/", ".", "/.", "/..", "/../", "//", "%20", "%00", "%0a", "\x80", "\xff\xfe", "%ff", "%C3%A9", "é", ";a=b", ":", "\\", "%5c", "%22", "\"",
			"'", "|", "^", "{}", "<>", "%", "%z", "%2", "%25", "%252e", "%2f", "/%2e%2e", "/%2E", "$", "&", "=", "*", "~", "\x01", "\x7f", "%3f", "%23", "+", ","))
	}
	return b.String()
}

// slash draws a way to write one slash.
func (g generator) slash() string {
	if g.chance(4) {
		return strings.Repeat(g.one("/.", "/", "/x/.."), g.length()/5) + "/"
	}
	if g.chance(5) {
		return "%2f"
	}
	return g.one("//", "///", "/./", "/%2e/", "/x/../", "/x/%2e./", "/x/%2E%2e/", "/.//", "/x//../", "/x/y/../../", "/%78/../", "/../", "/...//../")
}

func (g generator) query() string {
	switch g.IntN(8) {
	case 0:
		return "?" + g.text(g.length())
	case 1:
		return g.one("?", "?a=1", "?a=%20b&c", "?/../x", "??", "?x#y", "#x", "#", "?\"", "?a=http://h/x", "?\\x22")
	}
	return ""
}

func (g generator) host() string {
	if g.chance(70) {
		return "example.org"
	}
	return g.one("EXAMPLE.org", "example.org.", "example.org:80", "[::1]", "h", "a_b", "127.0.0.1", "", "x y", "\xff", "example.org..", "a\"b", "-")
}

// user draws a user name as Basic auth has it.
func (g generator) user() string {
	if g.chance(10) {
		return g.text(g.length() / 4)
	}
	return g.one("", "", "-", "a", "a b", "a - b", "\"", "a\" b", "a] [", "\\", "a\\", "[1/Jan/2020:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1", "é", "\xff\xff", "\t", "a\x00b", "a\nb", "'", "1.1.1.1 - - ")
}

// field draws a header's value.
func (g generator) field(name string) string {
	if name == "X-Junk" && g.chance(5) {
		return strings.Repeat(g.one("j", "\xff"), 60_000+g.IntN(30_000))
	}
	return g.one("Mozilla/5.0 (X11; Linux x86_64)", "", "-", "\"", "a\" 200 1 \"", "\\", "x\\\"", "http://h/?a=\"b\"", "{\"a\":1}", "\xff", "é", "\t", "a\tb", g.text(g.length()), g.text(g.length()))
}

// length draws a length: up to the servers' limits, at them and over.
func (g generator) length() int {
	switch g.IntN(12) {
	case 0:
		return g.IntN(8000)
	case 1:
		return 7000 + g.IntN(1190)
	case 2:
		return 8150 + g.IntN(60)
	case 3:
		return 900 + g.IntN(200)
	case 4:
		if g.chance(10) {
			return 15_000 + g.IntN(3000)
		}
	}
	return g.IntN(40)
}

// text draws n bytes that a field may have.
func (g generator) text(n int) string {
	if g.chance(50) {
		return strings.Repeat(g.one("\xff", "\x80", "é", "a", "\"", "\\", " ", "\t", "%41", "/."), n)[:n]
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(0x20 + g.IntN(0xe0))
		if b[i] == 0x7f || b[i] == ' ' && g.chance(90) {
			b[i] = '_'
		}
	}
	return string(b)
}
