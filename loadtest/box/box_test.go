package box

import (
	"runtime"
	"testing"
	"time"
)

// A scenario is what one box is booted for.
type scenario struct {
	name    string
	follows []string // marks in the pages
	run     func(t *testing.T, b *box)
}

var scenarios = []scenario{
	{"nginx-geo", []string{"install", "nginx-geo"}, nginxGeo},
}

// rules are limits that a test reaches soon: one with a block that outlasts the
// test, and one with a short block. Requests for other pages count nothing.
const rules = `[{name: long, match: {path: "/long*"}, threshold: 100, block_for: 1h}, {name: short, match: {path: "/short*"}, threshold: 10, block_for: 12s}]`

func nginxGeo(t *testing.T, b *box) {
	b.follow("install", edit{"amd64", runtime.GOARCH})
	b.run("rm /etc/nginx/sites-enabled/default")
	b.follow("nginx-geo", edit{"[{name: site, threshold: 2000}]", rules}, edit{"mode: monitor", "mode: enforce"},
		edit{"# …", "listen 80; root /var/www/html;"})
	b.proves(proof{refused: answer.refused, proxy: "nginx", rotate: "/etc/logrotate.d/nginx"})
}

// A proof is what a way to refuse must do. refused says what it looks like.
type proof struct {
	refused func(answer) bool
	proxy   string // its unit
	rotate  string // the config of logrotate for the log
}

// proves shows that a box refuses an offender and nobody else, until the block
// ends, through whatever is done to it.
func (b *box) proves(p proof) {
	b.t.Helper()
	b.offends(offender, "/long", p)
	b.confined()
	b.passes(neighbour)
	b.offends(brief, "/short", p)
	b.until("the short block has ended", func() bool { return b.get(brief, "/", 2*time.Second).passed() })
	b.run("systemctl restart edgeguard " + p.proxy)
	b.still(p, "after a restart")
	if p.rotate != "" {
		b.run("logrotate -f " + p.rotate + "; logrotate -f " + p.rotate)
		b.offends(late, "/long", p)
	}
	b.upgrade()
	b.still(p, "after an upgrade")
}

// confined fails if the unit may do more than it must.
func (b *box) confined() {
	b.t.Helper()
	b.t.Log(b.run("systemd-analyze --no-pager security edgeguard --threshold=15 | tail -n 1"))
}

// offends sends requests until one is refused. The first must not be.
func (b *box) offends(from, path string, p proof) {
	b.t.Helper()
	b.passes(from)
	b.until(from+" is refused", func() bool { return p.refused(b.get(from, path, 2*time.Second)) })
}

// still fails if the offender is not refused any more, or the neighbour is.
func (b *box) still(p proof, when string) {
	b.t.Helper()
	if got := b.get(offender, "/", 2*time.Second); !p.refused(got) {
		b.t.Errorf("%s: the offender received %d", when, got)
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
