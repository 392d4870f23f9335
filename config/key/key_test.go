package key_test

import (
	"strings"
	"testing"
	"time"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// settings has a field of each sort.
type settings struct {
	most   int
	every  time.Duration
	on     bool
	file   string
	inside struct{ name string }
	items  []item
	maybe  *item
}

type item struct{ count uint32 }

func (i *item) keys() key.List { return key.List{key.Whole("count", &i.count, 0, 9, "")} }

func readItem(n yaml.Node) (i item) {
	i.keys().Read(n)
	return i
}

func (s *settings) keys() key.List {
	return key.List{
		key.Whole("most", &s.most, 1, 10, "how many"),
		key.Span("every", &s.every, time.Second, time.Hour, "how often"),
		key.Either("on", &s.on, "no_it_is", "it_is", "whether").If(s.on),
		key.Path("file", &s.file, "where"),
		key.Group("inside", func() key.List { return key.List{key.Choice("name", &s.inside.name, []string{"a", "b"}, "")} }, nil, "").Lines(),
		key.Items("items", &s.items, readItem, (*item).keys).Always(),
		key.Optional("maybe", &s.maybe, func(n yaml.Node) *item { i := readItem(n); return &i }, (*item).keys),
		key.Section("gone", yaml.NotSupported, nil),
	}
}

// What a list reads it prints, in its own order, and nothing of what is not set.
func TestReadAndPrint(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "most: 5\nevery: 1m\nitems: []\n",
		"{most: 7, every: 90s}":   "most: 7\nevery: 1m30s\nitems: []\n",
		"{file: /a b, on: it_is}": "most: 5\nevery: 1m\non: it_is\nfile: \"/a b\"\nitems: []\n",
		"inside: {name: b}":       "most: 5\nevery: 1m\ninside:\n  name: b\nitems: []\n",
		"{items: {count: 0}}":     "most: 5\nevery: 1m\nitems:\n  - {count: 0}\n",
		"{maybe: {}, items: []}":  "most: 5\nevery: 1m\nitems: []\nmaybe: {count: 0}\n",
		"{file: '${EG_FILE}/x'}":  "most: 5\nevery: 1m\nfile: \"${EG_FILE}/x\"\nitems: []\n",
	} {
		t.Setenv("EG_FILE", "/srv")
		f, s := yaml.OpenFile("f"), settings{most: 5, every: time.Minute}
		if root, ok := f.Document([]byte(text)); ok {
			s.keys().Read(root)
		}
		if all := f.Problems(); len(all) > 0 {
			t.Errorf("%s: %v", text, all)
		}
		p := yaml.Printer{Variables: f.Variables()}
		if s.keys().Write(&p, ""); p.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, p.String(), want)
		}
	}
}

// What is not allowed is reported at its place, and a key that is unknown with the nearest.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"most: 11":             "f:1:7: most: invalid number 11; use a whole number from 1 to 10",
		"every: 2h":            "f:1:8: every: 2h is too long; use at most 1h",
		"{most: 5, mots: 6}":   `f:1:11: mots: unknown field; did you mean "most"?`,
		"inside: {name: zz}":   `f:1:16: inside.name: "zz" is not known here; use a, b`,
		"items: [{count: 10}]": "f:1:17: items[0].count: invalid number 10; use a whole number from 0 to 9",
		"gone: 1":              "f:1:7: gone: is not supported in this version; remove it",
	} {
		f, s := yaml.OpenFile("f"), settings{}
		root, _ := f.Document([]byte(text))
		s.keys().Read(root)
		var got []string
		for _, p := range f.Problems() {
			got = append(got, p.String())
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%s: %s, want %s", text, all, want)
		}
	}
}

// A key's row has its default and its bounds.
func TestRow(t *testing.T) {
	s := settings{most: 5, every: time.Minute}
	keys := s.keys()
	for i, want := range []string{"`5` 1 to 10 how many", "`1m` `1s` to `1h` how often", "`no_it_is` `no_it_is`, `it_is` whether", " a path where"} {
		if got := keys[i].Default + " " + keys[i].Allowed + " " + keys[i].Meaning; got != want {
			t.Errorf("%s: %s, want %s", keys[i].Name, got, want)
		}
	}
}
