package box

import (
	"strings"
)

// nftables follows the snippet of that name, and the page's way not to be locked out:
// refused, spared, released, through restarts, an upgrade and the removal.
func nftables(b *box) {
	b.site(way{server: "nginx"})
	b.run(`sed -i 's/emit: request}/emit: nothing}/' /etc/edgeguard/edgeguard.yaml
		echo 'sensors: {accesslog: [` + nginxLog + `]}' >>/etc/edgeguard/edgeguard.yaml`)
	before := b.run("cat /etc/edgeguard/edgeguard.yaml")
	b.printed("nftables", "install")
	b.printed("nftables", "check")
	p := proof{server: "nginx", rotate: "/etc/logrotate.d/nginx", drops: true, right: true}
	b.offends(offender, "/long", p)
	b.trial(p)
	b.proves(p)
	b.again(p)
	b.write("/etc/edgeguard/edgeguard.yaml", before+"\n") // what the commands say in words
	b.printed("nftables", "remove")
	b.until("nobody is refused", func() bool { return b.get(offender, "/").passed() })
	b.passes(neighbour)
	if out := b.run("nft list tables"); strings.Contains(out, "edgeguard") {
		b.t.Errorf("left: %s", out)
	}
}

// trial follows the page's commands with an offender that the kernel drops: a trial that
// is not confirmed lets him in, also where edgeguard is killed in it, and one that is
// confirmed does not.
func (b *box) trial(p proof) {
	b.t.Helper()
	released := func(when string) {
		b.t.Helper()
		b.until(when, func() bool { return b.get(offender, "/").passed() })
		b.run(`if edgeguard enforce status; then exit 1; fi
			(edgeguard enforce status || true) | grep '^paused: '`)
	}
	b.run("edgeguard enforce try 10s")
	b.until("the offender is refused on trial", func() bool {
		if b.refuses(offender, "/", p) {
			return true
		}
		_, _ = b.try("edgeguard enforce status | grep -q '^paused: ' && edgeguard enforce try 10s") // where the first has ended already
		return false
	})
	released("the trial has ended")
	b.run("edgeguard enforce try 1h && systemctl kill --signal=KILL edgeguard")
	b.until("the node answers again", func() bool { _, err := b.try("edgeguard blocks"); return err == nil })
	released("edgeguard was killed in the trial")
	b.follow("kernel-trial", edit{"enforce try 5m ", "enforce try 1h "})
	b.until("the offender is refused after the trial", func() bool { return b.refuses(offender, "/", p) })
	b.run("edgeguard enforce clear && systemctl restart edgeguard")
	released("cleared, and started again")
	b.run("edgeguard enforce resume")
	b.until("the offender is refused again", func() bool { return b.refuses(offender, "/", p) })
	b.passes(neighbour)
}
