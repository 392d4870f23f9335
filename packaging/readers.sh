# readers FILE prints who reads a file, a line each: the configs below /etc that
# name it, and nginx where it includes it in another way, as by a pattern. They
# fail to start without the file. nginx waits for ever where a list was replaced by
# a pipe.
readers() {
	grep -rIlsF --exclude-dir=edgeguard --exclude-dir=systemd -- "$1" /etc /usr/local/etc || true
	if command -v nginx >/dev/null; then
		timeout --kill-after=5 20 nginx -T 2>/dev/null | grep -qxF "# configuration file $1:" && echo nginx
	fi
	return 0
}
