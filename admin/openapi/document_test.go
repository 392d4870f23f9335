package openapi_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/openapi"
	"edgeguard/admin/server"
)

// noMetrics answers nothing.
type noMetrics struct{ http.Handler }

func (noMetrics) Refused(string) {}

// routes are those of a real server.
func routes(t *testing.T) []string {
	t.Helper()
	s, err := server.New(server.Config{View: admin.NewView(nil, nil), Metrics: noMetrics{http.NotFoundHandler()}})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(s.Routes(), func(route string) bool { return route == "GET /" })
}

// described returns the document of the server's routes.
func described(t *testing.T) map[string]value {
	t.Helper()
	text, err := openapi.Document(routes(t))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func parse(t *testing.T, text []byte) map[string]value {
	t.Helper()
	var document map[string]value
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// operationsOf returns the operations of a document by their routes.
func operationsOf(document map[string]value) map[string]map[string]value {
	all := make(map[string]map[string]value)
	for path, methods := range document["paths"].(map[string]value) {
		for method, operation := range methods.(map[string]value) {
			all[strings.ToUpper(method)+" "+path] = operation.(map[string]value)
		}
	}
	return all
}

// Every route of the server is in the document, and the other way round. A new
// one is there by itself, and this test asks for its types.
func TestEveryRouteIsDescribed(t *testing.T) {
	operations, ids := operationsOf(described(t)), make(map[string]bool)
	all := routes(t)
	if len(operations) != len(all) {
		t.Errorf("%d operations, %d routes", len(operations), len(all))
	}
	for _, route := range all {
		o := operations[strings.ReplaceAll(route, "...}", "}")]
		id, _ := o["operationId"].(string)
		if id == "" || ids[id] || o["summary"] == "" {
			t.Errorf("%s has no summary or no id of its own: add a row to admin/openapi/operations.go", route)
		}
		ids[id] = true
	}
	for _, route := range openapi.Described() {
		if !slices.Contains(all, route) {
			t.Errorf("admin/openapi/operations.go has %s, which is not a route", route)
		}
	}
}

// A route without a row is in the document, with its parameters and problems.
func TestUnknownRoute(t *testing.T) {
	text, err := openapi.Document([]string{"GET /api/v1/new/{name}/{prefix...}", "GET /"})
	if err != nil {
		t.Fatal(err)
	}
	operations := operationsOf(parse(t, text))
	o := operations["GET /api/v1/new/{name}/{prefix}"]
	if len(operations) != 1 || len(o["parameters"].([]value)) != 2 || o["responses"].(map[string]value)["default"] == nil {
		t.Errorf("%v", operations)
	}
}

// References resolve, and every part of a path is a parameter.
func TestDocumentIsWhole(t *testing.T) {
	document := described(t)
	v := &validator{document}
	walk(document, func(o map[string]value) {
		if ref, ok := o["$ref"].(string); ok && v.resolve(ref) == nil {
			t.Errorf("%s does not exist", ref)
		}
	})
	for route, o := range operationsOf(document) {
		declared, _ := o["parameters"].([]value)
		for _, p := range declared {
			p := p.(map[string]value)
			if p["schema"] == nil || p["description"] == nil {
				t.Errorf("%s: the parameter %v has no schema or description", route, p["name"])
			}
			if p["in"] == "path" != strings.Contains(route, "{"+p["name"].(string)+"}") {
				t.Errorf("%s: the parameter %v is not in the path", route, p["name"])
			}
		}
	}
}

func walk(at value, do func(map[string]value)) {
	switch at := at.(type) {
	case map[string]value:
		do(at)
		for _, part := range at {
			walk(part, do)
		}
	case []value:
		for _, part := range at {
			walk(part, do)
		}
	}
}

// What encoding/json writes of each type, with every field filled and with none,
// is what its schema says.
func TestSchemasAreOfTheTypes(t *testing.T) {
	document := described(t)
	v := &validator{document}
	components := document["components"].(map[string]value)["schemas"].(map[string]value)
	for _, example := range []value{
		admin.Health{}, admin.Readiness{}, admin.Stats{}, admin.Reloaded{}, admin.BlockPage{}, admin.ActiveBlock{}, admin.Block{}, admin.HeldPage{}, admin.Confirmed{},
		admin.AllowanceList{}, admin.Allowance{}, admin.Explanation{}, admin.KeyExplanation{}, admin.RuleList{}, admin.RuleDetail{}, admin.Top{}, admin.FleetDetail{},
		admin.Signed{}, admin.Event{}, call.Problem{},
		admin.BlockRequest{}, admin.ExtendRequest{}, admin.AllowRequest{}, admin.ConfirmRequest{}, admin.SignRequest{},
	} {
		full := reflect.New(reflect.TypeOf(example)).Elem()
		fill(full, 0)
		name := full.Type().Name()
		schema, ok := components[name].(map[string]value)
		if !ok {
			t.Errorf("%s is not in the document", name)
			continue
		}
		text, err := json.Marshal(full.Interface())
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range v.check(name, schema, parse(t, text)) {
			t.Error(wrong)
		}
	}
}

// fill sets every exported field to something, at most some levels deep.
func fill(v reflect.Value, deep int) {
	switch v.Addr().Interface().(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
		return
	case *netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("203.0.113.0/24")))
		return
	case *netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("203.0.113.7")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), deep)
			}
		}
	case reflect.Pointer:
		if deep < 4 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), deep+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), deep+1)
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(one, deep+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), one)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
