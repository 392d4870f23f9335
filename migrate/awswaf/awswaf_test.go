package awswaf_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/migrate"
	"edgeguard/migrate/awswaf"
	"edgeguard/migrate/migratetest"
)

func auto(data []byte) (*migrate.Report, error) { return awswaf.Import(data, awswaf.Auto) }

func TestExamples(t *testing.T) { migratetest.Examples(t, "testdata/*.json", auto) }

// Whatever is changed below Statement changes the rule, or has it refused: nothing is
// passed over. The same goes for each field that is added.
func TestNothingIsPassedOver(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, err := auto(data)
		if err != nil || len(before.Specs()) == 0 {
			continue
		}
		for change := 0; ; change++ {
			var tree any
			if err := json.Unmarshal(data, &tree); err != nil {
				t.Fatal(err)
			}
			left := change
			path := mutate(&tree, "", false, &left)
			if path == "" {
				break
			}
			changed, _ := json.Marshal(tree)
			after, err := auto(changed)
			if err == nil && rest(after) == rest(before) {
				t.Errorf("%s: %s was changed, and the result is the same", file, path)
			}
			changes++
		}
	}
	if changes < 100 {
		t.Errorf("%d changes were tried", changes)
	}
}

// rest returns what an import comes to.
func rest(r *migrate.Report) string { return r.YAML("a file") }

// passed are fields of which nothing is imported on purpose: the order of a single
// transformation.
var passed = map[string]bool{"Priority": true}

// mutate makes change number n below a rate-based statement, and returns where.
func mutate(v *any, path string, within bool, n *int) string {
	switch x := (*v).(type) {
	case map[string]any:
		if within {
			if *n--; *n < 0 {
				x["Added"] = 1
				return path + ".Added"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if passed[name] && within {
				continue
			}
			inner := x[name]
			where := mutate(&inner, path+"."+name, within || name == "RateBasedStatement", n)
			x[name] = inner
			if where != "" {
				return where
			}
		}
	case []any:
		for i := range x {
			if where := mutate(&x[i], fmt.Sprintf("%s[%d]", path, i), within, n); where != "" {
				return where
			}
		}
	case string:
		if *n--; within && *n < 0 {
			*v = x + "Z"
			return path
		} else if !within {
			*n++
		}
	case float64:
		if *n--; within && *n < 0 {
			*v = x + 60
			return path
		} else if !within {
			*n++
		}
	}
	return ""
}

// What nobody wrote in good faith is refused in words, and costs little.
func TestHostile(t *testing.T) {
	rule := func(name, scope string) string {
		quoted, _ := json.Marshal(name)
		return fmt.Sprintf(`{"Name": %s, "Priority": 1, "Action": {"Block": {}}, "Statement": {"RateBasedStatement": {"Limit": 10, "AggregateKeyType": "IP"%s}}}`, quoted, scope)
	}
	deep := strings.Repeat(`{"NotStatement": {"Statement": `, 40) + `{}` + strings.Repeat("}}", 40)
	for what, c := range map[string]struct{ data, says string }{
		"empty":          {"", "ends too early"},
		"no JSON":        {"rules: []", "line 1"},
		"half":           {`{"Rules": [`, "ends too early"},
		"two values":     {`[] []`, "more text follows"},
		"deep":           {strings.Repeat("[", 1_000_000), "nested"},
		"twice":          {`{"Rules": [], "Rules": []}`, "twice"},
		"latin":          {"[\"\xff\"]", "not UTF-8"},
		"another":        {`{"a": 1}`, "has no WebACL"},
		"many":           {"[" + strings.Repeat("{},", 600) + "{}]", "at most 500"},
		"huge":           {"[" + strings.Repeat("1,", 1_000_000) + "1]", "export less"},
		"large":          {strings.Repeat(" ", 5<<20), "larger"},
		"Terraform":      {`resource "aws_wafv2_web_acl" "x" {}`, "Terraform"},
		"CloudFormation": {"AWSTemplateFormatVersion: 2010-09-09\nResources: {}", "CloudFormation"},
	} {
		if _, err := auto([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, c := range map[string]struct{ data, says string }{
		"name":        {rule("a\n- name: b\u2028\u0000\x1b", ""), ""},
		"statements":  {rule("x", `, "ScopeDownStatement": {"AndStatement": {"Statements": [`+strings.Repeat(`{},`, 5000)+`{}]}}`), "NOT IMPORTED"},
		"nested":      {rule("x", `, "ScopeDownStatement": `+deep), "NOT IMPORTED"},
		"NUL":         {rule("x", `, "ScopeDownStatement": {"ByteMatchStatement": {"SearchString": "/a\u0000", "FieldToMatch": {"UriPath": {}}, "PositionalConstraint": "EXACTLY"}}`), "control characters"},
		"surrogate":   {rule("x", `, "ScopeDownStatement": {"ByteMatchStatement": {"SearchString": "/\ud800", "FieldToMatch": {"UriPath": {}}, "PositionalConstraint": "EXACTLY"}}`), "not UTF-8"},
		"number":      {strings.Replace(rule("x", ""), "10,", "1e400,", 1), "NOT IMPORTED"},
		"negative":    {strings.Replace(rule("x", ""), "10,", "-1,", 1), "NOT IMPORTED"},
		"mark":        {"\ufeff" + rule("x", ""), "name: x"},
		"no object":   {"[1, null, \"a\", []]", "NOT IMPORTED"},
		"odd actions": {strings.Replace(rule("x", ""), `"Block": {}`, `"Block": {}, "Count": {}`, 1), "NOT IMPORTED"},
		"allow":       {strings.Replace(rule("x", ""), `"Block"`, `"Allow"`, 1), "NOT IMPORTED"},
	} {
		report, err := auto([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		migratetest.Accepted(t, report)
		if text := report.YAML("f"); !strings.Contains(text, c.says) || len(text) > 20_000 {
			t.Errorf("%s:\n%.3000s", what, text)
		}
	}
}

func FuzzImport(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if report, err := auto(data); err == nil {
			migratetest.Accepted(t, report)
		}
	})
}
