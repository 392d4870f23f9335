package scenes

import "fmt"

// hotLinked is a page elsewhere that shows 60 images of this site which were
// deleted. Each reader's browser asks for all of them, and again at a reload.
// Ten have no extension, and ten come from a script.
func hotLinked(l *log) {
	for n := range 250 {
		b := &browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}
		at := l.in(morning, 10*hour)
		for range l.between(1, 3) {
			for i := range 60 {
				target := fmt.Sprintf("/wp-content/uploads/2016/05/boat-%d.jpg", i)
				switch {
				case i >= 50:
					target = fmt.Sprintf("/download/file.php?id=%d&t=1", i)
				case i >= 40:
					target = fmt.Sprintf("/media/%d", 48_100+i)
				}
				l.get(b, l.in(at, 8), target, 404, "https://boats.example/thread/771")
			}
			at += int64(l.between(15, 90))
		}
	}
}

// forum is a thread in which somebody has put four images that scanners would
// ask for. Browsers do not keep a missing image, so each view asks again. Readers
// come from homes, and 40 from one office.
func forum(l *log) {
	const thread = "/forum/viewtopic.php?t=4711"
	for n := range 160 {
		addr := address(n)
		if n >= 120 {
			addr = address(300)
		}
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning, 10*hour)
		if n >= 120 {
			at = l.in(morning+4*hour, 10*minute) // somebody has sent the link to all
		}
		for range l.between(1, 6) {
			from := l.view(b, at, thread, origin+"/forum/")
			for _, image := range []string{"/.env", "/.git/config", "/wp-config.php.bak"} {
				l.get(b, at+1, image, pick(l, []int{404, 404, 403}), from)
			}
			l.get(b, at+1, "/forum/image.php?file=../../../../etc/passwd", 200, from)
			at += int64(l.between(20, 70))
		}
	}
}

// brokenTheme is a day after an update whose files did not all arrive.
func brokenTheme(l *log) {
	for n := range 200 {
		b := &browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}
		at := l.in(morning, 10*hour)
		for range l.between(1, 5) {
			from := l.view(b, at, article(l.rng.IntN(posts)), "")
			for i := range 25 {
				kind := []string{"css", "js", "woff2", "svg", "js.map"}[i%5]
				folder := []string{"/wp-content/plugins/builder/assets", "/vendor/builder"}[i%2]
				l.get(b, l.in(at, 3), fmt.Sprintf("%s/part-%d.min.%s?ver=9", folder, i, kind), 404, from)
			}
			at += int64(l.between(10, 120))
		}
	}
}
