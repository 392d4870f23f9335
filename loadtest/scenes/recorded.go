package scenes

import (
	"embed"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// recorded has what real programs asked a site for: the head of each file says by which
// program, and what its columns are.
//
//go:embed recorded
var recorded embed.FS

// played are the scenes of recorded requests. When and how often somebody comes, and
// how many share an address, is written.
var played = []Scene{
	{Name: "browser", Says: "60 homes and an office of 40 read five pages, twice a day; pages have dead links and say that they may be fetched ahead", From: by("chromium"), play: browsers},
	{Name: "browser-app", Says: "an office of 40 and 60 homes in an application: one in six mistypes twice, and sessions end", From: by("chromium"), play: browserApps},
	{Name: "scripts", Says: "30 servers whose jobs run every 10 minutes, against what fails, is busy, refuses, or is gone", From: by("curl"), play: scripts},
	{Name: "git", Says: "40 developers, and 30 runners behind one address that clone every two minutes", From: by("git"), play: gits},
	{Name: "rclone", Says: "15 homes and an office of 10 that copy folders to WebDAV", From: by("rclone"), play: rclones},
	{Name: "davfs2", Says: "12 homes and an office of 10 with a WebDAV folder mounted", From: by("davfs2"), play: davs},
	{Name: "newsboat", Says: "40 homes and 12 people behind one address with a feed reader, one feed in twelve gone", From: by("newsboat"), play: newsboats},
	{Name: "mirror", Says: "6 mirrors of the site with all that its pages show", From: by("wget"), play: mirrors},
}

// step is one recorded request.
type step struct {
	second                         float64 // since the first
	method, target, referer, agent string
	status                         int
}

// lines returns the lines of a recording.
func lines(name string) []string {
	text, err := recorded.ReadFile("recorded/" + name + ".tsv")
	if err != nil {
		panic(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// by returns which program was recorded.
func by(name string) string { return strings.TrimPrefix(lines(name)[0], "# ") }

// stepsOf returns the requests of a recording.
func stepsOf(name string) (steps []step) {
	for _, text := range lines(name) {
		c := strings.Split(text, "\t")
		if strings.HasPrefix(text, "#") {
			continue
		}
		at, err1 := strconv.ParseFloat(c[0], 64)
		status, err2 := strconv.Atoi(c[3])
		if err1 != nil || err2 != nil || len(c) != 9 {
			panic(fmt.Sprintf("recorded/%s.tsv: %q", name, text))
		}
		s := step{at / 1000, c[1], c[2], c[4], c[8], status}
		if s.referer == "-" {
			s.referer = ""
		} else {
			s.referer = origin + s.referer
		}
		steps = append(steps, s)
	}
	return steps
}

// follow logs recorded requests from a moment on. Own turns a target into one of the
// visitor's own pages, folders or repositories.
func (l *log) follow(addr netip.Addr, at int64, steps []step, own func(target string) string) {
	for _, s := range steps {
		l.lines = append(l.lines, line{at + int64(s.second-steps[0].second), addr, s.method, own(s.target), s.status, l.between(200, 4000), s.referer, s.agent})
	}
}

// replaced returns a function that gives a visitor something of his own.
func replaced(from, to string, n int) func(string) string {
	to = fmt.Sprintf(to, n)
	return func(target string) string { return strings.Replace(target, from, to, 1) }
}

// homeOr returns the n-th of so many homes, and after them a shared address.
func homeOr(n, homes int, shared string) netip.Addr {
	if n < homes {
		return address(n)
	}
	return netip.MustParseAddr(shared)
}

// without leaves out what a visitor does not do.
func without(steps []step, not func(step) bool) (kept []step) {
	for _, s := range steps {
		if !not(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// isApp reports whether a browser asked for it in the application.
func isApp(s step) bool { return strings.HasPrefix(s.target, "/app") }

func browsers(l *log) {
	steps := without(stepsOf("chromium"), isApp)
	for n := range 100 {
		for range 2 {
			l.follow(homeOr(n, 60, "198.51.100.60"), l.in(morning, 9*hour), steps, replaced("/old/", "/old/%d-", l.rng.IntN(400)))
		}
	}
}

func browserApps(l *log) {
	all := without(stepsOf("chromium"), func(s step) bool { return !isApp(s) })
	right := without(all, func(s step) bool { return s.target == "/app/login" && s.status == 401 })
	for n := range 100 {
		addr, at := homeOr(n, 60, "198.51.100.61"), l.in(morning, 40*minute)
		for round := range 3 {
			steps := right
			if round == 0 && n%6 == 0 {
				steps = all
			}
			l.follow(addr, at, steps, func(target string) string { return target })
			at += int64(l.between(60, 200)) * minute
		}
	}
}

func scripts(l *log) {
	steps := stepsOf("curl")
	for n := range 30 {
		for at := l.in(morning, 10*minute); at < morning+8*hour; at += 10 * minute {
			l.follow(address(n), at, steps, replaced("/app/", "/jobs/%d/", n))
		}
	}
}

func gits(l *log) {
	steps := stepsOf("git")
	for n := range 70 {
		addr := homeOr(n, 40, "198.51.100.62")
		times, pause := l.between(2, 6), 80*minute
		if n >= 40 {
			times, pause = 200, 2*minute
		}
		at := l.in(morning, 30*minute)
		for range times {
			own := replaced("harbour.git", "project-%d.git", l.rng.IntN(300))
			l.follow(addr, at, steps, func(target string) string {
				if strings.Contains(target, "/gone/") { // a submodule that all projects still name
					return target
				}
				return own(target)
			})
			at += l.in(pause/2, pause)
		}
	}
}

func rclones(l *log) {
	steps := stepsOf("rclone")
	for n := range 25 {
		for range 3 {
			l.follow(homeOr(n, 15, "198.51.100.63"), l.in(morning, 8*hour), steps, replaced("/dav/", "/dav/%d/", l.rng.IntN(900)))
		}
	}
}

func davs(l *log) {
	steps := stepsOf("davfs2")
	for n := range 22 {
		for range 3 {
			l.follow(homeOr(n, 12, "198.51.100.64"), l.in(morning, 8*hour), steps, replaced("/dav/", "/dav/%d/", l.rng.IntN(900)))
		}
	}
}

func newsboats(l *log) {
	steps := stepsOf("newsboat")
	once := steps[:len(steps)/3]
	for n := range 52 {
		for at := l.in(morning, 30*minute); at < morning+12*hour; at += 30 * minute {
			l.follow(homeOr(n, 40, "198.51.100.65"), at, once, replaced("/feeds/", "/blog-%d/", n%9))
		}
	}
}

func mirrors(l *log) {
	// Of the dead links one is left in each pass, 4 % of what is asked for.
	steps := without(stepsOf("wget"), func(s step) bool {
		return strings.HasPrefix(s.target, "/old/") && s.target != "/old/1-0.html"
	})
	for n := range 6 {
		at := l.in(morning, hour)
		for page := range 60 {
			l.follow(address(n), at, steps, replaced("/old/", "/old/%d-", page))
			at += int64(l.between(20, 40))
		}
	}
}
