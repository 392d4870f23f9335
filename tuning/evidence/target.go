package evidence

import "strings"

// target is what kind of thing a path names, as far as its spelling says.
type target uint8

const (
	page    target = iota
	asset          // what a browser loads with a page
	picture        // an asset that other sites embed
	usual          // what clients ask for unasked, there or not
	robots         // robots.txt
	script         // a program, by its name
	secret         // backups, settings and dot files: what no page links to
)

var (
	pictures = set("png jpg jpeg gif webp avif svg bmp mp4 webm")
	assets   = set("css js mjs map ico woff woff2 ttf otf eot mp3 m4a ogg")
	scripts  = set("php php5 phtml asp aspx ashx jsp jspx cgi pl cfm dll")
	secrets  = set("env bak old orig save swp sql gz tgz zip tar rar 7z conf cfg ini inc log exe sh yml yaml")
	usuals   = set("/favicon.ico /robots.txt /ads.txt /app-ads.txt /security.txt /sitemap.xml /browserconfig.xml /crossdomain.xml /manifest.json /humans.txt /autodiscover/autodiscover.xml")
)

func set(words string) map[string]bool {
	all := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// targetOf returns what a normal path names.
func targetOf(path string) target {
	switch {
	case path == "/robots.txt":
		return robots
	case usuals[path], strings.HasPrefix(path, "/.well-known/"), strings.HasPrefix(path, "/apple-touch-icon"):
		return usual
	case strings.Contains(path, "/."):
		return secret
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return page
	}
	switch end := lower(name[dot+1:]); {
	case pictures[end]:
		return picture
	case assets[end]:
		return asset
	case scripts[end]:
		return script
	case secrets[end]:
		return secret
	}
	return page
}

// spelling is what a path's spelling says.
type spelling struct {
	names        target
	door, inside bool
}

func spellingOf(path string) spelling { return spelling{targetOf(path), isDoor(path), isInside(path)} }

// claim is what an agent says to be.
type claim struct{ bot, engine, browser, app bool }

func claimOf(agent string) claim {
	return claim{bot: says(agent, bots), engine: says(agent, engineBots), browser: isBrowser(agent), app: says(agent, apps)}
}

// remembered is what was worked out of texts that repeat. It holds a few thousand:
// then it begins again.
type remembered[T any] struct {
	of   func(string) T
	seen map[string]T
}

const mostRemembered = 1 << 12

func (r *remembered[T]) get(text string) T {
	if known, ok := r.seen[text]; ok {
		return known
	}
	of := r.of(text)
	if len(text) > 512 {
		return of
	}
	if r.seen == nil || len(r.seen) >= mostRemembered {
		r.seen = make(map[string]T)
	}
	r.seen[strings.Clone(text)] = of
	return of
}

// lower is strings.ToLower for endings: none longer than eight bytes is known.
func lower(end string) string {
	if len(end) > 8 {
		return ""
	}
	return strings.ToLower(end)
}

// doors are the words in a path by which people log in.
var doors = []string{"login", "logon", "signin", "sign-in", "xmlrpc", "/administrator", "/auth", "/session", "/token", "passw"}

// isDoor reports whether a path is one where passwords are sent.
func isDoor(path string) bool {
	if len(path) > 256 {
		path = path[:256]
	}
	path = strings.ToLower(path)
	for _, door := range doors {
		if strings.Contains(path, door) {
			return true
		}
	}
	return false
}

// isInside reports whether a path is of the part of a site that strangers are sent
// away from, so that an answer 200 is one to somebody who is logged in. The two
// that answer everybody are not.
func isInside(path string) bool {
	return strings.HasPrefix(path, "/wp-admin/") && strings.HasSuffix(path, ".php") &&
		!strings.HasSuffix(path, "/admin-ajax.php") && !strings.HasSuffix(path, "/admin-post.php") &&
		!strings.HasSuffix(path, "/install.php") && !strings.HasSuffix(path, "/load-scripts.php") && !strings.HasSuffix(path, "/load-styles.php")
}

// bots are the words by which crawlers name themselves.
var bots = []string{"bot", "spider", "crawl", "slurp", "feed", "archiver", "mediapartners"}

// engineBots are the crawlers of search engines and of assistants whose addresses
// their owners publish, so that a claim can be checked.
var engineBots = []string{"googlebot", "adsbot-google", "mediapartners-google", "bingbot", "msnbot", "slurp", "duckduckbot", "applebot", "yandex", "baiduspider", "gptbot", "oai-searchbot"}

// apps are the programs that call xmlrpc.php for their users.
var apps = []string{"jetpack by wordpress.com", "wp-android", "wp-iphone"}

// says reports whether an agent has one of some words.
func says(agent string, words []string) bool {
	agent = strings.ToLower(agent)
	for _, word := range words {
		if strings.Contains(agent, word) {
			return true
		}
	}
	return false
}

// engines are what only browsers, and who says to be one, write.
var engines = []string{"Firefox/", "Chrome/", "Safari/", "MSIE ", "Trident/", "Opera"}

// isBrowser reports whether a client says that it is a browser.
func isBrowser(agent string) bool {
	if says(agent, apps) {
		return false
	}
	for _, engine := range engines {
		if strings.Contains(agent, engine) {
			return true
		}
	}
	return false
}
