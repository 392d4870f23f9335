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

// Text of which a part is not seen is not plain. It stays clean: nodes of versions
// before sent it.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"Grüße, 客戶, שלום, 🚫, ⚠️, 1️⃣": "Grüße, 客戶, שלום, 🚫, ⚠️, 1️⃣",
		"👩\u200d💻 ❤\ufe0f\u200d🔥":     "👩\u200d💻 ❤\ufe0f\u200d🔥",
		"می\u200cخواهم, क्\u200dष":    "می\u200cخواهم, क्\u200dष",
		"\u0600\u0661":                "\u0600\u0661", // a sign that is seen
		"a\u200bb":                    "a?b",
		"a\u200db, \u200c":            "a?b, ?",
		"é\u200c客\u200d\u200d":        "é?客\u200d?",
		"\ufeffa\u2060\u00ad\u2062":   "?a???",
		"a\ufe0f\ufe0f, \ufe01":       "a\ufe0f?, \ufe01",
		"\ufe0f":                      "?",
		"\u3164\uffa0\u115f\u034f":    "????",
		"a\U000e0041\U000e007f":       "a??",
		"a\U000e0101":                 "a?",
		"a\U0001d173\ufff9":           "a??",
	} {
		if got := Strip(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if Plain(text) != (text == want) || !Clean(text) {
			t.Errorf("%q: plain %v, clean %v", text, Plain(text), Clean(text))
		}
	}
	if Plain("a\u202eb") || Plain("\xff") {
		t.Error("what is not clean is plain")
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("a\x1b\u202e\x9b")
	f.Add("\t\u200d\ufe0f\U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		got := Strip(text)
		if !Plain(got) || !utf8.ValidString(got) || Strip(got) != got {
			t.Fatalf("%q became %q", text, got)
		}
		if Plain(text) && got != text {
			t.Fatalf("plain text changed: %q became %q", text, got)
		}
	})
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "abcé": "abc…", "éé": "éé", "ééé": "éé…", "日本": "日…"} {
		if got := Cut(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
