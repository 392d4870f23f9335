package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Bounds on a text.
const (
	maxJSON   = 4 << 20
	maxDepth  = 100
	maxValues = 200_000
)

// JSONValue is a value of a text, which knows which of its fields were asked for: a
// reader that does not know a field cannot pass over it unnoticed. The methods of a nil value return nothing.
type JSONValue struct {
	kind   byte // '{', '[', '"', '0', 't' or 'n'
	text   string
	truth  bool
	names  []string
	fields map[string]*JSONValue
	items  []*JSONValue
	asked  bool // for this value, or as which it was asked for
}

// ParseJSON reads one text. It refuses a name that is given twice: readers differ in which of
// the two they use.
func ParseJSON(data []byte) (*JSONValue, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxJSON:
		return nil, fmt.Errorf("is larger than %d bytes: export less at a time", maxJSON)
	case !utf8.Valid(data):
		return nil, errors.New("is not UTF-8 text: save it as UTF-8")
	}
	p := parser{json: json.NewDecoder(bytes.NewReader(data)), left: maxValues}
	p.json.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, p.at(data, err)
	}
	if _, err := p.json.Token(); !errors.Is(err, io.EOF) {
		return nil, p.at(data, errors.New("more text follows the first value"))
	}
	return v, nil
}

type parser struct {
	json *json.Decoder
	left int // how many values may still be read
}

// at adds the line to an error.
func (p *parser) at(data []byte, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	offset := min(int(p.json.InputOffset()), len(data))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:offset], []byte("\n")), err)
}

func (p *parser) value(depth int) (*JSONValue, error) {
	token, err := p.json.Token()
	if err != nil {
		return nil, err
	}
	if p.left--; p.left < 0 {
		return nil, fmt.Errorf("has more than %d values: export less at a time", maxValues)
	}
	switch t := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return nil, fmt.Errorf("is nested more than %d levels deep", maxDepth)
		}
		if t == '{' {
			return p.object(depth)
		}
		return p.list(depth)
	case string:
		return &JSONValue{kind: '"', text: t}, nil
	case json.Number:
		return &JSONValue{kind: '0', text: t.String()}, nil
	case bool:
		return &JSONValue{kind: 't', truth: t}, nil
	}
	return &JSONValue{kind: 'n'}, nil
}

func (p *parser) object(depth int) (*JSONValue, error) {
	v := &JSONValue{kind: '{', fields: map[string]*JSONValue{}}
	for p.json.More() {
		token, err := p.json.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder lets nothing else stand here
		if _, twice := v.fields[name]; twice {
			return nil, fmt.Errorf("the name %.40q is given twice in one object", name)
		}
		field, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.names, v.fields[name] = append(v.names, name), field
	}
	_, err := p.json.Token()
	return v, err
}

func (p *parser) list(depth int) (*JSONValue, error) {
	v := &JSONValue{kind: '['}
	for p.json.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := p.json.Token()
	return v, err
}

// Names returns the names of an object's fields, in their order.
func (v *JSONValue) Names() []string {
	if v == nil {
		return nil
	}
	return v.names
}

// IsList reports whether the value is a list.
func (v *JSONValue) IsList() bool { return v != nil && v.kind == '[' }

// Field returns a field of an object, nil if there is none, or it is null. It is asked
// for then; what is in it is not.
func (v *JSONValue) Field(name string) *JSONValue {
	if v == nil || v.fields[name] == nil {
		return nil
	}
	v.asked = true
	f := v.fields[name]
	if f.kind == 'n' || f.empty() {
		f.asked = true
	}
	if f.kind == 'n' {
		return nil
	}
	return f
}

func (v *JSONValue) empty() bool {
	return v.kind != 't' && len(v.names) == 0 && len(v.items) == 0 && v.text == ""
}

// SkipFields marks a field as one that changes nothing, with all that is in it.
func (v *JSONValue) SkipFields(names ...string) {
	for _, name := range names {
		if f := v.Field(name); f != nil {
			f.skip()
		}
	}
}

func (v *JSONValue) skip() {
	v.asked = true
	for _, f := range v.fields {
		f.skip()
	}
	for _, item := range v.items {
		item.skip()
	}
}

// Items returns the values of a list.
func (v *JSONValue) Items() []*JSONValue {
	if v == nil || v.kind != '[' {
		return nil
	}
	v.asked = true
	return v.items
}

// Text returns a text.
func (v *JSONValue) Text() (text string, ok bool) {
	if v == nil || v.kind != '"' {
		return "", false
	}
	v.asked = true
	return v.text, true
}

// Truth returns a truth value.
func (v *JSONValue) Truth() (truth, ok bool) {
	if v == nil || v.kind != 't' {
		return false, false
	}
	v.asked = true
	return v.truth, true
}

// Whole returns a whole number from 0 to the most that is given.
func (v *JSONValue) Whole(most uint32) (n uint32, ok bool) {
	if v == nil || v.kind != '0' {
		return 0, false
	}
	wide, err := strconv.ParseUint(v.text, 10, 32)
	if err != nil || wide > uint64(most) {
		return 0, false
	}
	v.asked = true
	return uint32(wide), true
}

// mostUnread bounds what Unread returns.
const mostUnread = 5

// Unread returns the paths of what was not asked for, at most a few.
func (v *JSONValue) Unread() []string {
	var all []string
	v.unread("", &all)
	return all
}

func (v *JSONValue) unread(path string, all *[]string) {
	if v == nil || len(*all) >= mostUnread {
		return
	}
	if !v.asked {
		*all = append(*all, path)
		return
	}
	for _, name := range v.names {
		below := name
		if path != "" {
			below = path + "." + name
		}
		v.fields[name].unread(below, all)
	}
	for i, item := range v.items {
		item.unread(fmt.Sprintf("%s[%d]", path, i), all)
	}
}

// EachText calls do with every text of a name, however deep it lies. It asks for nothing.
func (v *JSONValue) EachText(name string, do func(text string)) {
	if v == nil {
		return
	}
	if f := v.fields[name]; f != nil && f.kind == '"' {
		do(f.text)
	}
	for _, n := range v.names {
		v.fields[n].EachText(name, do)
	}
	for _, item := range v.items {
		item.EachText(name, do)
	}
}
