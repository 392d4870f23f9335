package safetext

import (
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"over limit: edge-1 20":    "over limit: edge-1 20",
		"Grüße, 客戶, שלום, 🚫":       "Grüße, 客戶, שלום, 🚫",
		"\x1b[31mred":              "?[31mred",
		"bell\a":                   "bell?",
		"one\r\ntwo\tthree":        "one  two three",
		"NUL\x00":                  "NUL?",
		"DEL\x7f":                  "DEL?",
		"CSI \u009b31m":            "CSI ?31m",
		"a raw C1 \x9b31m":         "a raw C1 \ufffd31m",
		"\u202egnp.exe":            "?gnp.exe",
		"\u2066\u2067\u2068\u2069": "????",
		"\u061c\u200e\u200f":       "???",
		"\u202a\u202b\u202c\u202d": "????",
		"no-break\u00a0space":      "no-break\u00a0space",
		"a replacement \ufffd":     "a replacement \ufffd",
	} {
		if got := Strip(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if Clean(text) != (text == want) {
			t.Errorf("Clean(%q) is %v", text, Clean(text))
		}
	}
	if got := Lines("one\x1b\ntwo\t"); got != "one?\ntwo " {
		t.Errorf("lines: %q", got)
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("a\x1b\u202e\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		got := Strip(text)
		if !Clean(got) || !utf8.ValidString(got) || Strip(got) != got {
			t.Fatalf("%q became %q", text, got)
		}
		if Clean(text) && got != text {
			t.Fatalf("clean text changed: %q became %q", text, got)
		}
	})
}
