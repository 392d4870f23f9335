package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// parts returns the parts of the program.
func parts(t *testing.T) []part {
	t.Helper()
	all, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The notices in the tree are those of the modules that are linked.
func TestNotices(t *testing.T) {
	have, err := os.ReadFile("../../packaging/THIRD_PARTY_NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, notices(parts(t))) {
		t.Error("THIRD_PARTY_NOTICES is not what is linked: run `make generate`")
	}
}

// Each part has a licence text, of a licence that is known and may be shipped. The
// program's own Redis client and the chart library show that both kinds are found.
func TestLicences(t *testing.T) {
	names := make(map[string]string)
	for _, p := range parts(t) {
		ids := p.licences()
		if len(ids) == 0 {
			t.Errorf("%s: no licence is known: teach licences its text, and look whether it may be shipped", p.name)
		}
		names[p.name] = strings.Join(ids, " ")
	}
	for name, want := range map[string]string{
		"github.com/redis/go-redis/v9": "BSD-2-Clause", "github.com/spf13/cobra": "Apache-2.0",
		"github.com/klauspost/compress": "Apache-2.0 BSD-3-Clause MIT", "uplot": "MIT", "Go": "BSD-3-Clause",
	} {
		for id := range strings.FieldsSeq(want) {
			if !strings.Contains(names[name], id) {
				t.Errorf("%s: %q, want %s among them", name, names[name], id)
			}
		}
	}
}

// A text that is of no known licence is none.
func TestUnknownLicence(t *testing.T) {
	p := part{files: []file{{"LICENSE", "All rights reserved. Do not redistribute."}}}
	if ids := p.licences(); ids != nil {
		t.Error(ids)
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A bill names each module of the binary, Go, and the chart library.
func TestSBOM(t *testing.T) {
	all := parts(t)
	info := &debug.BuildInfo{GoVersion: "go1.26.8"}
	want := map[string]bool{"std": true, "uplot": true}
	for _, p := range all {
		if !p.npm && p.name != "Go" {
			info.Deps = append(info.Deps, &debug.Module{Path: p.name, Version: p.version, Sum: "h1:x"})
			want[p.name] = true
		}
	}
	text, err := sbom(info, all, "1.2.3+git5.abc", now)
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Components {
		if !want[c.Name] || c.Version == "" || len(c.Licences) == 0 {
			t.Errorf("%+v", c)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if url := b.Metadata.Component.URL; url != "pkg:golang/edgeguard@1.2.3%2Bgit5.abc" {
		t.Error(url)
	}
	again, err := sbom(info, all, "1.2.3+git5.abc", now)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second one differs: %v", err)
	}
}

// A binary with a module whose licence is unknown, or of another version, has no bill.
func TestSBOMOfAnother(t *testing.T) {
	all := []part{{name: "example.com/known", version: "v1.0.0", files: []file{{"LICENSE", goLicence}}}}
	for _, m := range []*debug.Module{{Path: "example.com/other", Version: "v1.0.0"}, {Path: "example.com/known", Version: "v1.0.1"}} {
		if _, err := sbom(&debug.BuildInfo{Deps: []*debug.Module{m}}, all, "1", now); err == nil {
			t.Errorf("%s %s: no error", m.Path, m.Version)
		}
	}
}
