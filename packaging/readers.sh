# readers FILE prints who reads a file, a line each: the configs below /etc that
# name it, and nginx where it includes it in another way, as by a pattern. They
# fail to start without the file.
readers() {
	grep -rIlsF --exclude-dir=edgeguard --exclude-dir=systemd -- "$1" /etc /usr/local/etc || true
	if command -v nginx >/dev/null; then
		nginx -T 2>/dev/null | grep -qxF "# configuration file $1:" && echo nginx
	fi
	return 0
}
