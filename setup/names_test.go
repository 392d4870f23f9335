package setup_test

import (
	"strings"
	"testing"

	"edgeguard/setup"
)

// What keeps nginx from finding a name is found in its configuration, and where.
func TestNamesMissed(t *testing.T) {
	t.Parallel()
	const test = "if (-f /run/edgeguard/names/$edgeguard_name) { return 429; }"
	for name, one := range map[string]struct {
		text, cached, missed string
		unasked              bool
	}{
		"as printed":            {"http { server { include site.conf; location / {} } }", "", "", false},
		"no test":               {"http { server { } server { " + test + " } }", "", "nothing is refused by the server blocks at /etc/nginx/nginx.conf:1:", false},
		"another folder":        {"http { server { if (-f /run/names/$edgeguard_name) { return 429; } } }", "", "", true},
		"a test in a location":  {"http { server { location / { " + test + " } } }", "", "", true},
		"cached for all":        {"http { server { " + test + " }\nopen_file_cache max=1; }", "/etc/nginx/nginx.conf:2", "/etc/nginx/nginx.conf:2: open_file_cache keeps", false},
		"cached for one":        {"http { server {\nopen_file_cache max=1; " + test + " } }", "/etc/nginx/nginx.conf:2", "/etc/nginx/nginx.conf:2: open_file_cache keeps", false},
		"turned off":            {"http { open_file_cache max=1; server { open_file_cache off; " + test + " } }", "", "", false},
		"cached for a location": {"http { server { " + test + " location / { open_file_cache max=1; } } }", "", "", false},
		"off for all":           {"http { open_file_cache off; server { " + test + " } }", "", "", false},
		"a late client":         {"http { set_real_ip_from 10.0.0.0/8; server { " + test + " location / { real_ip_header X-Forwarded-For; } } }", "", "a location says who the client is", false},
		"connections":           {"stream { server { } } http { server { " + test + " } }", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := setup.FindLogs(setup.Place{"nginx", "/etc/nginx/nginx.conf"}, texts{"/etc/nginx/nginx.conf": one.text, "/etc/nginx/site.conf": test})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(found.NamesCached(), " "); got != one.cached {
				t.Errorf("cached at %q", got)
			}
			asked, why := found.NamesMissed("/run/edgeguard/names/")
			got := strings.Join(why, "; ")
			if asked == one.unasked {
				t.Errorf("asked %v", asked)
			}
			if got != one.missed && (one.missed == "" || !strings.Contains(got, one.missed)) {
				t.Errorf("missed: %q, want %q", got, one.missed)
			}
		})
	}
}
