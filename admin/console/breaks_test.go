package console

import "testing"

// An address may break behind its colons, and a time of day never, also before a colon.
func TestBreakable(t *testing.T) {
	for text, want := range map[string]string{
		"at 16:30:09: a note": "at 16:30:09: a note", "at 16:30:09.": "at 16:30:09.",
		"2001:db8::/48": "2001:<wbr>db8::<wbr>/48", "2001:db8:77:1::9: a note": "2001:<wbr>db8:<wbr>77:<wbr>1::<wbr>9:<wbr> a note",
	} {
		if got := breakable(text); string(got) != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
