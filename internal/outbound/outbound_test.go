package outbound

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "x": 0, "99999999999999999999": 0, now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
		"2147483647": 2 * time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": 2 * time.Hour, "Thu, 01 Jan 1970 00:00:00 GMT": 0, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "1.5": 0, "+7": 0, "\x1b": 0,
	} {
		if got := RetryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}, now, 2*time.Hour); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Whatever another writes is one line in bounds, and no character of it is cut in half.
func FuzzShown(f *testing.F) {
	f.Add("a\x1b[31m\nb\u202ec")
	f.Add("x" + strings.Repeat("é", 500))
	f.Add(strings.Repeat(" ", 799) + "é")
	f.Fuzz(func(t *testing.T, text string) {
		got := Shown(text)
		if !utf8.ValidString(got) || len(got) > mostShown+len("…") || strings.ContainsAny(got, "\n\x1b\u202e") || utf8.ValidString(text) && !strings.ContainsRune(text, utf8.RuneError) && strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%q", got)
		}
	})
}

// What is shorter than a secret is a word that any text may have.
func TestHide(t *testing.T) {
	if got := Hide("the token T0KEN! is not key", "T0KEN!", "key", ""); got != "the token … is not key" {
		t.Errorf("%q", got)
	}
}
