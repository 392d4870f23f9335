package presets_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"edgeguard/presets"
)

// Each file begins with its name and what it is for, and says what is known of
// its numbers.
func TestShipped(t *testing.T) {
	all := presets.Shipped()
	for _, want := range []string{"api", "joomla", "login", "scan", "web", "wordpress"} {
		if !slices.Contains(all.Names(), want) {
			t.Errorf("no preset %s", want)
		}
	}
	for _, p := range all {
		head, _, _ := strings.Cut(p.Text, "\n")
		if !strings.HasPrefix(head, "# "+p.String()+": ") || len(p.About) < 20 || len(p.About) > 110 {
			t.Errorf("%s: begins with %q", p, head)
		}
		if !strings.Contains(p.Text, "# Evidence:") {
			t.Errorf("%s: says no evidence", p)
		}
	}
}

func TestFind(t *testing.T) {
	file := func(head string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(head + "\nrules: []\n")} }
	shelf := presets.Read(fstest.MapFS{
		"shop@2.yaml": file("# shop@2: Second."), "shop@10.yaml": file("# shop@10: Tenth."), "shop@1.yaml": file("# shop@1: First."),
		"blog@3.yaml": file("# blog@3: A blog."), "README.yaml": file("none"), "note@x.yaml": file("none"),
	})
	for _, test := range []struct{ ref, want, wrong string }{
		{"shop", "shop@1", ""}, // an upgrade that ships another version changes nothing
		{"shop@10", "shop@10", ""},
		{"blog", "blog@3", ""},
		{"shop@3", "", `the preset shop has no version "3"; use shop@1, shop@2, shop@10`},
		{"shop@", "", `no version ""`},
		{"shop@01", "", `no version "01"`},
		{"README", "", `unknown preset "README"; use blog, shop`},
		{"", "", "unknown preset"},
		{strings.Repeat("x", 1000), "", "; use blog, shop"},
	} {
		got, err := shelf.Find(test.ref)
		switch {
		case test.wrong == "" && (err != nil || got.String() != test.want):
			t.Errorf("%q: %v, %v; want %s", test.ref, got, err, test.want)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong) || len(err.Error()) > 150):
			t.Errorf("%q: %v; want %q", test.ref, err, test.wrong)
		}
	}
	for ref, want := range map[string]bool{"shop": true, "shop@1": false, "shop@10": false, "blog": false, "x": false} {
		if got, ok := shelf.Later(ref); ok != want || ok && got.String() != "shop@10" {
			t.Errorf("later than %s: %v, %v", ref, got, ok)
		}
	}
	if got := shelf.Newest("shop"); got.String() != "shop@10" || got.About != "Tenth." {
		t.Errorf("newest %v: %q", got, got.About)
	}
}
