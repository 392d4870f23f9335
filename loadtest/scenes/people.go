package scenes

import (
	"fmt"
	"net/netip"
)

// office is a working day of 50 people behind one address. All open the site and
// log in between 08:45 and 09:15, and some again after lunch.
func office(l *log) {
	const people = 50
	addr := netip.MustParseAddr("198.51.100.7")
	for range people {
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning+45*minute, 30*minute)
		l.view(b, at, "/", "")
		at = l.logIn(b, at+int64(l.between(5, 40)), l.mistypes())
		for range l.between(4, 10) { // through the day, a few pages at a time
			l.read(b, l.in(at, 8*hour), l.between(2, 7))
		}
		if l.one(3) {
			l.logIn(b, l.in(morning+5*hour, 20*minute), l.mistypes())
		}
	}
}

// carrier is an evening of 200 readers behind one address of a carrier. A few are
// members and log in.
func carrier(l *log) {
	const readers = 200
	addr := netip.MustParseAddr("198.51.100.8")
	for n := range readers {
		b := &browser{addr: addr, agent: pick(l, phoneAgents)}
		at := l.in(morning+10*hour, 4*hour)
		l.read(b, at, l.between(2, 9))
		if n%12 == 0 {
			l.logIn(b, at+60, l.mistypes())
		}
		if l.one(10) { // Chrome asks whether its prefetch proxy may come
			l.get(b, at, "/.well-known/traffic-advice", 404, "")
		}
	}
}

// forgetful people try what they once used, and then ask for a new password.
func forgetful(l *log) {
	for n := range 20 {
		b := &browser{addr: address(n), agent: pick(l, agents)}
		at := l.in(morning, 9*hour)
		l.view(b, at, "/", "")
		tries := l.between(4, 6)
		for range tries {
			at += int64(l.between(6, 25))
			l.post(b, at, "/wp-login.php", 200, origin+"/wp-login.php")
		}
		l.get(b, at+9, "/wp-login.php?action=lostpassword", 200, origin+"/wp-login.php")
		l.post(b, at+20, "/wp-login.php?action=lostpassword", 302, origin+"/wp-login.php?action=lostpassword")
		l.get(b, at+140, "/wp-login.php?action=rp", 302, "")
		l.post(b, at+170, "/wp-login.php?action=resetpass", 200, origin+"/wp-login.php?action=rp")
		l.logIn(b, at+180, l.between(0, 1))
	}
}

// editors work in WordPress all day. One tab is left open after its session has
// ended: what a plugin asks every half minute is then answered by 400.
func editors(l *log) {
	for n := range 4 {
		b := &browser{addr: address(n), agent: pick(l, agents)}
		at := l.logIn(b, l.in(morning, hour), l.mistypes())
		const edit = origin + "/wp-admin/post.php?post=214&action=edit"
		for end := at + 6*hour; at < end; at += int64(l.between(15, 60)) {
			l.post(b, at, "/wp-admin/admin-ajax.php", 200, edit)
			switch l.rng.IntN(12) {
			case 0:
				l.post(b, at+2, "/wp-json/wp/v2/posts/214?_locale=user", 200, edit)
			case 1:
				for range l.between(1, 12) { // pictures dropped into the page
					l.post(b, l.in(at, 40), "/wp-admin/async-upload.php", 200, edit)
				}
			case 2:
				l.post(b, at+3, "/wp-admin/post.php", 302, edit)
				l.get(b, at+4, "/?p=214&preview=true", 200, edit)
			}
		}
		for range 600 {
			l.post(b, at, "/wp-admin/admin-ajax.php", 400, edit)
			at += 30
		}
	}
}

// joomlaEditors work in Joomla's backend, which sends its lists' filters by POST
// and answers them with 200; a failed login is 200 too, and a save is 303.
func joomlaEditors(l *log) {
	const admin, list = "/administrator/index.php", "/administrator/index.php?option=com_content&view=articles"
	addr := netip.MustParseAddr("198.51.100.9")
	for range 10 { // one office
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning, hour)
		l.get(b, at, "/administrator/", 200, "")
		for range l.mistypes() {
			at += int64(l.between(4, 15))
			l.post(b, at, admin, 200, origin+"/administrator/")
		}
		l.post(b, at+10, admin, 303, origin+"/administrator/")
		for end := at + 4*hour; at < end; at += int64(l.between(10, 240)) {
			l.get(b, at, list, 200, origin+admin)
			if l.one(3) {
				l.post(b, at+4, list, 200, origin+list)
			}
			if l.one(3) {
				id := l.rng.IntN(400)
				save := fmt.Sprintf("/administrator/index.php?option=com_content&layout=edit&id=%d", id)
				l.get(b, at+6, save, 200, origin+list)
				l.post(b, at+9, save, 303, origin+save)
			}
		}
	}
}

// portal is an office that works in an application all day. Its page asks eight
// scripts for what is new, every minute. When a session has ended, they answer 403,
// and so does what is typed into a form, until the person logs in again.
func portal(l *log) {
	addr := netip.MustParseAddr("198.51.100.10")
	widgets := []string{"news", "tasks", "mail", "calendar", "people", "files", "search", "alerts"}
	forms := []string{"save", "approve", "upload", "comment", "assign", "close"}
	for range 30 {
		b := &browser{addr: addr, agent: pick(l, agents)}
		at, ends := l.in(morning, hour), int64(0)
		for end := at + 8*hour; at < end; at += minute {
			status := 200
			if at > ends {
				status = 403
			}
			for _, w := range widgets {
				l.get(b, l.in(at, 2), "/portal/"+w+".do", status, origin+"/portal/home.do")
			}
			if l.one(4) {
				l.post(b, at+5, "/portal/"+pick(l, forms)+".do", status, origin+"/portal/home.do")
			}
			if status == 403 && l.one(8) { // the person is back and sees it
				l.post(b, at+20, "/portal/login.do", 302, origin+"/portal/login.do")
				ends = at + int64(l.between(30, 90))*minute
			}
		}
	}
}
