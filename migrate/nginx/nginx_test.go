package nginx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/migrate/migratetest"
	"edgeguard/migrate/nginx"
)

func TestExamples(t *testing.T) {
	migratetest.Examples(t, "testdata/*.conf", nginx.Import)
	migratetest.Examples(t, "testdata/*.yaml", nginx.Import)
}

// What nobody wrote in good faith is refused in words, and costs little.
func TestHostile(t *testing.T) {
	const zone = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n"
	dump := func(files ...string) string {
		text := ""
		for i := 0; i < len(files); i += 2 {
			text += "# configuration file " + files[i] + ":\n" + files[i+1] + "\n"
		}
		return text
	}
	for what, c := range map[string]struct{ data, says string }{
		"empty":         {"", "has no limit_req"},
		"JSON":          {"{}", `does not end`},
		"not closed":    {"http { server {", "line 1: the block server is not closed"},
		"closed twice":  {"http { } }", "without an opening one"},
		"no semicolon":  {"http { limit_req zone=a }", "does not end with ;"},
		"quote":         {"a;\nb \"c;", "line 2: a quote is not closed"},
		"Lua":           {zone + "server { content_by_lua_block { if x then } } }", "Lua"},
		"deep":          {strings.Repeat("a {", 100_000), "nested"},
		"many":          {strings.Repeat("a;", 400_000), "directives"},
		"many limits":   {zone + strings.Repeat("limit_req zone=a;", 501), "at most 500"},
		"latin":         {"a \xff;", "not UTF-8"},
		"NUL":           {"a \x00;", "not UTF-8"},
		"names":         {zone + "server { limit_req zone=a; server_name" + strings.Repeat(" a", 300_000) + "; }", "more than 1000 names"},
		"locations":     {zone + "server { limit_req zone=a; " + strings.Repeat("location /a { }", 100_000) + "}", "1000 locations"},
		"servers":       {zone + strings.Repeat("server { }", 100_000), "more than 5000 servers"},
		"two http":      {"http {} http {}", "more than one"},
		"endless":       {dump("/n/a", "include a;"), "includes"},
		"endless tree":  {dump("/n/a", "include *; include *;", "/n/b", "include *; include *;"), "includes"},
		"long word":     {strings.Repeat("a", 1_000_000), "does not end"},
		"long block":    {strings.Repeat("a", 1_000_000) + " {", "is not closed"},
		"long name":     {dump("/"+strings.Repeat("x", 1_000_000), "a b"), "does not end"},
		"many words":    {strings.Repeat("a ", 3_000_000), "does not end"},
		"left out":      {zone + "server { ... limit_req zone=a; }", "take it out of a copy"},
		"before a file": {"user x;\n" + dump("/n/a", zone), "before the first file"},
	} {
		if _, err := nginx.Import([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, c := range map[string]struct{ data, says string }{
		"name":           {strings.ReplaceAll(zone, "=a:", "='a\n- name: b\u2028':") + "limit_req 'zone=a\n- name: b\u2028';", "NOT IMPORTED"},
		"rate":           {strings.ReplaceAll(zone, "1r/s", "999999999r/s") + "limit_req zone=a;", "limit over 65534"},
		"no rate":        {strings.ReplaceAll(zone, "rate=1r/s", "") + "limit_req zone=a;", "has no rate"},
		"odd rate":       {strings.ReplaceAll(zone, "1r/s", "1r/h") + "limit_req zone=a;", "is not one such as"},
		"burst":          {zone + "limit_req zone=a burst=99999999999;", "not known"},
		"no zone":        {zone + "limit_req;", "no limit_req_zone"},
		"odd location":   {zone + "server { location a b c d { limit_req zone=a; } location { } }", "NOT IMPORTED"},
		"many locations": {zone + "server { limit_req zone=a; " + strings.Repeat("location ~ \"^/[a-z]{3,9}$\" { limit_req zone=a; }", 100) + "}", "NOT IMPORTED"},
		"mark":           {"\ufeff" + zone + "limit_req zone=a;", "name: a"},
		"carriage":       {strings.ReplaceAll(zone, "\n", "\r\n") + "limit_req zone=a;\r\n", "name: a"},
		"if":             {zone + "server { location / { if ($a) { limit_req zone=a; } } }", "inside of another"},
		"outside":        {"http { " + zone + " } server { limit_req zone=a; }", "NOT IMPORTED: limit_req zone=a at line 2: it is in no server"},
		"beside":         {"http { " + zone + " server { } location / { limit_req zone=a; } }", "it is in no server"},
		"host":           {strings.ReplaceAll(zone, "$binary", "$http_host$binary") + "limit_req zone=a;", "key: {with: [host]}"},
		"header":         {strings.ReplaceAll(zone, "$binary", "$http_x_key$binary") + "limit_req zone=a;", "are in no access log"},
		"bytes":          {zone + "server { location ~ ^/ü { limit_req zone=a; } }", "beyond ASCII"},
		"no argument":    {zone + "server { location { limit_req zone=a; } map; geo; server_name; include; }", "NOT IMPORTED"},
	} {
		report, err := nginx.Import([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		migratetest.Accepted(t, report)
		if text := report.ConfigText("f"); !strings.Contains(text, c.says) || len(text) > 200_000 {
			t.Errorf("%s:\n%.3000s", what, text)
		}
	}
}

// The most that is compared with each other takes no time to speak of.
func TestMost(t *testing.T) {
	for _, name := range []string{"*.s%d.example s%[1]d.example.*", "s%d.example www.s%[1]d.example", "a%d.*"} {
		most(t, name)
	}
}

func most(t *testing.T, name string) {
	var text strings.Builder
	text.WriteString("limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n" + strings.Repeat("limit_req zone=a;\n", 240))
	for i := range 4000 {
		fmt.Fprintf(&text, "server { server_name "+name+";", i)
		if i < 240 {
			text.WriteString("location / { limit_req zone=a; } " + strings.Repeat("location ~ ^/x { } location /y { } ", 200))
		}
		text.WriteString("}\n")
	}
	report, err := nginx.Import([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Accepted(t, report)
}

func FuzzImport(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.conf")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if report, err := nginx.Import(data); err == nil {
			migratetest.Accepted(t, report)
		}
	})
}
