package box

import (
	"regexp"
	"runtime"
	"strings"
)

// A scenario is what one box is booted for.
type scenario struct {
	name    string
	follows []string // marks in the pages
	run     func(b *box)
}

var scenarios = []scenario{
	{"setup by the page", []string{"install", "setup"}, setup},
	{"edgeguard.socket", []string{"install"}, socket},
	{"README.md installs the package", []string{"readme"}, readme},
	{"fail2ban by the page", []string{"install", "fail2ban"}, fail2ban},
	{"snippets nftables", []string{"install", "kernel-trial"}, nftables},
}

func init() {
	for name, server := range map[string]string{"nginx-names": "nginx", "haproxy-peers": "haproxy", "caddy-names": "caddy"} {
		scenarios = append(scenarios, scenario{"setup, then snippets " + name + " --install", []string{"install"}, func(b *box) { b.wired(name, server) }})
	}
	for _, w := range ways {
		scenarios = append(scenarios, scenario{"snippets " + w.name, []string{"install"}, w.run})
	}
}

// architecture is what the pages call amd64.
const architecture = runtime.GOARCH

// rules are limits that a test reaches soon: one with a block that outlasts the
// test, and one with a short block. Requests for other pages count nothing.
const rules = `[{name: long, match: {path: "/long*"}, threshold: 100, block_for: 1h}, {name: short, match: {path: "/short*"}, threshold: 10, block_for: 12s}]`

// setup is docs/operations.md's way to a first config: nginx's log is counted.
func setup(b *box) {
	b.follow("install", edit{"amd64", architecture})
	b.run("systemctl start nginx")
	b.passes(neighbour)
	b.follow("setup", edit{"edgeguard setup ", "edgeguard setup --yes "})
	b.counts()
}

// wired is how a package's own configuration comes to refuse, by three commands, and how it is as
// before after one more.
func (b *box) wired(name, server string) {
	b.follow("install", edit{"amd64", architecture})
	if server == "haproxy" {
		b.run("systemd-run --quiet --unit=backend python3 -m http.server --bind 127.0.0.1 8080; " + haproxySite)
	}
	b.run("systemctl restart " + server)
	b.passes(neighbour)
	sums := "find /etc/" + server + " -type f | sort | xargs md5sum"
	before := b.run(sums)
	b.t.Log(b.run("edgeguard setup --yes"))
	install := "edgeguard snippets " + name + " --install --yes"
	other := "setpriv --reuid nobody --regid nogroup --clear-groups " + install
	for _, stopped := range [][2]string{
		{"run it as root", other},
		{"read-only file system", "mount -o bind,ro /etc/" + server + " /etc/" + server + "; " + install + " 2>&1 && exit 0; umount /etc/" + server + "; false"},
		{"run it as root", other}, // after root's own try
	} {
		if out, err := b.try(stopped[1]); err == nil || !strings.Contains(out, stopped[0]) {
			b.t.Errorf("%s: %v\n%s", stopped[1], err, out)
		}
	}
	if after := b.run(sums); after != before {
		b.t.Errorf("after what failed:\n%s\nwas\n%s", after, before)
	}
	for _, seconds := range []string{"0.1", "0.3", "0.5", "0.8", "1.2"} {
		out, _ := b.try("timeout -s KILL " + seconds + " " + install)
		b.t.Logf("killed after %s s: %s", seconds, tail(out, 3))
	}
	b.t.Log(b.run(install))
	b.t.Log(b.run("edgeguard snippets " + name + " --check"))
	b.run("edgeguard blocks add " + offender + " --for 1h --force --reason box")
	b.until("the offender is refused", func() bool { return b.get(offender, "/").refused() })
	b.counts()
	b.run("edgeguard doctor")
	if out := b.run("edgeguard snippets " + name + " --install --yes"); !strings.Contains(out, "nothing to do") {
		b.t.Errorf("installed twice: %s", out)
	}
	b.t.Log(b.run("edgeguard snippets " + name + " --remove --yes"))
	b.until("the offender passes", func() bool { return b.get(offender, "/").passed() })
	if after := b.run(sums); after != before {
		b.t.Errorf("%s\nwas\n%s", after, before)
	}
}

// readme is how README.md installs.
func readme(b *box) {
	b.run("systemctl start nginx")
	b.passes(neighbour)
	b.follow("readme", edit{"amd64", architecture}, edit{"edgeguard setup ", "edgeguard setup --yes "})
	b.counts()
	b.run("curl -fs http://127.0.0.1:9190/ && edgeguard doctor")
}

// counts waits until a request that the log has is counted.
func (b *box) counts() {
	b.t.Helper()
	b.until("a request is counted", func() bool {
		b.passes(neighbour)
		_, err := b.try(`curl -s http://127.0.0.1:9190/metrics | grep 'edgeguard_log_lines_total{.*parsed.*} [1-9]'`)
		return err == nil
	})
}

// socket opens the socket by systemd, before the node and after it: its group may connect.
func socket(b *box) {
	b.follow("install", edit{"amd64", architecture})
	const group = `systemctl start edgeguard.socket
		stat -c '%U %G %a' /run/edgeguard/auth.sock /run/edgeguard
		[ "$(stat -c '%G %a' /run/edgeguard/auth.sock)" = 'edgeguard 660' ]`
	b.run(group)
	b.run("systemctl start edgeguard && edgeguard blocks && systemctl stop edgeguard edgeguard.socket")
	b.run(group)
}

