// Package openapi describes the admin API as an OpenAPI 3.1 document, of which
// programs make clients.
//
// It is made of the routes that the server has and of the Go types that they
// read and send: a new field is in it without an edit, and so is a new route,
// without its types. What the types cannot say, a summary and the names of
// parameters, is in operations.go; a test compares that with a running node.
package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/call"
)

// Document returns the document of these routes, each a method and a pattern of
// http.ServeMux, such as "GET /api/v1/blocks/{prefix...}".
func Document(routes []string) ([]byte, error) {
	d := &document{
		answers:  schemas{components: object{}, named: map[reflect.Type]bool{}},
		requests: schemas{components: object{}, named: map[reflect.Type]bool{}, closed: true},
		paths:    object{},
	}
	d.answers.of(reflect.TypeFor[admin.Event]()) // of the stream
	d.answers.of(reflect.TypeFor[call.Problem]())
	for _, route := range routes {
		d.add(route)
	}
	for name, schema := range d.requests.components {
		if d.answers.components[name] != nil {
			return nil, fmt.Errorf("openapi: %s is a type of a request and of an answer; use two types", name)
		}
		d.answers.components[name] = schema
	}
	return json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "edgeguard admin API", "version": "v1",
			"description": "Reads and changes one running node: blocks, allowances, explanations, rules, events, metrics, health. docs/api.md is its reference.",
		},
		"paths": d.paths,
		// A unix socket needs no token.
		"security": []any{object{}, object{"token": []string{}}},
		"components": object{
			"schemas":         d.answers.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"responses": object{"Problem": object{
				"description": "What is wrong, where, and the fix (RFC 9457)",
				"content":     object{"application/problem+json": object{"schema": d.answers.of(reflect.TypeFor[call.Problem]())}},
			}},
		},
	})
}

// document is one that is being made.
type document struct {
	answers, requests schemas
	paths             object
}

// add describes a route, but for the one of all paths that do not exist.
func (d *document) add(route string) {
	method, pattern, _ := strings.Cut(route, " ")
	if pattern == "/" {
		return
	}
	path := strings.ReplaceAll(pattern, "...}", "}")
	methods, ok := d.paths[path].(object)
	if !ok {
		methods = object{}
		d.paths[path] = methods
	}
	methods[strings.ToLower(method)] = d.operation(operations[route], path)
}

func (d *document) operation(o operation, path string) object {
	described := object{"responses": d.responses(&o)}
	if o.id != "" {
		described["operationId"], described["summary"] = o.id, o.summary
	}
	if o.body != nil {
		described["requestBody"] = object{"required": true, "content": object{
			"application/json": object{"schema": d.requests.of(reflect.TypeOf(o.body))},
		}}
	}
	all := []any{}
	for _, name := range inPath(path) {
		all = append(all, parameter(name, name, object{"in": "path", "required": true}))
	}
	for _, name := range o.query {
		all = append(all, parameter(name, "?"+name, object{"in": "query"}))
	}
	if len(all) > 0 {
		described["parameters"] = all
	}
	return described
}

// responses returns what an operation answers. Any can fail, by its policy or
// by its request.
func (d *document) responses(o *operation) object {
	problem := object{"$ref": "#/components/responses/Problem"}
	all := object{"default": problem}
	for _, status := range o.fails {
		all[strconv.Itoa(status)] = problem
	}
	success := object{"description": "success"}
	switch {
	case o.answer != nil:
		content := object{"application/json": object{"schema": d.answers.of(reflect.TypeOf(o.answer))}}
		for _, media := range o.exports {
			content[media] = object{}
		}
		success["content"] = content
	case o.media != "":
		success["content"] = object{o.media: object{}}
	}
	all[strconv.Itoa(max(o.status, 200))] = success
	if o.also != 0 {
		all[strconv.Itoa(o.also)] = success
	}
	return all
}

// parameter returns a parameter by its name in the table, with what its place
// says of it.
func parameter(name, known string, place object) object {
	p := object{"name": name, "schema": object{"type": "string"}}
	for _, part := range []object{parameters[known], place} {
		for key, value := range part {
			p[key] = value
		}
	}
	return p
}

// inPath returns the names of a path's parameters.
func inPath(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	slices.Sort(names)
	return names
}
