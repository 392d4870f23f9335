package envoy

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func text(number int, value string) []byte { return AppendText(nil, number, value) }

func message(number int, parts ...[]byte) []byte {
	return AppendMessage(nil, number, func(out []byte) []byte { return append(out, bytes.Join(parts, nil)...) })
}

// source is a CheckRequest with an address of some kind.
func source(address ...[]byte) []byte { return message(1, message(1, message(1, address...))) }

// asked is a CheckRequest with fields of its request.
func asked(fields ...[]byte) []byte { return message(1, message(4, message(2, fields...))) }

func line(name, value string) []byte { return message(3, text(1, name), text(2, value)) }

func TestRead(t *testing.T) {
	whole := bytes.Join([][]byte{source(message(1, text(2, "192.0.2.7"))),
		asked(text(2, "GET"), line("a", "1"), line("b", ""), text(4, "/x?y"), text(5, "site"))}, nil)
	for _, c := range []struct {
		name    string
		message []byte
		want    CheckRequest
	}{
		{"nothing", nil, CheckRequest{}},
		{"a whole one", whole, CheckRequest{Source: "192.0.2.7", Method: "GET", Path: "/x?y", Host: "site", Headers: []CheckHeader{{"a", "1"}, {"b", ""}}}},
		{"the last one holds", append(asked(text(2, "A"), text(2, "B")), asked(text(2, "C"))...), CheckRequest{Method: "C"}},
		{"parts of one message", append(asked(text(2, "A")), asked(text(5, "h"))...), CheckRequest{Method: "A", Host: "h"}},
		{"a pipe after an address", source(message(1, text(2, "a")), message(2, text(1, "/p"))), CheckRequest{}},
		{"an address after a pipe", source(message(2, text(1, "/p")), message(1, text(2, "a"))), CheckRequest{Source: "a"}},
		{"raw values", asked(message(13, message(1, text(1, "a"), text(3, "raw\xff")), message(1, text(1, "a"), text(2, "v")))),
			CheckRequest{Lines: []CheckHeader{{"a", "raw\xff"}, {"a", "v"}}}},
		{"a third field of a map's entry", asked(message(3, text(1, "a"), text(2, "v"), text(3, "x"))), CheckRequest{Headers: []CheckHeader{{"a", "v"}}}},
		{"fields of other types", []byte{0x08, 1, 0x0a, 4, 0x08, 1, 0x20, 1}, CheckRequest{}},
	} {
		var got CheckRequest
		if !got.Read(c.message) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for cut := range whole {
		if new(CheckRequest).Read(whole[:cut]) && cut != 0 && cut != len(source(message(1, text(2, "192.0.2.7")))) {
			t.Errorf("%d of %d bytes are read", cut, len(whole))
		}
	}
}

func TestHeader(t *testing.T) {
	r := CheckRequest{Headers: []CheckHeader{{"a", "1"}, {"a", "2"}}, Lines: []CheckHeader{{"b", "1"}, {"b", "2"}}}
	for name, want := range map[string][]string{"a": {"2"}, "A": {"2"}, "b": {"1", "2"}, "c": nil} {
		if got := r.AppendLines(nil, name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		if got, ok := r.Header(name); ok != (want != nil) || ok && got != want[0] {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// Ten thousand headers are read in one pass.
func TestManyHeaders(t *testing.T) {
	var fields [][]byte
	for i := range 10_000 {
		fields = append(fields, line(fmt.Sprint("h", i), "v"))
	}
	var r CheckRequest
	if !r.Read(asked(fields...)) || len(r.Headers) != 10_000 {
		t.Fatal(len(r.Headers))
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	m := append(source(message(1, text(2, "192.0.2.7"))), asked(text(2, "GET"), line("a", "1"), line("b", "2"), text(4, "/x"), text(5, "h"))...)
	var r CheckRequest
	r.Read(m)
	if n := testing.AllocsPerRun(100, func() { r.Read(m) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(append(source(message(1, text(2, "192.0.2.7"))), asked(text(2, "GET"), line("a", "1"), text(4, "/x?y"), text(5, "site"))...))
	f.Add(asked(message(13, message(1, text(1, "a"), text(3, "raw")))))
	f.Add([]byte{0x0a, 0x0b, 0x0c})
	f.Fuzz(func(t *testing.T, m []byte) {
		var r CheckRequest
		if !r.Read(m) {
			return
		}
		// Repeated, a message is the same but for what it lists.
		var twice CheckRequest
		if !twice.Read(append(bytes.Clone(m), m...)) || twice.Source != r.Source || twice.Path != r.Path || len(twice.Lines) != 2*len(r.Lines) {
			t.Fatalf("%+v, then %+v", r, twice)
		}
		for _, h := range r.Headers {
			if _, ok := r.Header(strings.ToUpper(h.Name)); !ok && strings.ToLower(strings.ToUpper(h.Name)) == h.Name {
				t.Fatalf("%q is not found", h.Name)
			}
		}
	})
}
