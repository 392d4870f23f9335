package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// What a receiver is sent as a text of an operator's form: Go's text/template, restricted so
// that a template reads nothing but the batch, ends soon and makes a bounded text.

// Bounds of a template.
const (
	mostTemplate = 16 << 10  // bytes of the template
	mostOutput   = 256 << 10 // bytes that it makes
	mostValue    = 64 << 10  // bytes that a function returns
	mostSteps    = 5000      // turns of its loops and calls of its functions, a batch
)

// allowed are the functions that a template may call. The others of text/template are
// left out: printf makes a megabyte of a width, print doubles a text as often as it is
// called, and call and the rest have no use here.
var allowed = []string{"and", "or", "not", "len", "index", "eq", "ne", "lt", "le", "gt", "ge", "json", "query", "html", "join"}

// stepName is the function that counts the turns of a loop. It is put into loops after
// the template's own functions were looked at.
const stepName = "step_"

// Template is a form of a receiver. It is safe for concurrent use.
type Template struct{ parsed *template.Template }

// ParseTemplate reads a template.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > mostTemplate {
		return nil, fmt.Errorf("the template has more than %d KiB; shorten it", mostTemplate>>10)
	}
	parsed, err := template.New("template").Option("missingkey=error").Funcs((&run{}).functions()).Parse(text)
	if err != nil {
		return nil, plain(err)
	}
	if len(parsed.Templates()) > 1 || parsed.Tree == nil {
		return nil, errors.New("a template that defines others is not supported; write it as one")
	}
	if err := restrict(parsed.Root); err != nil {
		return nil, err
	}
	return &Template{parsed}, nil
}

// restrict refuses what a template may not do, and has each loop count its turns.
func restrict(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return each(n.Nodes)
	case *parse.ActionNode:
		return restrict(n.Pipe)
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	case *parse.RangeNode:
		err := branch(&n.BranchNode)
		n.List.Nodes = slices.Insert(n.List.Nodes, 0, parse.Node(counter(n)))
		return err
	case *parse.TemplateNode:
		return fmt.Errorf("line %d: {{template}} is not supported; write it as one template", n.Line)
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		for _, c := range n.Cmds {
			if err := each(c.Args); err != nil {
				return err
			}
		}
	case *parse.IdentifierNode:
		if !slices.Contains(allowed, n.Ident) {
			return fmt.Errorf("the function %s is not supported; use one of %s", n.Ident, strings.Join(allowed, ", "))
		}
	case *parse.ChainNode:
		return restrict(n.Node)
	}
	return nil
}

func each(all []parse.Node) error {
	for _, n := range all {
		if err := restrict(n); err != nil {
			return err
		}
	}
	return nil
}

func branch(b *parse.BranchNode) error {
	return errors.Join(restrict(b.Pipe), restrict(b.List), restrict(b.ElseList))
}

// counter returns an action that counts one turn of a loop. Its nodes are copies of the
// loop's, which have their place in the text for an error.
func counter(loop *parse.RangeNode) *parse.ActionNode {
	pipe := loop.Pipe.CopyPipe()
	pipe.Decl, pipe.IsAssign = nil, false
	command := pipe.Cmds[0]
	command.Args = []parse.Node{parse.NewIdentifier(stepName).SetPos(loop.Pos)}
	pipe.Cmds = []*parse.CommandNode{command}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: loop.Pos, Line: loop.Line, Pipe: pipe}
}

// Render returns a batch in the template's form.
func (t *Template) Render(b *Batch) ([]byte, error) {
	clone, err := t.parsed.Clone()
	if err != nil {
		return nil, err
	}
	var out bounded
	if err := clone.Funcs((&run{}).functions()).Execute(&out, b); err != nil {
		return nil, plain(err)
	}
	return out.Bytes(), nil
}

// errLong is returned for a template that makes too much.
var errLong = fmt.Errorf("it makes more than %d KiB; shorten it", mostOutput>>10)

// bounded is a text of at most mostOutput bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostOutput {
		return 0, errLong
	}
	return b.Buffer.Write(p)
}

// run is one use of a template.
type run struct{ steps int }

// step counts a turn of a loop or a call of a function.
func (r *run) step() (string, error) {
	if r.steps++; r.steps > mostSteps {
		return "", fmt.Errorf("its loops make more than %d turns; simplify it", mostSteps)
	}
	return "", nil
}

// text returns what a function made, if it is not too long.
func (r *run) text(made string) (string, error) {
	if len(made) > mostValue {
		return "", fmt.Errorf("a value has more than %d KiB", mostValue>>10)
	}
	return made, nil
}

// functions returns the functions of a template beside those of text/template.
func (r *run) functions() template.FuncMap {
	of := func(does func(string) string) func(string) (string, error) {
		return func(s string) (string, error) {
			if _, err := r.step(); err != nil {
				return "", err
			}
			return r.text(does(s))
		}
	}
	return template.FuncMap{
		stepName: r.step,
		"query":  of(url.QueryEscape),
		"html":   of(template.HTMLEscapeString),
		"json": func(v any) (string, error) {
			if _, err := r.step(); err != nil {
				return "", err
			}
			made, err := json.Marshal(v)
			if err != nil {
				return "", err
			}
			return r.text(string(made))
		},
		"join": func(all []string, between string) (string, error) {
			if _, err := r.step(); err != nil {
				return "", err
			}
			return r.text(strings.Join(all, between))
		},
	}
}

// plain returns an error of text/template without its own names.
func plain(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: template:")
	text = strings.TrimPrefix(text, "template: ")
	text = strings.ReplaceAll(text, `executing "template" at `, "at ")
	return errors.New(text)
}

// Check renders a sample, with texts as hostile as messages can have them. The error says
// what is wrong with the template; asJSON says that it has to make JSON.
func (t *Template) Check(asJSON bool) error {
	for _, b := range samples() {
		made, err := t.Render(b)
		if err != nil {
			return err
		}
		if asJSON && !json.Valid(made) {
			return fmt.Errorf("it does not make JSON of a %s: write {{json .Text}} and not \"{{.Text}}\", or set content_type", b.Messages[0].Kind)
		}
	}
	return nil
}
