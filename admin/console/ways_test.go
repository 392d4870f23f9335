package console

import (
	"os/exec"
	"strings"
	"testing"

	"edgeguard/admin"
)

const trySample = `curl -s -o /dev/null -w '%{http_code}\n' -H 'X-Real-IP: 203.0.113.9' 'http://127.0.0.1:9180/auth/nginx?[1-1901]' | sort | uniq -c`

// Each way fits what the node has.
func TestWays(t *testing.T) {
	for _, c := range []struct {
		name     string
		sources  []string
		limit    uint32
		commands [3]string
	}{
		{"nothing", nil, 1900, [3]string{"edgeguard serve --log /var/log/nginx/access.log --monitor", "edgeguard snippets nginx", "edgeguard replay /var/log/nginx/access.log"}},
		{"the default", []string{"auth 127.0.0.1:9180"}, 1900, [3]string{"edgeguard serve --log /var/log/nginx/access.log --monitor", "edgeguard snippets nginx", trySample}},
		{"no rule", []string{"auth 127.0.0.1:9180"}, 0, [3]string{"edgeguard serve --log /var/log/nginx/access.log --monitor", "edgeguard snippets nginx", "edgeguard replay /var/log/nginx/access.log"}},
		{"a socket too", []string{"auth unix:/run/a.sock", "auth 127.0.0.1:9180"}, 1900, [3]string{"edgeguard serve --log /var/log/nginx/access.log --monitor", "edgeguard snippets nginx", trySample}},
		{"a socket alone", []string{"auth unix:/run/a.sock"}, 1900, [3]string{"edgeguard serve --log /var/log/nginx/access.log --monitor", "edgeguard snippets nginx", "edgeguard replay /var/log/nginx/access.log"}},
		{"a log", []string{"auth 127.0.0.1:9180", "log /var/log/site.log"}, 1900, [3]string{"tail -f /var/log/site.log", "edgeguard snippets nginx", "edgeguard replay /var/log/site.log"}},
		{"a log that is received", []string{"auth 127.0.0.1:9180", "log udp:127.0.0.1:514"}, 1900, [3]string{"edgeguard top", "edgeguard snippets nginx", "edgeguard replay /var/log/nginx/access.log"}},
	} {
		var sources []admin.Source
		for _, name := range c.sources {
			kind, at, _ := strings.Cut(name, " ")
			sources = append(sources, admin.Source{Kind: kind, At: at})
		}
		for i, way := range welcomeWays(sources, c.limit) {
			if way.Command != c.commands[i] || way.Title == "" || !strings.HasSuffix(way.Text, ".") {
				t.Errorf("%s: %+v, want the command %s", c.name, way, c.commands[i])
			}
		}
	}
}

// A name with anything in it is one word to a shell.
func TestShellWord(t *testing.T) {
	for _, name := range []string{"/var/log/a-b_1.log", "/srv/my site/$(id)/a'b.log", "`id`", "", "a;b", "é"} {
		out, err := exec.Command("sh", "-c", "printf '[%s]' "+shellWord(name)).Output()
		if err != nil || string(out) != "["+name+"]" {
			t.Errorf("%q: %s, %v", name, out, err)
		}
	}
}
