package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestForms: templates as people write them make what they say, of every kind of message.
func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"slack":   `{"text": {{json .Text}}}`,
		"discord": `{"content": {{json .Text}}, "allowed_mentions": {"parse": []}}`,
		"loop":    `{"lines": [{{range $i, $m := .Messages}}{{if $i}}, {{end}}{{json $m.Text}}{{else}}"nothing"{{end}}], "node": {{json .Node}}}`,
		"fields":  `[{{range .Messages}}{{with .Fields.Examples}}{{json (join . ", ")}}, {{end}}{{json .Fields}}, {{end}}{{.Dropped}}]`,
		"logic":   `{{if and (eq .Version 1) (gt (len .Messages) 0) (not false)}}{{json (index .Messages 0)}}{{end}}`,
	} {
		form, err := ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := form.Check(true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	form, err := ParseTemplate(`{{html .Node}} {{query .Text}}`)
	if err != nil || form.Check(false) != nil {
		t.Error(err)
	}
}

// TestRefused: what could run on, grow, or make no JSON is refused when the config is
// checked.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{{`:                                     "unclosed action",
		`{{.Secret}}`:                            "can't evaluate field Secret",
		`{{printf "%99999999d" 1}}`:              "the function printf is not supported",
		`{{.Text | print .Text}}`:                "the function print is not supported",
		`{{range .Messages}}{{println}}{{end}}`:  "the function println is not supported",
		`{{if true}}{{else}}{{js .Text}}{{end}}`: "the function js is not supported",
		`{{call .Node}}`:                         "the function call is not supported",
		`{{step_}}`:                              "the function step_ is not supported",
		`{{(index .Messages (slice .Text))}}`:    "the function slice is not supported",
		`{{env "HOME"}}`:                         `function "env" not defined`,
		`{{define "x"}}{{end}}`:                  "defines others",
		`{{define "template"}}{{template "template"}}{{end}}`: "{{template}} is not supported",
		`{{block "x" .}}{{end}}`:                              "defines others",
		`{"text": "{{.Text}}"}`:                               "does not make JSON of a block",
		``:                                                    "does not make JSON",
		`{{range 1000000000000}}{{end}}`:                      "more than 5000 turns",
		`{{range 5000}}{{range 5000}}{{range 5000}}{{end}}{{end}}{{end}}`:                                   "more than 5000 turns",
		`{{$n := 9999999999}}{{range $i := $n}}{{continue}}{{end}}`:                                         "more than 5000 turns",
		`{{range 4000}}{{range $.Messages}}{{end}}{{end}}`:                                                  "more than 5000 turns",
		`{{range 4000}}{{json $}}{{end}}`:                                                                   "makes more than 256 KiB",
		`{{$x := "\\"}}{{range 100}}{{$x = json $x}}{{end}}`:                                                "more than 64 KiB",
		`{{range 300}}` + strings.Repeat("a", 1000) + `{{end}}`:                                             "makes more than 256 KiB",
		strings.Repeat(" ", mostTemplate+1):                                                                 "more than 16 KiB",
		`{{with $x := .Messages}}{{range $x}}{{range 10000}}{{break}}{{end}}{{template "a"}}{{end}}{{end}}`: "template",
	} {
		begun := time.Now()
		form, err := ParseTemplate(text)
		if err == nil {
			err = form.Check(true)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%.60q ran for %v", text, took)
		}
	}
}

// FuzzTemplate: no template runs on, and none makes more than its bound.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		`{{range $i, $m := .Messages}}{{json $m}}{{end}}`, `{{range 9999999}}{{.}}{{end}}`, `{{$x := .Text}}{{range .Messages}}{{$x = json $x}}{{end}}{{$x}}`,
		`{{with .Made}}{{.Unix}}{{end}}`, `{{define "a"}}{{template "a"}}{{end}}`, `{{.JSON}}`, `{{range .Text}}{{else}}{{end}}`,
	} {
		f.Add(seed)
	}
	batch := samples()[1]
	f.Fuzz(func(t *testing.T, text string) {
		form, err := ParseTemplate(text)
		if err != nil {
			return
		}
		if made, err := form.Render(batch); err == nil && len(made) > mostOutput {
			t.Errorf("%d bytes", len(made))
		}
		_ = form.Check(false)
	})
}

// TestConcurrent: a template renders for several at a time, each with bounds of its own.
func TestConcurrent(t *testing.T) {
	form, err := ParseTemplate(`[{{range 4000}}1,{{end}}{{json .Text}}]`)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	for range 4 {
		go func() {
			made, err := form.Render(samples()[0])
			ended <- err == nil && json.Valid(made)
		}()
	}
	for range 4 {
		if !<-ended {
			t.Error("one failed")
		}
	}
}
