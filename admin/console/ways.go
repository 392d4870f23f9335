package console

import (
	"fmt"
	"strings"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// welcomeWay is one of the first steps of a node that has counted nothing, with the
// command to type.
type welcomeWay struct{ Title, Text, Command string }

// welcomeWays returns the three ways in of a node with these sources. limit is that of its first
// rule, 0 if it has none.
func welcomeWays(sources []admin.Source, limit uint32) []welcomeWay {
	log, auth := firstSource(sources, "log"), firstSource(sources, "auth")
	return []welcomeWay{followWay(log), askWay(auth), tryWay(log, auth, limit)}
}

// firstSource returns where the first of a kind is, preferring one that is no
// unix socket, which the command of a person cannot reach as easily.
func firstSource(sources []admin.Source, kind string) (found string) {
	for _, s := range sources {
		if s.Kind == kind && (found == "" || strings.HasPrefix(found, "unix:") && !strings.HasPrefix(s.At, "unix:")) {
			found = s.At
		}
	}
	return found
}

func followWay(log string) welcomeWay {
	if log == "" {
		return welcomeWay{"Follow an access log", "Of nginx, HAProxy, Caddy or Apache. With --monitor nothing is refused.",
			"edgeguard serve --log /var/log/nginx/access.log --monitor"}
	}
	if !strings.HasPrefix(log, "/") {
		return welcomeWay{"Receive an access log", "This node receives a log at " + log + ". This prints who counts most, as lines come.", "edgeguard top"}
	}
	return welcomeWay{"Follow an access log", "This node follows " + log + ". Lines count that are written from now on: open a page of your site, and see them come.",
		"tail -f " + shellWord(log)}
}

func askWay(auth string) welcomeWay {
	at := "Set listen.auth in the config, and this"
	if auth != "" {
		at = "This node answers at " + auth + ". This"
	}
	return welcomeWay{"Have a proxy ask", at + " prints what to add to nginx. There are snippets for Caddy, Envoy, HAProxy and Traefik, too.", "edgeguard snippets nginx"}
}

func tryWay(log, auth string, limit uint32) welcomeWay {
	switch {
	case strings.HasPrefix(log, "/"):
		return welcomeWay{"Try it on what was", "This reads the log from its beginning and prints who would have been blocked. It changes nothing here.", "edgeguard replay " + shellWord(log)}
	case log == "" && auth != "" && !strings.HasPrefix(auth, "unix:") && limit > 0:
		return welcomeWay{"Try it with a sample", fmt.Sprintf("%s requests of an address that is reserved for examples. The last one is refused, and the address is blocked.", words.Number(requestsToCross(limit))), TryCommand(auth, limit)}
	}
	return welcomeWay{"Try it on what was", "This reads a log from its beginning and prints who would have been blocked. It changes nothing here.", "edgeguard replay /var/log/nginx/access.log"}
}

// requestsToCross returns how many requests exceed a limit.
func requestsToCross(limit uint32) uint64 { return uint64(limit) + 1 }

// TryCommand returns a command that has an address of the documentation's range exceed a
// limit, where the node counts by forward auth over TCP.
func TryCommand(auth string, limit uint32) string {
	return fmt.Sprintf(`curl -s -o /dev/null -w '%%{http_code}\n' -H 'X-Real-IP: 203.0.113.9' 'http://%s/auth/nginx?[1-%d]' | sort | uniq -c`, auth, requestsToCross(limit))
}

// shellWord writes a file's name for a shell.
func shellWord(name string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
