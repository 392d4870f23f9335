package nginx_test

import (
	"os/exec"
	"strings"
	"testing"

	"edgeguard/migrate/nginx"
)

// What brings requests for other paths to a limit_req is said, and a real nginx does it.
func TestArrivals(t *testing.T) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed: scripts/need nginx:nginx-light")
	}
	for directives, arrives := range map[string]bool{
		"location / { try_files $uri $uri/ /end?$args; }":                true,
		"location / { try_files $uri /$arg_none/end; }":                  false, // it may; this request does not
		"location / { error_page 404 = /end; }":                          true,
		"location / { rewrite ^/foo /end last; }":                        true,
		"location / { rewrite ^/foo /end; }":                             true,
		"location /foo { if ($args = '') { rewrite ^ /end last; } }":     true,
		"error_page 404 =200 /end;":                                      true,
		"try_files $uri /end;":                                           true,
		"location / { try_files $uri =404; }":                            false,
		"location / { try_files $uri /other/end; }":                      false,
		"location / { rewrite ^/foo /end break; }":                       false,
		"location / { rewrite ^/foo /end redirect; }":                    false,
		"location / { error_page 500 https://example.org/end; }":         false,
		"location / { limit_req zone=z2 burst=100; try_files /x /end; }": false, // it is counted before
	} {
		site := "http {\nroot /nonexistent;\nlimit_req_zone $binary_remote_addr zone=z1:64k rate=1000r/s;\nlimit_req_zone $binary_remote_addr zone=z2:64k rate=1000r/s;\n" +
			"server {\n\tlisten unix:SOCKET;\n\t" + directives + "\n\tlocation = /end { limit_req zone=z1 burst=100; add_header X-Zone $limit_req_status always; }\n}\n}\n"
		report, err := nginx.Import([]byte(site))
		if err != nil {
			t.Fatal(err)
		}
		zone := start(t, program, site)("example.org", "/foo")
		said := strings.Contains(report.ConfigText("f"), "brings requests for other paths")
		if maybe := strings.Contains(directives, "$arg_none"); said != (arrives || maybe) || (zone != "") != arrives && !strings.Contains(directives, "z2") {
			t.Errorf("%s: said %v, and nginx counts it there: %q\n%s", directives, said, zone, report.ConfigText("f"))
		}
	}
}

// An index is a redirect, too, to the files that it names.
func TestArrivalsByIndex(t *testing.T) {
	for location, want := range map[string]bool{`~ \.php$`: true, "= /index.php": true, "/index.php": true, "/": false, "~ ^/api": false} {
		report, err := nginx.Import([]byte("limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\nindex index.html index.php;\n" +
			"server { location " + location + " { limit_req zone=a; } location /x { } }"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(report.ConfigText("f"), "brings requests for other paths"); got != want {
			t.Errorf("%s: %v", location, got)
		}
	}
}
