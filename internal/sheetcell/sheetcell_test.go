package sheetcell

import "testing"

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"scraper":             "scraper",
		"=HYPERLINK(1)":       "'=HYPERLINK(1)",
		"+1":                  "'+1",
		"-1":                  "'-1",
		"@SUM(A1)":            "'@SUM(A1)",
		"\tx":                 "'\tx",
		"\rx":                 "'\rx",
		"  =1":                "'  =1",
		"\u200b=1":            "'\u200b=1",
		"\uff1d1":             "'\uff1d1",
		"'=1":                 "''=1",
		"'tis no formula":     "'tis no formula",
		"a=1":                 "a=1",
		"\xff":                "\xff",
		"''":                  "''",
		"owner of 192.0.2.1:": "owner of 192.0.2.1:",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A cell is read back as it was, and no cell is a formula.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"", "=1", "'=1", "''=1", "\t", "'\u00a0-", "'", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cell := Quote(text)
		if got := Unquote(cell); got != text {
			t.Errorf("%q became %q, and %q again", text, cell, got)
		}
		if len(cell) > 0 && cell[0] != '\'' && formula(cell) {
			t.Errorf("%q is a formula", cell)
		}
	})
}
