package pattern

// sshdHead: the listener, the session and, since 9.8 and 10.0, what is before the login.
const sshdHead = `{sshd|sshd-session|sshd-auth}`

// preauth is what the monitor appends to lines of its unprivileged child.
const preauth = `(?: \[preauth\])?`

// hostServices are logins to a host, and what its kernel and its wrappers refuse.
var hostServices = []service{
	{
		// OpenSSH 10: auth.c auth_log, auth_maxtries_exceeded, auth_root_allowed,
		// allowed_user, getpwnamallow; auth-pam.c sshpam_auth_passwd; packet.c sshpkt_vfatal,
		// sshpkt_fmt_connection_id; sshd.c child_reap, drop_connection; kex.c. A name has its
		// control characters escaped (log.c do_log, strnvis). Left out, because an honest
		// client sends them too: "Failed none", "Failed publickey", "Received disconnect".
		name: "sshd",
		failures: []string{
			sshdHead + `Failed (?:password|keyboard-interactive(?:/[\w-]+)?) for .* from ADDR(?: port \d+)?(?: ssh\d?)?$`,
			sshdHead + `(?:Invalid|Illegal) user .* from ADDR(?: port \d+)?$`,
			sshdHead + `error: PAM: [A-Za-z .,'-]+ for .* from ADDR(?: via [^ ]+)?$`,
			sshdHead + `error: maximum authentication attempts exceeded for .* from ADDR port \d+ ssh2` + preauth + `$`,
			sshdHead + `ROOT LOGIN REFUSED FROM ADDR(?: port \d+)?` + preauth + `$`,
			sshdHead + `User .* from ADDR not allowed because (?:not listed in AllowUsers|listed in DenyUsers|not in any group|` +
				`a group is listed in DenyGroups|none of user's groups are listed in AllowGroups)$`,
		},
		connects: []string{
			sshdHead + `(?:fatal: )?Timeout before authentication for (?:connection from )?ADDR(?: port \d+| to [^ ]+)?(?:, pid = \d+.*)?$`,
			sshdHead + `(?:Disconnected from|Connection (?:closed|reset) by) (?:authenticating|invalid) user .* ADDR port \d+ \[preauth\]$`,
			sshdHead + `(?:Connection (?:closed|reset) by|Connection from) ADDR port \d+(?: timed out)?` + preauth + `$`,
			sshdHead + `(?:error: |fatal: )?(?:banner exchange|ssh_\w+|sshpkt_\w+|kex_\w+): Connection from ADDR port \d+: `,
			sshdHead + `Did not receive identification string from ADDR(?: port \d+)?$`,
			sshdHead + `Bad protocol version identification '.*' from ADDR(?: port \d+)?$`,
			sshdHead + `Unable to negotiate with ADDR port \d+: `,
			sshdHead + `(?:probed|scanned) from ADDR port \d+ with `,
			sshdHead + `drop connection #\d+ from \[(?P<addr>[^\]]+)\]:\d+ on `,
		},
	},
	{
		// Dropbear 2025: svr-auth.c checkusername; svr-authpasswd.c; svr-authpam.c;
		// svr-session.c svr_dropbear_exit and, for a log on stderr, svr_dropbear_log.
		name: "dropbear",
		failures: []string{
			`{dropbear}(?:\[\d+\] \w{3} [ \d]\d [\d:]{8} )?` + dropbearFailure,
			`^\[\d+\] (?P<time>\w{3} [ \d]\d [\d:]{8}) ` + dropbearFailure,
			`{dropbear}[Ee]xit before auth \(user '.*', \d+ fails\): Max auth tries reached - user '.*' from ADDR:\d+$`,
			`{dropbear}[Ee]xit before auth from <(?P<addr>[^>]+)>: \(user '.*', \d+ fails\): Max auth tries reached`,
		},
		connects: []string{`{dropbear}(?:Exit before auth|Early exit) from <(?P<addr>[^>]+)>: [^(]`},
	},
	{
		// Linux-PAM: pam_unix's support.c _unix_verify_password; libpam's pam_syslog.c; pam_sss
		// and pam_ldap write the same. ruser= is empty for sshd and for local logins; elsewhere it
		// is what a client typed.
		name: "pam", shared: true,
		failures: []string{
			`{}(?:(?:` + hostWord + ` )?(?:auth\w*\.[a-z]+ )?[\w./()-]+(?:\[\d+\])?: |` + hostWord + ` [\w./()-]+ [^ ]+ [^ ]+ (?:-|(?:\[[^\]]*\])+) \x{FEFF}?)(?:\(pam_unix\) |pam_\w+\([\w:.-]+\): )?authentication failure; logname=[^ ]* uid=\d+ euid=\d+ tty=[^ ]* ruser= rhost=ADDR(?: .*)?$`,
		},
	},
	{
		name: "audit",
		failures: []string{
			`^type=USER_(?:AUTH|ERR) msg=audit\((?P<time>[\d.]+):\d+\): (?:user )?pid=\d+ uid=\d+ auid=\d+ ses=\d+ (?:subj=[^ ]+ )?` +
				`msg='op=[\w:]+ (?:grantors=[^ ]* )?acct=(?:"[^"]*"|[0-9A-F]+|\?) exe="[^"]*" hostname=[^ ]* addr=ADDR terminal=[^ ]* res=(?:failed|0)'`,
		},
	},
	{
		name: "netfilter",
		others: []string{
			`{kernel}` + netfilter + `PROTO=TCP SPT=\d+ DPT=(?P<port>\d+) .* (?P<syn>SYN) URGP=`,
			`{kernel}` + netfilter + `PROTO=(?P<udp>UDP) SPT=\d+ DPT=(?P<port>\d+) `,
			`{kernel}` + netfilter + `PROTO=(?P<icmp>ICMP(?:v6)?) `,
		},
	},
	{name: "endlessh", connects: []string{`{endlessh}ACCEPT host=ADDR port=\d+ `}},
	{name: "cowrie", connects: []string{`{?cowrie}\[[\w.,:-]+\] New connection: ADDR:\d+ \([^()]*\) \[session: `}},
	{
		// xrdp 0.10: sesman's login_info.c log_authfail_message.
		name: "xrdp", forgeable: true, failures: []string{`AUTHFAIL: user=.* ip=ADDR time=(?P<time>\d+)$`},
	},
	{
		// scanlogd 2.2: do_log; PortSentry 2: sentry.c and, of version 1, portsentry.c. What they see
		// are packets, whose sender can be forged.
		name: "scanlogd", forgeable: true, rejected: []string{`{scanlogd}ADDR to [^ ]+ (?:and others, )?ports `},
	},
	{
		name: "portsentry", forgeable: true, rejected: []string{
			`{?portsentry}(?:attackalert: )?Scan from: \[(?P<addr>[^\]]+)\] `,
			`{portsentry}attackalert: [\w/ ]+ from host: [^/ ]*/ADDR to (?:TCP|UDP) port: \d+`,
		},
	},
	{name: "xinetd", rejected: []string{`{xinetd}FAIL: [\w-]+ [\w-]+ from=ADDR$`}},
	{name: "nrpe", rejected: []string{`{nrpe}Host ADDR is not allowed to talk to us!$`}},
	{name: "screensharingd", failures: []string{`{screensharingd}Authentication: FAILED :: User Name: .* :: Viewer Address: ADDR :: Type: [\w/-]+$`}},
	{
		// OpenVPN: multi.c and ssl.c; the prefix is the peer's address, from a datagram.
		name: "openvpn", forgeable: true,
		failures: []string{
			`{}ADDR:\d+ (?:TLS Error|TLS Auth Error|VERIFY ERROR): `,
			`{openvpn*|ovpn*}(?:tls-crypt unwrap error from )?ADDR:\d+ (?:TLS Error|TLS Auth Error|VERIFY ERROR): `,
		},
	},
	{name: "softether", failures: []string{
		`{}(?:[^<>]*<SECURITY_LOG>: )?Connection "CID-\d+": User authentication failed\. The user name that has been provided was ".*", from ADDR\.$`,
	}},
	{name: "routeros", failures: []string{
		`{}(?:[\w.:-]+ )?system,error,critical(?: [\w.-]+:)? login failure for user .* from ADDR via [a-z-]+$`,
	}},
	{name: "stunnel", rejected: []string{`{?stunnel*}LOG\d\[[\w:]+\]: SSL_accept from ADDR:\d+ : `}},
	{
		// Proxmox VE: pve-access-control's API2/AccessControl.pm create_ticket, verify_ticket and
		// API2/OpenId.pm. Proxmox Backup and Datacenter Manager: proxmox-rest-server's
		// environment.rs log_failed_auth, in api/auth.log.
		name: "proxmox",
		failures: []string{
			`{?pvedaemon|pveproxy|pmgdaemon|pmgproxy|proxmox-backup-api|proxmox-backup-proxy|proxmox-datacenter-*}(?:openid )?authentication failure; rhost=ADDR (?:user|msg)=`,
		},
	},
	{
		// Webmin and Usermin: miniserv.pl validate_user's callers, and its webmin.log
		// (web-lib-funcs.pl webmin_log).
		name: "webmin",
		failures: []string{
			`{webmin|usermin|miniserv.pl}(?:Invalid|Non-existent|Expired) login as .* from ADDR$`,
			`^[\d.]+ \[(?P<time>[^\]]+)\] .* [^ ]+ ADDR [\w-]+ miniserv\.pl "failed" "[^"]*" "[^"]*"$`,
		},
		rejected: []string{`{webmin|usermin|miniserv.pl}Security alert: Host ADDR blocked after `},
	},
}

const dropbearFailure = `(?:[Bb]ad (?:PAM )?password attempt for '.*'|Too-long password attempt for '.*'|[Ll]ogin attempt for nonexistent user(?: '.*')?|` +
	`Login attempt with wrong user .*|Pubkey auth bad signature for '.*') from (?P<addr>[^ ]+)$`

const netfilter = `(?:\[ *[\d.]+\] )?[^=]*IN=[^ ]* OUT=[^ ]* (?:PHYSIN=[^ ]* )?(?:PHYSOUT=[^ ]* )?(?:MAC=[^ ]* )?SRC=ADDR DST=[^ ]+ .*`
