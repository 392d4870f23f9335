package blocks

import (
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
		return fileEntry{}, errors.New("text after the object: use one object a line")
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
		return errors.New("this is a page of the API, of many: use `edgeguard blocks export`, or one object a line, as `jq -c '.blocks[]'` prints them")
	}
	return errors.New(clip(strings.TrimPrefix(err.Error(), "json: ")))
}
