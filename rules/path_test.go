package rules

import (
	"regexp"
	"strings"
	"testing"
)

// absolute is what stands before the path of a target in absolute form, with
// the path's first slash where nothing else ends it.
var absolute = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*|/)`)

// slowNormalPath is the obvious twin of normalPath: one step after the other,
// on whole strings.
func slowNormalPath(target string) string {
	for _, mark := range []string{"?", "#"} {
		target, _, _ = strings.Cut(target, mark)
	}
	if origin := absolute.FindString(target); origin != "" {
		target = "/" + target[len(origin):]
	}
	var decoded strings.Builder
	for i := 0; i < len(target); i++ {
		if target[i] == '%' && len(target) >= i+3 {
			if high, low := strings.IndexByte(hexDigits, target[i+1]), strings.IndexByte(hexDigits, target[i+2]); high >= 0 && low >= 0 {
				decoded.WriteByte(hexValue(high)<<4 | hexValue(low))
				i += 2
				continue
			}
		}
		decoded.WriteByte(target[i])
	}
	segments := strings.Split(decoded.String(), "/")
	var kept []string
	for _, segment := range segments {
		switch segment {
		case "", ".":
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, segment)
		}
	}
	path := "/" + strings.Join(kept, "/")
	if last := segments[len(segments)-1]; (last == "" || last == "." || last == "..") && path != "/" {
		path += "/"
	}
	return path
}

const hexDigits = "0123456789abcdefABCDEF"

func hexValue(at int) byte {
	if at > 15 {
		at -= 6
	}
	return byte(at)
}

var pathCases = []struct{ name, target, want string }{
	{"plain", "/wp-login.php", "/wp-login.php"},
	{"root", "/", "/"},
	{"empty", "", "/"},
	{"query", "/search?q=/a/../b", "/search"},
	{"query only", "?q", "/"},
	{"fragment", "/a#b", "/a"},
	{"two slashes, as attackers write it", "//xmlrpc.php", "/xmlrpc.php"},
	{"many slashes", "///a////b//", "/a/b/"},
	{"trailing slash stays", "/wp-login.php/", "/wp-login.php/"},
	{"escaped letter", "/%78mlrpc.php", "/xmlrpc.php"},
	{"escaped slash", "/a%2Fb", "/a/b"},
	{"escaped slash beside a slash", "/a/%2fb", "/a/b"},
	{"escaped dots", "/a/%2e%2E/b", "/b"},
	{"decoded once only", "/%2578", "/%78"},
	{"escaped question mark is no query", "/a%3Fb", "/a?b"},
	{"no escape", "/100%zz%4", "/100%zz%4"},
	{"dot", "/a/./b", "/a/b"},
	{"dot at the end", "/a/.", "/a/"},
	{"dots", "/a/b/../c", "/a/c"},
	{"dots at the end", "/a/b/..", "/a/"},
	{"dots above the root", "/../../a", "/a"},
	{"dots to the root", "/a/..", "/"},
	{"slashes merge before dots resolve", "/a//../b", "/b"},
	{"hidden file", "/.env", "/.env"},
	{"three dots are a name", "/a/.../b", "/a/.../b"},
	{"dots in a name", "/a..b/c.", "/a..b/c."},
	{"absolute form", "http://example.org/xmlrpc.php", "/xmlrpc.php"},
	{"absolute form, odd case", "HTTPS://example.org//a?x", "/a"},
	{"absolute form without path", "http://example.org", "/"},
	{"absolute form in the query", "/a?u=http://x/y", "/a"},
	{"absolute form, query instead of a path", "http://example.org?a=/xmlrpc.php", "/"},
	{"absolute form with port", "http://[2001:db8::1]:80/xmlrpc.php", "/xmlrpc.php"},
	{"absolute form with user", "http://a:b@example.org/xmlrpc.php", "/xmlrpc.php"},
	{"absolute form, any scheme", "x-1+a.b://h/wp-login.php", "/wp-login.php"},
	{"absolute form, short scheme", "x://h/a/../b", "/b"},
	{"absolute form, scheme only", "x://", "/"},
	{"absolute form without a host", "x:///a", "/a"},
	{"absolute form without authority, as Apache and Caddy take it", "http:/h/a", "/h/a"},
	{"no scheme begins with a digit", "1x://h/a", "/1x:/h/a"},
	{"no scheme has a slash", "/a://h/b", "/a:/h/b"},
	{"no scheme is empty", "://h/b", "/:/h/b"},
	{"asterisk form", "*", "/*"},
	{"authority form", "example.org:443", "/example.org:443"},
	{"not ASCII", "/caf\xc3\xa9/%C3%A9", "/caf\xc3\xa9/\xc3\xa9"},
	{"longer than a word", "/a/b/c/d/e/f/g/h//i/j/k/./l", "/a/b/c/d/e/f/g/h/i/j/k/l"},
}

func TestNormalPath(t *testing.T) {
	for _, c := range pathCases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(normalPath(nil, c.target)); got != c.want {
				t.Errorf("normalPath(%q) = %q, want %q", c.target, got, c.want)
			}
			if got := slowNormalPath(c.target); got != c.want {
				t.Errorf("the twin gives %q, want %q", got, c.want)
			}
		})
	}
}

// TestPlainPath holds that the short cut agrees, and that it is taken where it
// matters.
func TestPlainPath(t *testing.T) {
	for _, c := range pathCases {
		if got, ok := plainPath(c.target); ok && got != c.want {
			t.Errorf("%s: plainPath(%q) = %q, want %q", c.name, c.target, got, c.want)
		}
	}
	for _, target := range []string{
		"/", "/a", "/wp-login.php", "/wp-content/uploads/2016/08/picture.jpg", "/search?q=a%20b", "/a?x#y", "/a.b/c.d/", "/1234567", "/12345678",
	} {
		if _, ok := plainPath(target); !ok {
			t.Errorf("plainPath(%q) does not take the short cut", target)
		}
	}
	// A mark is found at every place of a path of every length.
	for length := 2; length < 40; length++ {
		for at := 1; at < length; at++ {
			for _, mark := range []string{"%", "#", "//", "/."} {
				path := "/" + strings.Repeat("a", at-1) + mark + strings.Repeat("b", length-at)
				if got, ok := plainPath(path); ok && mark != "#" {
					t.Fatalf("plainPath(%q) = %q, true", path, got)
				}
			}
			path := "/" + strings.Repeat("a", at-1)
			if got, ok := plainPath(path + strings.Repeat("?/%", length-at)); !ok || got != path {
				t.Fatalf("plainPath finds %q, %v before the query, want %q", got, ok, path)
			}
		}
	}
}

// TestOtherPath: Apache splits a path at its slashes before it reads escapes.
func TestOtherPath(t *testing.T) {
	for _, c := range []struct{ target, want string }{
		{"/x%2fy/../login", "/login"},
		{"/x%2Fy%2f/%2e%2e/login?a", "/login"},
		{"/x%2f../login", "/x/../login"},
		{"x://h/a%2fb/../c", "/c"},
		{"/a%2fb", "/a/b"},
		{"//a/../b%2f", "/b/"},
		{"/%2f/../a", "/a"},
		{"/%2f", "//"},
	} {
		if got := string(otherPath([]byte("x/y="), c.target)); got != "x/y="+c.want {
			t.Errorf("otherPath(%q) = %q, want %q", c.target, got, c.want)
		}
	}
}

func TestNormalPathAppends(t *testing.T) {
	if got := string(normalPath([]byte("x/y="), "/a/../../b/..")); got != "x/y=/" {
		t.Errorf("got %q: dots must not climb into what was there", got)
	}
}

// FuzzNormalPath compares with the slow twin and checks what makes a normal
// form one.
func FuzzNormalPath(f *testing.F) {
	for _, c := range pathCases {
		f.Add(c.target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		got := string(normalPath(nil, target))
		if want := slowNormalPath(target); got != want {
			t.Fatalf("normalPath(%q) = %q, the twin %q", target, got, want)
		}
		if plain, ok := plainPath(target); ok && plain != got {
			t.Fatalf("plainPath(%q) = %q, normalPath %q", target, plain, got)
		}
		if got[0] != '/' || strings.Contains(got, "//") || hasDots(got) {
			t.Fatalf("%q is no normal form", got)
		}
		if len(got) > len(target)+1 {
			t.Fatalf("%q is longer than %q", got, target)
		}
	})
}
