package blocks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// listed is an object of a file: an entry, with what the API's list says beside it, which
// makes no difference to a block. Any other field is an error: a mistyped "until" would
// change the end.
type listed struct {
	fileEntry
	Count       json.RawMessage `json:"count"`
	Limit       json.RawMessage `json:"limit"`
	Proxied     json.RawMessage `json:"proxied"`
	Refused     json.RawMessage `json:"refused"`
	LastRefused json.RawMessage `json:"last_refused"`
	RefusedBy   json.RawMessage `json:"refused_by"`
}

// objectEntry reads one object.
func objectEntry(text string) (fileEntry, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var l listed
	if err := decoder.Decode(&l); err != nil {
		return fileEntry{}, worded(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fileEntry{}, errors.New("text after the object: use one object a line, or an array")
	}
	if l.Prefix == "" {
		return fileEntry{}, errNothing
	}
	return l.fileEntry, nil
}

// worded returns why an object cannot be read.
func worded(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: expected a text, got a %s", strings.TrimPrefix(kind.Field, "fileEntry."), kind.Value)
	case strings.HasPrefix(err.Error(), `json: unknown field "blocks"`):
		return errors.New("this is a page of the API, of many: use `edgeguard blocks export`, or the array in its field blocks")
	}
	return errors.New(clip(strings.TrimPrefix(err.Error(), "json: ")))
}

// readArray reads an array of objects.
func readArray(in io.Reader, each func(fileEntry, error) error) error {
	from := &counted{from: bufio.NewReader(in), line: 1}
	decoder := json.NewDecoder(from)
	from.allowed = maxLine
	if _, err := decoder.Token(); err != nil {
		return from.fault(decoder, err)
	}
	for {
		from.allowed = decoder.InputOffset() + maxLine
		if !decoder.More() {
			break
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return from.fault(decoder, err)
		}
		e, err := objectEntry(string(raw))
		e.Line = from.lineOf(decoder.InputOffset() - int64(len(raw)))
		if err := each(e, err); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return from.fault(decoder, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return from.fault(decoder, errors.New("text after the array"))
	}
	return nil
}

// counted is a reader that knows where lines end, and fails where one value is too long.
type counted struct {
	from    io.Reader
	read    int64
	allowed int64   // to be read, from the beginning
	ends    []int64 // of the lines that end in what is read and not yet passed
	line    int     // the line at what is passed
}

func (c *counted) Read(p []byte) (int, error) {
	left := c.allowed - c.read
	if left <= 0 {
		return 0, errLong
	}
	n, err := c.from.Read(p[:min(int64(len(p)), left)])
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		c.ends = append(c.ends, c.read+int64(n-len(rest)+i))
		rest = rest[i+1:]
	}
	c.read += int64(n)
	return n, err
}

// lineOf returns the line at an offset, which is not before that of the last call.
func (c *counted) lineOf(offset int64) int {
	passed := 0
	for passed < len(c.ends) && c.ends[passed] < offset {
		passed++
	}
	c.line += passed
	c.ends = c.ends[passed:]
	return c.line
}

// fault returns where and why the array cannot be read on.
func (c *counted) fault(decoder *json.Decoder, err error) error {
	if errors.Is(err, errLarge) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the array has no end")
	}
	return fmt.Errorf("line %d: %w", c.lineOf(decoder.InputOffset()), err)
}
