package blocks

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// fileFormat is how a file of blocks is written. Anybody may have written it, so it is
// read piece by piece, within bounds.
type fileFormat string

// The formats. Plain is an address or prefix a line, with comments; it has no ends.
const (
	plainFile fileFormat = "plain"
	csvFile   fileFormat = "csv"
	jsonFile  fileFormat = "json"
)

// fileFormats are all of them.
var fileFormats = []fileFormat{plainFile, csvFile, jsonFile}

// Bounds of a file that is read, in bytes and in entries.
const (
	maxFile    = 64 << 20
	maxLine    = 64 << 10
	maxEntries = 500_000
)

// fileEntry is one block of a file. What the file does not say is empty.
type fileEntry struct {
	Line   int       `json:"-"`
	Prefix string    `json:"prefix"`
	Rule   string    `json:"rule,omitempty"`
	Owner  string    `json:"owner,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Origin string    `json:"origin,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	For    string    `json:"for,omitempty"`
}

var (
	errLarge   = fmt.Errorf("the file is larger than %d MiB: split it", maxFile>>20)
	errMany    = fmt.Errorf("the file has more than %d entries: split it", maxEntries)
	errLong    = fmt.Errorf("longer than %d KiB", maxLine>>10)
	errNothing = errors.New("no prefix")
	errArray   = errors.New("an array is not read: use one object a line, as `jq -c '.[]'` prints them")
)

// readFile calls each with each entry of a file, or with why it cannot be read; Line is set
// in both cases. An empty format is recognised by the first bytes. The error is one after
// which nothing more can be read.
func readFile(from io.Reader, format fileFormat, each func(fileEntry, error)) error {
	return readWithin(from, maxFile, maxEntries, format, each)
}

// readWithin is readFile with bounds in bytes and in entries.
func readWithin(from io.Reader, most int64, mostEntries int, format fileFormat, each func(fileEntry, error)) error {
	in := bufio.NewReaderSize(&bounded{from: from, left: most}, maxLine)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	if format == "" {
		format = recognise(in)
	}
	entries := 0
	counted := func(e fileEntry, err error) error {
		if entries++; entries > mostEntries {
			return errMany
		}
		each(e, err)
		return nil
	}
	switch {
	case format == csvFile:
		return readTable(in, counted)
	case format == jsonFile && first(in) == '[':
		return errArray
	case format == jsonFile:
		return readLines(in, counted, objectEntry)
	}
	return readLines(in, counted, plainEntry)
}

// recognise returns the format of a file: JSON begins with a bracket, and a table with
// the names of its columns.
func recognise(in *bufio.Reader) fileFormat {
	switch first(in) {
	case '[', '{':
		return jsonFile
	}
	start, _ := in.Peek(maxLine)
	head, _, _ := bytes.Cut(start, []byte("\n"))
	if cells, err := split(string(head), separator(string(head))); err == nil && slices.ContainsFunc(cells, func(c string) bool { return column(c) == "prefix" }) {
		return csvFile
	}
	return plainFile
}

// first returns the first byte that is no white space; 0 if there is none near.
func first(in *bufio.Reader) byte {
	start, _ := in.Peek(maxLine)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) > 0 {
		return start[0]
	}
	return 0
}

// readLines reads an entry a line.
func readLines(in *bufio.Reader, each func(fileEntry, error) error, parse func(string) (fileEntry, error)) error {
	return lines(in, func(number int, text string, err error) error {
		var e fileEntry
		if err == nil {
			if text = strings.TrimSpace(text); text == "" {
				return nil
			}
			e, err = parse(text)
		}
		if err == nil && e == (fileEntry{}) {
			return nil // a comment
		}
		e.Line = number
		return each(e, err)
	})
}

// lines calls each with each line without its end. One that is too long is skipped to
// its end, and is an error.
func lines(in *bufio.Reader, each func(number int, text string, err error) error) error {
	for number := 1; ; number++ {
		text, err := in.ReadSlice('\n')
		var long error
		content := string(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			long = errLong
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if content != "" {
			if long != nil {
				content = ""
			}
			if failed := each(number, strings.TrimRight(content, "\r\n"), long); failed != nil {
				return failed
			}
		}
		if err != nil {
			return nil
		}
	}
}

// plainEntry reads a line of a plain file. Comments begin with # or ;.
func plainEntry(text string) (fileEntry, error) {
	if i := strings.IndexAny(text, "#;"); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	return fileEntry{Prefix: text}, nil
}

// readTable reads a table with the names of its columns in the first line. A row is one
// line: no text of a block has a line break.
func readTable(in *bufio.Reader, each func(fileEntry, error) error) error {
	var columns []string
	comma := ','
	return lines(in, func(number int, text string, err error) error {
		if strings.TrimSpace(text) == "" && err == nil {
			return nil
		}
		if columns == nil {
			if comma = separator(text); err == nil {
				columns, err = readHeader(text, comma)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			return nil
		}
		var e fileEntry
		if err == nil {
			e, err = rowEntry(text, comma, columns)
		}
		e.Line = number
		return each(e, err)
	})
}

// separator returns what is between the cells of a table: some spreadsheets write
// semicolons.
func separator(head string) rune {
	if strings.Contains(head, ";") && !strings.Contains(head, ",") {
		return ';'
	}
	return ','
}

// split returns the cells of a row.
func split(text string, comma rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord = comma, -1
	cells, err := r.Read()
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("column %d: %w", wrong.Column, wrong.Err)
	}
	return cells, err
}

// bounded is a reader that fails after a number of bytes.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, err
}
