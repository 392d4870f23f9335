package blocks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// read returns what a file has, a text for each line.
func read(format fileFormat, text string) (out []string, entries []fileEntry, err error) {
	err = readFile(strings.NewReader(text), format, func(e fileEntry, wrong error) {
		if wrong != nil {
			out = append(out, fmt.Sprintf("%d: %v", e.Line, wrong))
			return
		}
		entries = append(entries, e)
		one := fmt.Sprintf("%d %s", e.Line, e.Prefix)
		for _, more := range []string{e.Rule, e.Owner, e.Reason, e.For} {
			if more != "" {
				one += "|" + more
			}
		}
		if !e.Until.IsZero() {
			one += " " + e.Until.UTC().Format(time.RFC3339Nano)
		}
		out = append(out, one)
	})
	return out, entries, err
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":    {"", nil},
		"plain":    {"# list\n\n203.0.113.1\r\n 198.51.100.0/24 ; SBL1\n2001:db8::/32#x", []string{"3 203.0.113.1", "4 198.51.100.0/24", "5 2001:db8::/32"}},
		"mark":     {"\xef\xbb\xbf203.0.113.1\n", []string{"1 203.0.113.1"}},
		"long":     {"203.0.113.1\n" + strings.Repeat("x", 3*maxLine) + "\n203.0.113.2\n", []string{"1 203.0.113.1", "2: longer than 64 KiB", "3 203.0.113.2"}},
		"long end": {"203.0.113.1\n" + strings.Repeat("x", 3*maxLine), []string{"1 203.0.113.1", "2: longer than 64 KiB"}},
		"table": {"Prefix,until,owner,reason,count\n203.0.113.1,2026-03-01T12:00:00.5Z,fail2ban,\"a, b\",7\n\n203.0.113.2,,,'=1+1,\n",
			[]string{"2 203.0.113.1|fail2ban|a, b 2026-03-01T12:00:00.5Z", "4 203.0.113.2|=1+1"}},
		"semicolons": {"prefix;for;reason\n203.0.113.1;30d;a,b\n", []string{"2 203.0.113.1|a,b|30d"}},
		"wrong rows": {"prefix,until\n203.0.113.1\n203.0.113.2,soon\n,\n\"203.0.113.3\n203.0.113.4,\n", []string{
			"2: 1 cells, the first line names 2 columns", `3: until: "soon" is not a time such as 2026-03-01T12:00:00Z`, "4: no prefix",
			`5: column 13: extraneous or missing " in quoted-field`, "6 203.0.113.4"}},
		"objects": {"{\"prefix\":\"203.0.113.1\",\"rule\":\"owner x\",\"owner\":\"x\",\"reason\":\"r\",\"count\":3,\"refused\":null}\n\n{\"prefix\":\"203.0.113.2\",\"until\":\"2026-03-01T12:00:00Z\"}\n",
			[]string{"1 203.0.113.1|owner x|x|r", "3 203.0.113.2 2026-03-01T12:00:00Z"}},
		"wrong objects": {"{\"prefix\":7}\n{\"prefix\":\"203.0.113.1\",\"utnil\":1}\n{}\n{\n{\"prefix\":\"203.0.113.1\"}{}\n{\"blocks\":[]}\n{\"prefix\":\"203.0.113.2\"}\n", []string{
			"1: prefix: expected a text, got a number", `2: unknown field "utnil"`, "3: no prefix", "4: unexpected EOF",
			"5: text after the object: use one object a line", "6: this is a page of the API, of many: use `edgeguard blocks export`, or one object a line, as `jq -c '.blocks[]'` prints them", "7 203.0.113.2"}},
	} {
		if got, _, err := read("", c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// A file that nothing more can be read of says where and why.
func TestReadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		format     fileFormat
		text, want string
	}{
		"no columns":     {csvFile, "203.0.113.1,x\n", `line 1: unknown column "203.0.113.1": use prefix, rule, owner, reason, origin, since, until or for`},
		"no prefix":      {csvFile, "owner,reason\n", "line 1: there is no column prefix: the first line names the columns, of prefix, rule, owner, reason, origin, since, until and for"},
		"a column twice": {csvFile, "prefix,Prefix\n", "line 1: the column prefix is there twice"},
		"an array":       {"", " [\n{\"prefix\":\"203.0.113.1\"},\n", "an array is not read: use one object a line, as `jq -c '.[]'` prints them"},
	} {
		if _, _, err := read(c.format, c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// endless repeats a text, and counts what is read of it.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for i := range p {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

// A file without an end is read to a bound, whatever it has.
func TestReadIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"one line": "x", "blank lines": "\n", "comments": "# x\n", "one object": "{", "entries": "203.0.113.1\n", "rows": "prefix\n",
	} {
		from := &endless{text: text}
		kept := 0
		const most, mostEntries = 1 << 20, 1000
		err := readWithin(from, most, mostEntries, "", func(fileEntry, error) { kept++ })
		if err == nil || from.read > most+2*maxLine || kept > mostEntries {
			t.Errorf("%s: %v after %d bytes and %d entries", name, err, from.read, kept)
		}
	}
	failing := errors.New("broken disk")
	if err := readFile(io.MultiReader(strings.NewReader("203.0.113.1\n"), &broken{failing}), "", func(fileEntry, error) {}); !errors.Is(err, failing) {
		t.Errorf("%v, want %v", err, failing)
	}
}

type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) { return 0, b.err }