// A proof is what a way to refuse must do.
type proof struct {
	server string // the unit of what refuses, or is protected
	rotate string // logrotate's config of the log that counts
	drops  bool   // the packet filter refuses, and not the server
	// forgets says that the server keeps its list in memory, and has it again from
	// edgeguard soon after a restart.
	forgets bool
	// asks says that the server asks edgeguard and lets a request pass that it has no
	// answer for in milliseconds. On a busy machine that may be any request.
	asks bool
	// right says that the unit may change the packet filter.
	right bool
}

// refuses reports whether a request is refused.
func (b *box) refuses(from, path string, p proof) bool {
	if p.drops {
		return b.get(from, path) == none
	}
	return b.get(from, path).refused()
}

// proves shows that a box refuses an offender and nobody else, until the block
// ends, through whatever is done to it.
func (b *box) proves(p proof) {
	b.t.Helper()
	b.until("the offender is refused", func() bool { return b.refuses(offender, "/long", p) })
	b.confined(p)
	b.correct()
	b.passes(neighbour)
	b.offends(brief, "/short", p)
	b.until("the short block has ended", func() bool { return b.get(brief, "/").passed() })
	b.run("systemctl restart edgeguard " + p.server)
	if p.forgets {
		b.until("the offender is refused after a restart", func() bool { return b.refuses(offender, "/", p) })
	}
	b.still(p, "after a restart")
	if p.rotate != "" {
		b.run("logrotate -f " + p.rotate + "; logrotate -f " + p.rotate)
		b.offends(late, "/long", p)
	}
	b.upgrade()
	b.still(p, "after an upgrade")
	b.remove(p)
}

// known are doubts of doctor that are right in a box: it has no clock of its own, and the
// short block is shorter than its window.
var known = regexp.MustCompile(`clock: not synchronized|block_for 12s is shorter`)

// correct fails if doctor finds another fault with this install.
func (b *box) correct() {
	b.t.Helper()
	out, err := b.try("edgeguard doctor")
	for line := range strings.Lines(out) {
		if (strings.HasPrefix(line, "wrong ") || strings.HasPrefix(line, "doubt ")) && !known.MatchString(line) {
			b.t.Errorf("doctor: %s", line)
		}
	}
	if err != nil {
		b.t.Errorf("doctor: %v\n%s", err, out)
	}
}

// confined fails if the unit may do more than it must.
func (b *box) confined(p proof) {
	b.t.Helper()
	exposure := "15"
	if p.right {
		exposure = "20"
	}
	b.t.Log(b.run("systemd-analyze --no-pager security edgeguard --threshold=" + exposure + " | tail -n 1"))
}

// offends sends requests until one is refused. The first must not be.
func (b *box) offends(from, path string, p proof) {
	b.t.Helper()
	b.passes(from)
	b.until(from+" is refused", func() bool { return b.refuses(from, path, p) })
}

// still fails if the offender is not refused any more, or the neighbour is.
func (b *box) still(p proof, when string) {
	b.t.Helper()
	if p.asks {
		b.until(when+" the offender is refused", func() bool { return b.refuses(offender, "/", p) })
	} else if !b.refuses(offender, "/", p) {
		b.t.Errorf("%s: the offender passes", when)
	}
	b.passes(neighbour)
}

// upgrade installs the same program as a later version.
func (b *box) upgrade() {
	b.t.Helper()
	b.run(`dpkg-deb -R /root/edgeguard_*.deb /root/next
		sed -i 's/^Version: .*/Version: 99.0/' /root/next/DEBIAN/control
		dpkg-deb -Znone -b /root/next /root/next.deb
		dpkg -i /root/next.deb`)
	if out := b.run("dpkg-query -W -f '${Version}' edgeguard; systemctl is-active edgeguard"); out != "99.0active" {
		b.t.Errorf("after an upgrade: %s", out)
	}
}

// remove removes the package: no address stays refused, and the server starts.
func (b *box) remove(p proof) {
	b.t.Helper()
	b.run("dpkg -r edgeguard && systemctl restart " + p.server)
	b.until("the offender passes again", func() bool { return b.get(offender, "/").passed() })
	b.passes(neighbour)
}

// again installs the package again, which finds its config and state.
func (b *box) again(p proof) {
	b.t.Helper()
	b.run("dpkg -i /root/edgeguard_*.deb && systemctl restart edgeguard")
	b.until("the offender is refused again", func() bool { return b.refuses(offender, "/", p) })
	b.passes(neighbour)
}

// fail2ban is docs/operations.md's way to have fail2ban's bans in force: by nginx here,
// of an address that guesses passwords of sshd. It asks the site for nothing before:
// a ban of who sends more than a fifth of the requests is refused.
func fail2ban(b *box) {
	b.site(way{server: "nginx"})
	b.printed("nginx", "install")
	b.run("touch /var/log/auth.log; systemctl start fail2ban") // with the action of Debian
	b.follow("fail2ban")
	b.until("fail2ban answers", func() bool { _, err := b.try("fail2ban-client status sshd"); return err == nil })
	b.run("fail2ban-client set sshd bantime 30")
	guess := "logger -p auth.info -t 'sshd[77]' 'Failed password for root from " + offender + " port 4711 ssh2'"
	b.until("fail2ban bans", func() bool {
		return strings.Contains(b.run(guess+"; edgeguard blocks list --owner fail2ban"), offender)
	})
	b.until("the offender is refused", func() bool {
		_, _ = b.try(guess) // the ban may have ended before it was seen
		return b.get(offender, "/").refused()
	})
	b.passes(neighbour)
	b.until("the ban has ended", func() bool { return b.get(offender, "/").passed() })
}
