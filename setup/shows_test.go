package setup_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/config"
	"edgeguard/internal/realdata"
	"edgeguard/packaging"
	"edgeguard/setup"
)

// answers returns the lines of requests, each "METHOD TARGET STATUS", with a visitor's page
// before them.
func answers(requests ...string) string {
	text := line
	for i, r := range requests {
		words := strings.Fields(r)
		text += fmt.Sprintf("203.0.113.%d - - [23/Nov/2026:11:57:0%d +0000] \"%s %s HTTP/1.1\" %s 5 \"-\" \"x\"\n", 1+i%9, i%10, words[0], words[1], words[2])
	}
	return text
}

// chosen returns the presets that setup writes for a log, with * for Joomla at its own page
// alone, and what it says of them.
func chosen(t *testing.T, tail string) (presets, says string) {
	t.Helper()
	s := setup.Judge(setup.Log{Proxy: "nginx", File: "/var/log/nginx/access.log", Format: "combined"}, seen(tail), account, now)
	if !s.Follow {
		t.Fatalf("%+v", s)
	}
	text := setup.Config([]setup.Source{s}, setup.SiteNames{})
	c, err := config.Parse("x", []byte(text))
	if err != nil || len(c.Warnings) > 0 {
		t.Fatalf("%v, %v in\n%s", err, c, text)
	}
	var names []string
	for _, spec := range c.Specs {
		name, _, _ := strings.Cut(spec.Name, "/")
		if spec.Name == "joomla/login" && slices.Equal(spec.Match.Path, []string{"/administrator/index.php"}) {
			name = "joomla*"
		}
		if len(names) == 0 || strings.TrimSuffix(names[len(names)-1], "*") != strings.TrimSuffix(name, "*") {
			names = append(names, name)
		}
	}
	for _, choice := range setup.Choices([]setup.Source{s}) {
		if choice.Why != "" {
			if !strings.Contains(text, "  # "+choice.Why+".\n") {
				t.Errorf("%q is not in\n%s", choice.Why, text)
			}
			says += choice.Why + ". "
		}
	}
	return strings.Join(names, " "), says
}

const byDefault = "web login wordpress joomla*"

// What answers show chooses presets, and what scanners ask for does not.
func TestChooses(t *testing.T) {
	calls := slices.Repeat([]string{"GET /api/v1/orders/7 200"}, 25)
	wordPress := []string{"GET /wp-login.php 200", "POST /blog/wp-login.php 302", "GET /wp-content/themes/a/style.css?ver=1 304"}
	for name, c := range map[string]struct {
		requests []string
		presets  string
		says     string
	}{
		"nothing": {nil, byDefault, ""},
		"WordPress": {wordPress, byDefault,
			"/var/log/nginx/access.log has answers of WordPress: its login page (1), logins (1), styles and scripts of wp-content (1). "},
		"WordPress without a login": {[]string{"GET /xmlrpc.php 405", "GET /wp-includes/js/jquery.js 200"}, byDefault,
			"/var/log/nginx/access.log has answers of WordPress: that XML-RPC takes no GET (1), styles and scripts of wp-content (1). "},
		"a scanner": {[]string{"GET /wp-login.php 404", "GET /xmlrpc.php 404", "POST /xmlrpc.php 403", "GET /wp-admin/ 301", "GET /administrator/ 404", "GET /wp-content/a.css 404",
			"POST /wp-login.php 301", "GET /api/v1/users 404"}, byDefault, ""},
		"one page that any site may have": {[]string{"GET /wp-login.php 200", "GET /administrator/ 200"}, byDefault, ""},
		"a site that answers 200 to everything": {append([]string{"GET /.env 200", "POST /xmlrpc.php 200", "GET /administrator/ 200", "GET /media/system/js/b.js 200"},
			append(calls, "GET /wp-login.php 200", "GET /wp-admin/ 200", "GET /wp-content/a.js 200")...), byDefault, ""},
		"one that redirects everything": {[]string{"GET /.git/config 302", "POST /wp-login.php 302", "GET /wp-admin/ 302"}, byDefault, ""},
		"Joomla": {[]string{"GET /administrator/ 200", "POST /administrator/index.php 303", "GET /media/system/js/core.js 200", "GET /index.php?option=com_content 200"}, "web login wordpress joomla",
			"/var/log/nginx/access.log has answers of Joomla: its login page (1), logins and saves (1), its scripts (1). "},
		"another application at its place":          {[]string{"GET /administrator/ 200", "POST /administrator/index.php 200", "POST /administrator/orders 302", "GET /index.php?option=com_x 200"}, byDefault, ""},
		"one that answers its forms as Joomla does": {[]string{"GET /administrator/ 200", "POST /administrator/index.php 303"}, byDefault, ""},
		"an API":                         {calls, byDefault + " api", "/var/log/nginx/access.log has answers of an API: calls (25). "},
		"a few calls":                    {calls[:19], byDefault, ""},
		"a page with an API in its name": {slices.Repeat([]string{"GET /docs/api/orders 200"}, 40), byDefault, ""},
		"all of them": {slices.Concat(wordPress, calls, []string{"GET /media/jui/js/a.js 200", "POST /administrator/index.php 303"}), "web login wordpress joomla api",
			"/var/log/nginx/access.log has answers of WordPress: its login page (1), logins (1), styles and scripts of wp-content (1). /var/log/nginx/access.log has answers of Joomla: logins and saves (1), its scripts (1). " +
				"/var/log/nginx/access.log has answers of an API: calls (25). "},
	} {
		presets, says := chosen(t, answers(c.requests...))
		if presets != c.presets || says != c.says {
			t.Errorf("%s: %s, %q", name, presets, says)
		}
	}
}

// Where no log shows an application, the rules are those that packages install.
func TestChoosesAsPackaged(t *testing.T) {
	want, err := config.Parse("packaged", []byte(packaging.Config))
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse("setup", []byte(setup.Config([]setup.Source{{Log: setup.Log{File: "/a.log", Format: "combined"}, Follow: true}}, setup.SiteNames{})))
	if err != nil || got.RulesDigest() != want.RulesDigest() {
		t.Errorf("%v: the rules are others than the packaged ones", err)
	}
}

// What the last lines of public logs show.
func TestChoosesRealData(t *testing.T) {
	for folder, want := range map[string]string{
		"weblog-wordpress-2016": byDefault, "weblog-joomla-almhuette-2019": "web login wordpress joomla",
		"weblog-elastic-apache": byDefault, "weblog-scanner-acunetix": byDefault, "weblog-scanner-netsparker": byDefault,
	} {
		names, _ := filepath.Glob(filepath.Join(realdata.Path(t, folder), "access.log*"))
		if len(names) != 1 {
			t.Fatalf("%s: %v", folder, names)
		}
		presets, says := chosen(t, tailOf(t, names[0]))
		if presets != want || (folder == "weblog-wordpress-2016") != strings.Contains(says, "WordPress") {
			t.Errorf("%s: %s, %q", folder, presets, says)
		}
	}
}

// tailOf returns the last lines of a log that may be compressed, as many as setup looks at.
func tailOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if packed, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
		if text, err = io.ReadAll(packed); err != nil {
			t.Fatal(err)
		}
	}
	text = text[max(0, len(text)-64<<10):]
	return string(text[bytes.IndexByte(text, '\n')+1:])
}
