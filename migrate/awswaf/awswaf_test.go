package awswaf_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/migrate"
	"edgeguard/migrate/awswaf"
	"edgeguard/migrate/migratetest"
)

func auto(data []byte) (*migrate.Report, error) { return awswaf.Import(data, awswaf.Auto) }

func TestExamples(t *testing.T) {
	migratetest.Examples(t, "testdata/*.json", auto)
	migratetest.Examples(t, "testdata/*.tf", auto)
}

// Whatever is changed below Statement changes the result, or has the rule refused. The
// order of a single transformation changes nothing.
func TestNothingIsPassedOver(t *testing.T) {
	migratetest.NothingIsPassedOver(t, "testdata/*.json", "RateBasedStatement", auto, "Priority")
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
		"its JSON":       {`{"resource": {"aws_wafv2_web_acl": {}}}`, "Terraform"},
		"a plan":         {`{"format_version": "1.2", "planned_values": {"root_module": {"resources": [{"type": "aws_wafv2_web_acl"}]}}}`, "Terraform"},
		"a resource":     {`{"SampleWebACL": {"Type": "AWS::WAFv2::WebACL", "Properties": {"Rules": []}}}`, "CloudFormation"},
		"classic":        {`{"Rule": {"RuleId": "x", "RateKey": "IP", "RateLimit": 2000, "MatchPredicates": []}}`, "Classic"},
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
		"addresses":   {strings.Replace(rule("x", `, "CustomKeys": [{"IP": {}}, {"ForwardedIP": {}}], "ForwardedIPConfig": {"HeaderName": "X-Forwarded-For", "FallbackBehavior": "MATCH"}`), `"IP",`, `"CUSTOM_KEYS",`, 1), "two addresses"},
		"allow":       {strings.Replace(rule("x", ""), `"Block"`, `"Allow"`, 1), "NOT IMPORTED"},
	} {
		report, err := auto([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		migratetest.Accepted(t, report)
		if text := report.ConfigText("f"); !strings.Contains(text, c.says) || len(text) > 20_000 {
			t.Errorf("%s:\n%.3000s", what, text)
		}
	}
}

// A search string that is no text does not make the others of an answer of the API plain.
func TestSearchStringOfBytes(t *testing.T) {
	match := func(text string) string {
		return `{"ByteMatchStatement": {"SearchString": "` + text + `", "FieldToMatch": {"SingleHeader": {"Name": "user-agent"}}, "TextTransformations": [{"Priority": 0, "Type": "NONE"}], "PositionalConstraint": "CONTAINS"}}`
	}
	rule := func(name, statement string) string {
		return `{"Name": "` + name + `", "Action": {"Block": {}}, "Statement": {"RateBasedStatement": {"Limit": 10, "AggregateKeyType": "IP", "ScopeDownStatement": ` + statement + `}}}`
	}
	for end, want := range map[string]string{`, "LockToken": "x"`: `when: "agent contains \"Mozilla\""`, ``: "say it with --search-strings"} {
		report, err := auto([]byte(`{"WebACL": {"Rules": [` + rule("a", match("TW96aWxsYQ==")) + "," + rule("b", match("AAE=")) + `]}` + end + `}`))
		if err != nil {
			t.Fatal(err)
		}
		text := report.ConfigText("f")
		if !strings.Contains(text, want) || !strings.Contains(text, `NOT IMPORTED: rule "b"`) {
			t.Errorf("%s: %s", end, text)
		}
	}
}

// Many long names are not repeated beside each rule.
func TestMost(t *testing.T) {
	var rules []string
	for i := range 500 {
		name, statement := strings.Repeat("n", 6000), `"GeoMatchStatement": {}`
		if i%2 == 1 {
			statement = `"RateBasedStatement": {"Limit": 10, "AggregateKeyType": "IP"}`
		}
		rules = append(rules, fmt.Sprintf(`{"Name": "%s%d", "Priority": %d, "Action": {"Block": {}}, "Statement": {%s}}`, name, i, i, statement))
	}
	report, err := auto([]byte("[" + strings.Join(rules, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Accepted(t, report)
	if text := report.ConfigText("f"); len(report.Specs()) != 250 || len(text) > 1_000_000 {
		t.Errorf("%d rules, %d bytes", len(report.Specs()), len(text))
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
