package scenes

import (
	"fmt"
	"net/netip"
)

var agents = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36 Edg/136.0.0.0",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:139.0) Gecko/20100101 Firefox/139.0",
}

var phoneAgents = []string{
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
	"Mozilla/5.0 (Linux; Android 13; SM-A536B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
}

// theme is what a first visit fetches beside the page.
var theme = []string{
	"/wp-content/themes/harbour/style.css?ver=3.2", "/wp-content/themes/harbour/print.css?ver=3.2",
	"/wp-includes/css/dist/block-library/style.min.css?ver=6.7", "/wp-includes/js/jquery/jquery.min.js?ver=3.7.1",
	"/wp-includes/js/jquery/jquery-migrate.min.js?ver=3.4.1", "/wp-content/themes/harbour/js/menu.js?ver=3.2",
	"/wp-content/plugins/gallery/css/gallery.css?ver=2.1", "/wp-content/plugins/gallery/js/gallery.js?ver=2.1",
	"/wp-content/plugins/contact/js/index.js?ver=6.0", "/wp-content/plugins/contact/css/styles.css?ver=6.0",
	"/wp-content/themes/harbour/fonts/inter.woff2", "/wp-content/themes/harbour/fonts/inter-bold.woff2",
	"/wp-content/uploads/logo.svg", "/wp-includes/js/wp-emoji-release.min.js?ver=6.7",
}

// browser is one person's browser, which has the theme after the first page.
type browser struct {
	addr   netip.Addr
	agent  string
	cached bool
}

// get logs a request of the browser.
func (l *log) get(b *browser, at int64, target string, status int, referer string) {
	bytes := 548
	switch status {
	case 200:
		bytes = l.between(900, 40_000)
	case 304:
		bytes = 0
	}
	l.lines = append(l.lines, line{at, b.addr, "GET", target, status, bytes, referer, b.agent})
}

// post logs a form that the browser sends.
func (l *log) post(b *browser, at int64, target string, status int, referer string) {
	l.lines = append(l.lines, line{at, b.addr, "POST", target, status, l.between(20, 5000), referer, b.agent})
}

// posts is how many articles the site has.
const posts = 900

func article(n int) string { return fmt.Sprintf("/%d/%02d/harbour-news-%d/", 2015+n%11, 1+n%12, n) }

// picture returns the address of the nth picture of a post, and what the site answers:
// one in forty was deleted.
func picture(post, n int) (target string, status int) {
	target = fmt.Sprintf("/wp-content/uploads/%d/%02d/dock-%d-%d-1024x683.jpg", 2015+post%11, 1+post%12, post, n)
	if (post*7+n)%40 == 0 {
		return target, 404
	}
	return target, 200
}

// view is one page with what it shows. It returns the page's address, which is the
// referer of what the reader opens from there.
func (l *log) view(b *browser, at int64, page, referer string) string {
	l.get(b, at, page, 200, referer)
	from := origin + page
	if !b.cached {
		b.cached = true
		for _, file := range theme {
			l.get(b, l.in(at, 2), file, 200, from)
		}
		l.get(b, at+2, "/favicon.ico", 200, from)
		if l.one(5) { // iOS asks for icons that few sites have
			l.get(b, at+2, "/apple-touch-icon-120x120-precomposed.png", 404, "")
			l.get(b, at+2, "/apple-touch-icon.png", 404, "")
		}
	}
	post := l.rng.IntN(posts)
	for n := range l.between(2, 8) {
		target, status := picture(post, n)
		l.get(b, l.in(at, 3), target, status, from)
	}
	return from
}

// read is a visit of so many pages; one in thirty begins with a link that is out
// of date.
func (l *log) read(b *browser, at int64, pages int) {
	referer := pick(l, []string{"", "https://www.search.example/", "https://social.example/"})
	if l.one(30) {
		old := pick(l, []string{"/index.php?option=com_content&id=7", "/news.php?id=12", "/article/old-harbour.html", "/blog/2009/pier", "/gallery.asp"})
		l.get(b, at, old, 404, referer)
		at += int64(l.between(3, 9))
	}
	for range pages {
		referer = l.view(b, at, article(l.rng.IntN(posts)), referer)
		at += int64(l.between(8, 150))
	}
}

// logIn is a login at WordPress after so many mistyped passwords: the form comes
// again with status 200, and a success goes on to the dashboard with 302. It
// returns when that was.
func (l *log) logIn(b *browser, at int64, mistyped int) int64 {
	const form = "/wp-login.php"
	l.get(b, at, form, 200, "")
	for _, file := range []string{"/wp-admin/load-styles.php?c=0&dir=ltr&load=dashicons,buttons,forms,l10n,login&ver=6.7", "/wp-includes/js/zxcvbn-async.min.js", "/wp-admin/js/user-profile.min.js?ver=6.7"} {
		l.get(b, at+1, file, 200, origin+form)
	}
	for range mistyped {
		at += int64(l.between(4, 15))
		l.post(b, at, form, 200, origin+form)
	}
	at += int64(l.between(4, 15))
	l.post(b, at, form, 302, origin+form)
	l.get(b, at+1, "/wp-admin/", 200, origin+form)
	for _, file := range []string{"/wp-admin/load-styles.php?c=1&load=dashicons,admin-bar,common", "/wp-admin/load-scripts.php?c=1&load=jquery-core,utils", "/wp-admin/images/wordpress-logo.svg"} {
		l.get(b, at+2, file, 200, origin+"/wp-admin/")
	}
	return at + 5
}

// mistypes returns how often a person mistypes his password before he gets it
// right: one in ten does, one to three times.
func (l *log) mistypes() int {
	if l.one(10) {
		return l.between(1, 3)
	}
	return 0
}