// What is written is read back.
func TestRoundTrip(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	entries := []fileEntry{
		{Line: 1, Prefix: "203.0.113.1/32", Rule: "manual", Reason: `=cmd|'x'!A1, "quoted"`, Origin: "n1", Since: at, Until: at.Add(time.Hour)},
		{Line: 2, Prefix: "2001:db8::/32", Rule: "owner fail2ban", Owner: "fail2ban", Reason: "'=1", Since: at, Until: at.Add(time.Hour)},
		{Line: 3, Prefix: "198.51.100.0/24", Rule: "-x", Owner: "-x", Origin: "+n"},
	}
	for _, format := range []fileFormat{csvFile, jsonFile} {
		got, err := again(format, entries)
		want := slices.Clone(entries)
		if format == csvFile { // behind its columns
			for i := range want {
				want[i].Line++
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", format, got, err, want)
		}
	}
	if got, err := again(plainFile, entries); err != nil || len(got) != 3 || got[1] != (fileEntry{Line: 2, Prefix: "2001:db8::/32"}) {
		t.Errorf("plain: %+v, %v", got, err)
	}
}

// again writes entries and reads them.
func again(format fileFormat, entries []fileEntry) ([]fileEntry, error) {
	var file bytes.Buffer
	w := newFileWriter(&file, format)
	for _, e := range entries {
		if err := w.Write(e); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	wrong, got, err := read("", file.String())
	if len(wrong) != len(got) {
		return got, fmt.Errorf("wrong lines: %q", wrong)
	}
	return got, err
}

// No file makes readFile fail otherwise than by an error, and lines are counted from 1 in
// their order. What can be read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"203.0.113.1\n#x\n", "prefix,reason\n203.0.113.1,'=1\n", `{"prefix":"x","until":"2026-03-01T12:00:00Z"}`, "[{\"prefix\":\"x\"},\n{}]", "prefix;for\nx;1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := 1
		var entries []fileEntry
		_ = readFile(strings.NewReader(text), "", func(e fileEntry, err error) {
			if e.Line < line {
				t.Fatalf("line %d after %d", e.Line, line)
			}
			if line = e.Line; line > 1+strings.Count(text, "\n") {
				t.Fatalf("line %d", line)
			}
			if err == nil {
				if e.Prefix == "" {
					t.Fatal("an entry without a prefix")
				}
				e.Line, e.For = 0, ""
				entries = append(entries, e)
			}
		})
		got, err := again(jsonFile, entries)
		for i := range got {
			got[i].Line = 0
		}
		same := func(a, b fileEntry) bool {
			return a.Prefix == b.Prefix && a.Rule == b.Rule && a.Owner == b.Owner && a.Reason == b.Reason && a.Until.Equal(b.Until) && a.Since.Equal(b.Since)
		}
		valid := !slices.ContainsFunc(entries, func(e fileEntry) bool {
			return strings.ToValidUTF8(fmt.Sprint(e), "") != fmt.Sprint(e) || e.Until.Year() > 9999 || e.Until.Year() < 0 || e.Since.Year() > 9999 || e.Since.Year() < 0
		})
		if valid && (err != nil || !slices.EqualFunc(got, entries, same)) {
			t.Errorf("%+v became %+v, %v", entries, got, err)
		}
	})
}
