package setup_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/setup"
)

// tree is a configuration in memory.
type tree map[string]string

func (t tree) Read(name string) (string, error) { return setup.Unmark(t[name]), nil }

func (t tree) Glob(pattern string) (names []string) {
	for name := range t {
		if ok, _ := path.Match(pattern, name); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wire puts lines into a configuration, and returns its first file. A second time changes nothing, and
// without the lines each file is what it was.
func wire(t *testing.T, proxy, first string, files tree, w setup.Wiring) (text string, wired setup.Wired) {
	t.Helper()
	if w.Skip == nil {
		w.Skip = func(*setup.Site) bool { return false }
	}
	now := files
	for _, again := range []bool{false, true} {
		found, err := setup.FindLogs(setup.Place{Proxy: proxy, File: first}, now)
		if err != nil {
			t.Fatal(err)
		}
		if wired, err = found.Wire(&w, now); err != nil {
			t.Fatal(err)
		}
		next := tree{}
		for name, text := range files {
			next[name] = text
			if wired.Texts[name] != "" {
				next[name] = wired.Texts[name]
			}
			if back := setup.Unmark(next[name]); back != text {
				t.Errorf("%s: %q becomes %q", name, text, back)
			}
		}
		if again && now[first] != next[first] {
			t.Errorf("the second time %q becomes %q", now[first], next[first])
		}
		now = next
	}
	return now[first], wired
}

// lua has braces and quotes that are none of nginx's.
const lua = `access_by_lua_block {
    local t = {} -- don't } {
    --[[ it's } ]] local s = "}" .. '\'}' .. [==[ ]] } ]==] .. [[}]]
    if #t == 0 then ngx.say("a") end
  }`

// TestWireNginx: each server block of http gets the line, and nothing else does, whatever is in comments,
// quotes and Lua.
func TestWireNginx(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		sites int
		want  string // of the text that is made
	}{
		"plain":     {"http {\n\tserver {\n\t\tlisten 80;\n\t}\n}\n", 1, "\tserver {\n\t\tinclude x; # edgeguard --install\n\t\tlisten 80;\n"},
		"one line":  {"http { server { listen 80; } }", 1, "server {\n    include x; # edgeguard --install, in a line that it split\n listen 80; }"},
		"two":       {"http { server { listen 80; } server{listen 81;} }", 2, "server{\n"},
		"CRLF":      {"http {\r\n  server {\r\n    listen 80;\r\n  }\r\n}\r\n", 1, "\r\n    include x; # edgeguard --install\r\n    listen"},
		"comment":   {"http { # server {\n  server # {\n  { # don't }\n    listen 80;\n  }\n}", 1, "{ # don't }\n    include x; # edgeguard --install\n    listen"},
		"quotes":    {"http {\n  map $a $b { \"server {\" '}'; }\n  server {\n  }\n}", 1, "  server {\n      include x; # edgeguard --install\n  }"},
		"word":      {"http { server { return 200 a}b; } server { listen 80; } }", 2, ""},
		"variable":  {"http { server { return 200 ${host}; } server { listen 80; } }", 2, ""},
		"lua":       {"http {\n  init_by_lua_block { local x = {1, 2} }\n  server {\n  " + lua + "\n  }\n  server { listen 81; }\n}", 2, ""},
		"lua open":  {"http { server { content_by_lua_block { \"", 1, ""},
		"upstream":  {"http { upstream u { server 127.0.0.1:1; } server { listen 80; } }", 1, ""},
		"stream":    {"stream { server { listen 1; } }\nhttp { server { listen 80; } }", 1, "stream { server { listen 1; } }\n"},
		"own line":  {"http {\n  server {\n    # see edgeguard # edgeguard --install\n  }\n}\n", 1, "    include x; # edgeguard --install\n    # see edgeguard # edgeguard --install\n"},
		"has it":    {"http { server { if (-f /names/$edgeguard_name) { return 429; } } }", 0, "http { server { if (-f /names/$edgeguard_name) { return 429; } } }"},
		"open":      {"http { server {", 1, ""},
		"no server": {"http {\n}\n", 0, "http {\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, wired := wire(t, "nginx", "/etc/nginx/nginx.conf", tree{"/etc/nginx/nginx.conf": "include none;\n" + strings.Replace(c.text, "http {", "http { include conf.d/*.conf;", 1)},
				setup.Wiring{Site: []string{"include x;"}, Folder: "/names"})
			got = strings.Replace(got, " include conf.d/*.conf;", "", 1)
			if len(wired.Sites) != c.sites || strings.Count(got, "include x;") != c.sites || !strings.Contains(got, c.want) || wired.Common != "/etc/nginx/conf.d/edgeguard.conf" {
				t.Errorf("%d sites, common %s\n%s", len(wired.Sites), wired.Common, got)
			}
		})
	}
	got, wired := wire(t, "nginx", "/n/nginx.conf", tree{"/n/nginx.conf": "http {\n include a; include a;\n}", "/n/a": "server {\n}\nserver { server_name b; }\n"},
		setup.Wiring{Site: []string{"include x;"}, Skip: func(s *setup.Site) bool { return slices.Contains(s.Names, "b") }})
	if want := "http {\n include \"/n/edgeguard.conf\"; # edgeguard --install\n include a; include a;\n}"; got != want || wired.Texts["/n/a"] != "server {\n    include x; # edgeguard --install\n}\nserver { server_name b; }\n" || wired.Without[0].At != "/n/a:3" {
		t.Errorf("%q, %+v", got, wired)
	}
}

// TestWireCaddy: blocks that answer before others get a line of their own, and sites without a log one.
func TestWireCaddy(t *testing.T) {
	w := setup.Wiring{Site: []string{"import e"}, LogLine: "import l", Inner: []string{"respond @e 429"}}
	for _, c := range [][2]string{
		{":80\nfile_server\n", ":80\nimport l # edgeguard --install\nimport e # edgeguard --install\nfile_server\n"},
		{":80\nlog {\n\toutput file /x\n}\n", ":80\nimport e # edgeguard --install\nlog {\n\toutput file /x\n}\n"},
		{"{\n\tadmin off\n}\n(s) {\n\thandle {\n\t}\n}\na.example,\nb.example {\n\tlog\n\thandle_path /a {\n\t\tfile_server\n\t}\n}\n",
			"{\n\tadmin off\n}\n(s) {\n\thandle {\n\t}\n}\na.example,\nb.example {\n\timport e # edgeguard --install\n\tlog\n\thandle_path /a {\n\t\trespond @e 429 # edgeguard --install\n\t\tfile_server\n\t}\n}\n"},
		{"\ufeff{\n\tadmin off\n}\n:80 {\n\tlog\n\tfile_server\n}\n", "\ufeff{\n\tadmin off\n}\n:80 {\n\timport e # edgeguard --install\n\tlog\n\tfile_server\n}\n"},
		{"a.example {\n\tlog\n\trespond <<END\n\t}} body {\n\tEND 200\n}\nb.example {\n\tlog\n}\n",
			"a.example {\n\timport e # edgeguard --install\n\tlog\n\trespond <<END\n\t}} body {\n\tEND 200\n}\nb.example {\n\timport e # edgeguard --install\n\tlog\n}\n"},
	} {
		got, _ := wire(t, "caddy", "/c/Caddyfile", tree{"/c/Caddyfile": c[0]}, w)
		if diff := cmp.Diff(c[1], got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWireHAProxy: rules go behind what they must not stand before, into what sees requests, and what a
// HAProxy has already stays.
func TestWireHAProxy(t *testing.T) {
	w := setup.Wiring{Site: []string{"RULE"}, Inner: []string{"LOG"}, End: []string{"global", "    localpeer haproxy", "    tune.http.logurilen 16384", "peers edgeguard", "    server haproxy"}, Host: "box"}
	end := "global # edgeguard --install\n    localpeer haproxy # edgeguard --install\n    tune.http.logurilen 16384 # edgeguard --install\npeers edgeguard # edgeguard --install\n    server haproxy # edgeguard --install\n"
	for _, c := range [][2]string{
		{"", end},
		{"defaults\n mode http\nfrontend a\n bind :80\n http-request set-src hdr(x)\n capture request header X len 9\n default_backend b\n",
			"defaults\n mode http\nfrontend a\n bind :80\n http-request set-src hdr(x)\n RULE # edgeguard --install\n capture request header X len 9\n LOG # edgeguard --install\n default_backend b\n" + end},
		{"frontend a\n bind :80\nlisten b\n mode http\n", "frontend a\n bind :80\nlisten b\n LOG # edgeguard --install\n RULE # edgeguard --install\n mode http\n" + end},
		{"defaults h\n mode http\n log-format \"%r # edgeguard --install\"\ndefaults t\n mode tcp\nfrontend a from h\n bind :80\nfrontend b\n bind :81\n", // a format of its own
			"defaults h\n mode http\n log-format \"%r # edgeguard --install\"\ndefaults t\n mode tcp\nfrontend a from h\n RULE # edgeguard --install\n bind :80\nfrontend b\n bind :81\n" + end},
		{"global\n localpeer me\n tune.http.logurilen 20000\n", "global\n localpeer me\n tune.http.logurilen 20000\nglobal # edgeguard --install\npeers edgeguard # edgeguard --install\n    server me # edgeguard --install\n"},
		{"peers others\n server box\n", "peers others\n server box\nglobal # edgeguard --install\n    tune.http.logurilen 16384 # edgeguard --install\npeers edgeguard # edgeguard --install\n    server box # edgeguard --install\n"},
	} {
		got, _ := wire(t, "haproxy", "/h", tree{"/h": c[0]}, w)
		if diff := cmp.Diff(c[1], got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUnmarkEdited: what people write around the lines stays, each line by itself.
func TestUnmarkEdited(t *testing.T) {
	const split = " # edgeguard --install, in a line that it split\n"
	for _, c := range [][2]string{
		{"server { # mine\n  include x;" + split + " listen 80; }\n", "server { # mine\n listen 80; }\n"},
		{"server {\n  root /x;\n  include x;" + split + " listen 80; }\n", "server {\n  root /x;\n listen 80; }\n"},
		{"backend b\n server s 127.0.0.1:1\nglobal" + split + "    localpeer a # edgeguard --install\nfrontend new\n", "backend b\n server s 127.0.0.1:1\nfrontend new\n"},
		{"server {\n  # include x;" + split + " listen 80; }\n", "server {\n  # include x;" + split + " listen 80; }\n"},
		{"allow 127.0.0.1; # edgeguard\n", "allow 127.0.0.1; # edgeguard\n"},
	} {
		if got := setup.Unmark(c[0]); got != c[1] {
			t.Errorf("%q becomes %q", c[0], got)
		}
	}
}

// TestMissed: what is not read, or answers first, is told.
func TestMissed(t *testing.T) {
	deep := tree{"/n/nginx.conf": "http { include nginx.conf; server { } }"}
	found, err := setup.FindLogs(setup.Place{Proxy: "nginx", File: "/n/nginx.conf"}, deep)
	if err != nil || len(found.Missed) == 0 || !strings.Contains(found.Missed[0], "nested more than") {
		t.Error(found.Missed, err)
	}
	found, err = setup.FindLogs(setup.Place{Proxy: "caddy", File: "/c"}, tree{"/c": "(s) {\n\troute {\n\t}\n}\n:80 {\n\timport s\n\troute {\n\t}\n}\n"})
	if want := []string{"/c:2: route in the snippet (s) answers before a line of the site does: put `respond @edgeguard 429` into it"}; err != nil || !slices.Equal(found.Missed, want) {
		t.Error(found.Missed, err)
	}
}
