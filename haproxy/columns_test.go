package haproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/rules"
)

func compile(t testing.TB, specs ...rules.Spec) *rules.Set {
	t.Helper()
	for i := range specs {
		if specs[i].Name == "" {
			specs[i].Name = fmt.Sprintf("r%d", i)
		}
		if specs[i].Threshold == 0 {
			specs[i].Threshold = 100
		}
	}
	set, problems := rules.Compile(specs)
	if problems != nil {
		t.Fatal(problems)
	}
	return set
}

var (
	site  = rules.Spec{Name: "site"}
	login = rules.Spec{Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login.php", "/xmlrpc.php"}}}
	probe = rules.Spec{Name: "probe", Match: rules.Match{Status: []string{"404", "403"}, Path: []string{"/a*"}}, Cost: 3}
)

func TestEvery(t *testing.T) {
	if i, ok := ColumnsOf(compile(t, login, site, probe)).Every(); i != 1 || !ok {
		t.Errorf("column %d, %t", i, ok)
	}
	if _, ok := ColumnsOf(compile(t, login, probe)).Every(); ok {
		t.Error("a column that counts some requests is taken for one that counts all")
	}
}

func TestColumns(t *testing.T) {
	c := ColumnsOf(compile(t, site, login, probe))
	got := c.Declaration() + c.Frontend(ConfigPlace{Peers: "edgeguard", Slot: 2})
	want := `table counts_DIGEST type ipv6 size 1m expire 10m store gpc(3)
http-request track-sc2 src,ipmask(32,64) table edgeguard/counts_DIGEST
http-request set-var(txn.eg_method) method,upper
http-request set-var(txn.eg_path) path
http-request set-var(txn.eg_path) str(/) if !{ var(txn.eg_path) -m found }
http-request set-var(txn.eg_path) 'var(txn.eg_path)DECODE' if { var(txn.eg_path) -m sub % }
http-request set-var(txn.eg_path) 'var(txn.eg_path)RESOLVE' if { var(txn.eg_path) -m sub // /. }
acl eg_deep var(txn.eg_path) -m sub /../
# 0: site
http-request sc-inc-gpc(0,2)
# 1: login
acl eg_1_method var(txn.eg_method) -m str -- 'POST'
acl eg_1_path var(txn.eg_path) -m str -- '/wp-login.php' '/xmlrpc.php'
http-request sc-inc-gpc(1,2) if eg_1_method eg_1_path or eg_1_method eg_deep
# 2: probe
acl eg_2_path var(txn.eg_path) -m beg -- '/a'
http-request set-var(txn.eg_2) bool(true) if eg_2_path or eg_deep
http-response sc-inc-gpc(2,2) if { var(txn.eg_2) -m bool } { status 403:404 }
`
	got = strings.NewReplacer(c.Digest, "DIGEST", decodePath, "DECODE", splitPath+strings.Repeat(dotdot, dotdots)+joinPath, "RESOLVE").Replace(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.List[2].Cost != 3 || c.List[2].Meter != 2 || len(c.Left) != 0 || c.Table() != "counts_"+c.Digest || !IsCountTable(c.Table()) || len(c.Digest) != 16 {
		t.Errorf("%+v", c)
	}
}

// Rules that share a meter share its column, and what is no part of a meter changes no
// digest; everything else does, the order included.
func TestDigest(t *testing.T) {
	stricter, window, key := login, login, login
	stricter.Threshold, stricter.Name = 7, "stricter"
	window.Window, key.Key = 60e9, rules.Group{V4: 24}
	same := ColumnsOf(compile(t, site, login, probe)).Digest
	if got := ColumnsOf(compile(t, site, stricter, probe)); got.Digest != same {
		t.Error("a threshold or a name changed the digest")
	}
	if got := ColumnsOf(compile(t, site, login, stricter, probe)); got.Digest != same || len(got.List) != 3 || got.List[1].rules != "login, stricter" {
		t.Errorf("rules with one meter: %+v", got)
	}
	seen := map[string]string{same: "itself"}
	for name, specs := range map[string][]rules.Spec{
		"swapped": {login, site, probe}, "window": {site, window, probe}, "key": {site, key, probe}, "fewer": {site, login},
		"cost": {site, login, {Name: "probe", Match: probe.Match}}, "none": {}, "match": {site, {Name: "login", Match: rules.Match{Method: []string{"PUT"}, Path: login.Match.Path}}, probe},
	} {
		digest := ColumnsOf(compile(t, specs...)).Digest
		if other, taken := seen[digest]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[digest] = name
	}
}

// What HAProxy cannot count is named, and no column.
func TestLeft(t *testing.T) {
	for reason, spec := range map[string]rules.Spec{
		"it counts the kind syn": {Match: rules.Match{Kind: []string{"syn"}}},
		"its when:":              {When: `agent == ""`},
		"different values":       {Distinct: "path"},
		"more than the address":  {Key: rules.Group{With: []string{"host"}}, Action: 2},
		"128 bits":               {Key: rules.Group{V6: 128}},
		"cost depends":           {Costs: []rules.Charge{{Match: rules.Match{Method: []string{"POST"}}, Cost: 2}}},
		"asks for port":          {Match: rules.Match{Port: []string{"443"}}},
		"asks for crawler":       {Match: rules.Match{Crawler: []string{"fake"}}},
		"asks for target":        {Match: rules.Match{Not: &rules.Match{Target: []string{"tls"}}}},
		"names a kind":           {Match: rules.Match{Not: &rules.Match{Kind: []string{"response"}}}},
		"control character":      {Match: rules.Match{Path: []string{"/a%0a*"}}},
	} {
		c := ColumnsOf(compile(t, spec, rules.Spec{Name: "site"}))
		if len(c.List) != 1 || c.List[0].Meter != 1 || len(c.Left) != 1 || c.Left[0].Rule != "r0" || !strings.Contains(c.Left[0].Reason, reason) {
			t.Errorf("%s: %+v", reason, c)
		}
	}
	if c := ColumnsOf(compile(t)); c.Table() != "" || c.Frontend(ConfigPlace{}) != "" || c.Declaration() != "" {
		t.Errorf("without rules: %+v", c)
	}
}

// HAProxy's arrays have 100 elements; the rules after that are left.
func TestMost(t *testing.T) {
	var specs []rules.Spec
	for i := range mostColumns + 2 {
		specs = append(specs, rules.Spec{Match: rules.Match{Path: []string{fmt.Sprintf("/%d", i)}}})
	}
	c := ColumnsOf(compile(t, specs...))
	if len(c.List) != mostColumns || len(c.Left) != 2 || c.Left[0].Rule != "r100" || !strings.Contains(c.Declaration(), "gpc(100)") {
		t.Errorf("%d columns, %+v", len(c.List), c.Left)
	}
}
