package pattern

import "slices"

var services = slices.Concat(errorLogServices, hostServices, mailServices, fileServices, dataServices, voiceServices, webServices, mediaServices, jsonServices)

// hostServices are logins to a host, and what its kernel and its wrappers refuse.
var hostServices = []service{
	{
		name: "sshd",
		failures: []string{
			`{sshd|sshd-session}Failed (?:password|keyboard-interactive(?:/pam)?) for .* from ADDR(?: port \d+)?(?: ssh\d?)?$`,
			`{sshd|sshd-session}(?:Invalid|Illegal) user .* from ADDR(?: port \d+)?$`,
			`{sshd|sshd-session}error: PAM: [A-Za-z ]+ for .* from ADDR(?: via [^ ]+)?$`,
			`{sshd|sshd-session}error: maximum authentication attempts exceeded for .* from ADDR port \d+ ssh2 \[preauth\]$`,
			`{sshd|sshd-session}ROOT LOGIN REFUSED FROM ADDR(?: port \d+)?$`,
			`{sshd|sshd-session}User .* from ADDR not allowed because (?:not listed in AllowUsers|listed in DenyUsers|not in any group|` +
				`a group is listed in DenyGroups|none of user's groups are listed in AllowGroups)$`,
		},
		connects: []string{
			`{sshd|sshd-session}(?:fatal: )?Timeout before authentication for ADDR(?: port \d+)?$`,
			`{sshd|sshd-session}(?:Disconnected from|Connection (?:closed|reset) by) (?:authenticating|invalid) user .* ADDR port \d+ \[preauth\]$`,
			`{sshd|sshd-session}Connection (?:closed|reset) by ADDR port \d+(?: \[preauth\])?$`,
			`{sshd|sshd-session}banner exchange: Connection from ADDR port \d+: `,
			`{sshd|sshd-session}Did not receive identification string from ADDR(?: port \d+)?$`,
			`{sshd|sshd-session}Bad protocol version identification '.*' from ADDR(?: port \d+)?$`,
			`{sshd|sshd-session}Unable to negotiate with ADDR port \d+: `,
		},
	},
	{
		name: "dropbear",
		failures: []string{
			`{dropbear}(?:\[\d+\] \w{3} [ \d]\d [\d:]{8} )?[Bb]ad (?:PAM )?password attempt for '.*' from ADDR:\d+$`,
			`{dropbear}[Ll]ogin attempt for nonexistent user(?: '.*')? from ADDR:\d+$`,
			`{dropbear}[Ee]xit before auth \(user '.*', \d+ fails\): Max auth tries reached - user '.*' from ADDR:\d+$`,
		},
	},
	{
		// ruser= is empty for sshd and for local logins; elsewhere it is what a client
		// typed.
		name: "pam",
		failures: []string{
			`{}(?:[\w.-]+ )?[\w./()-]+(?:\[\d+\])?: (?:\(pam_unix\) |pam_unix\([\w:-]+\): )?authentication failure; logname=[^ ]* uid=\d+ euid=\d+ tty=[^ ]* ruser= rhost=ADDR(?: .*)?$`,
		},
	},
	{
		name: "audit",
		failures: []string{
			`^type=USER_(?:AUTH|ERR) msg=audit\((?P<time>[\d.]+):\d+\): (?:user )?pid=\d+ uid=\d+ auid=\d+ ses=\d+ (?:subj=[^ ]+ )?` +
				`msg='op=[\w:]+ (?:grantors=[^ ]* )?acct=(?:"[^"]*"|[0-9A-F]+|\?) exe="[^"]*" hostname=[^ ]* addr=ADDR terminal=[^ ]* res=failed'`,
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
	{name: "cowrie", connects: []string{`{cowrie}[^ ]+ \[[\w.]+\] New connection: ADDR:\d+ \([^()]*\) \[session: `}},
	{name: "xinetd", rejected: []string{`{xinetd}FAIL: [\w-]+ [\w-]+ from=ADDR$`}},
	{name: "nrpe", rejected: []string{`{nrpe}Host ADDR is not allowed to talk to us!$`}},
	{name: "screensharingd", failures: []string{`{screensharingd}Authentication: FAILED :: User Name: .* :: Viewer Address: ADDR :: Type: [\w/-]+$`}},
	{name: "openvpn", forgeable: true, failures: []string{
		`{}ADDR:\d+ (?:TLS Error|TLS Auth Error|VERIFY ERROR): `,
		`{openvpn*|ovpn*}(?:tls-crypt unwrap error from )?ADDR:\d+ (?:TLS Error|TLS Auth Error|VERIFY ERROR): `,
	}},
	{name: "softether", failures: []string{
		`{}(?:[^<>]*<SECURITY_LOG>: )?Connection "CID-\d+": User authentication failed\. The user name that has been provided was ".*", from ADDR\.$`,
	}},
	{name: "routeros", failures: []string{`{}[\w.:-]+ system,error,critical login failure for user .* from ADDR via [a-z-]+$`}},
	{name: "stunnel", rejected: []string{`{}LOG\d\[[\w:]+\]: SSL_accept from ADDR:\d+ : `}},
	{name: "proxmox", failures: []string{`{pvedaemon|pveproxy}authentication failure; rhost=ADDR user=`}},
}

const netfilter = `(?:\[ *[\d.]+\] )?[^=]*IN=[^ ]* OUT=[^ ]* (?:PHYSIN=[^ ]* )?(?:PHYSOUT=[^ ]* )?(?:MAC=[^ ]* )?SRC=ADDR DST=[^ ]+ .*`

// eximFailure relies on helo_accept_junk_hosts, which is off: a name in HELO has
// neither blanks nor parentheses.
const eximFailure = `(?:\[\d+\] )?[\w-]+ authenticator failed for (?:[\w.-]+ )?(?:\([^() ]*\) )?\[(?P<addr>[^\]]+)\](?::\d+)?(?: I=\[[^\]]*\]:\d+)?(?: Ci=\d+)?: 535 `

// mailServices are the services that send, store and show mail.
var mailServices = []service{
	{
		// "Connection lost to authentication server" and "Invalid authentication
		// mechanism" are no failed logins.
		name:     "postfix",
		failures: []string{`{postfix*/smtpd|postfix*/smtps}warning: [^ \[]*\[(?P<addr>[^\]]+)\](?::\d+)?: SASL [^ ]+ authentication failed(?:$|:$|: (?:[^CI]|$))`},
		rejected: []string{`{postfix*/smtpd|postfix*/smtps}NOQUEUE: reject: [A-Z]+ from [^ \[]*\[(?P<addr>[^\]]+)\](?::\d+)?: [45]\d\d `},
	},
	{name: "dovecot", failures: []string{
		`{dovecot}[\w-]+-login: .*\(auth failed.*, rip=(?P<addr>[^ ,]+), lip=[^ ,=]+(?:, mpid=\d+)?(?:, (?:secured|TLS)[^,<>=]*)?(?:, session=<[\w+/=]*>)?$`,
	}},
	{
		name: "exim",
		failures: []string{
			`{}` + eximFailure, `{exim}` + eximFailure,
		},
		rejected: []string{
			`{}(?:\[\d+\] )?(?:[\w-]{16,23} )?H=(?:[\w.-]+ )?(?:\([^() ]*\) )?\[(?P<addr>[^\]]+)\](?::\d+)? .*(?:rejected|sender verify fail)`,
		},
	},
	{name: "courier", failures: []string{`{imapd*|pop3d*|courier*|pop3login|imaplogin}LOGIN FAILED, .*ip=\[(?P<addr>[^\]]+)\](?:, port=\[\d+\])?$`}},
	{name: "cyrus", failures: []string{`{cyrus*|imap|imapd|imaps|pop3|pop3d|pop3s|sieve|timsieved}badlogin: [^ \[]* ?\[(?P<addr>[^\]]+)\] `}},
	{name: "qmail", rejected: []string{`{qmail|rblsmtpd}(?:[\d.]+ rblsmtpd: )?ADDR pid \d+ `}},
	{name: "domino", failures: []string{`{} *smtp: .* \[(?P<addr>[^\]]+)\] authentication failure using internet password$`}},
	{name: "oracleims", failures: []string{
		`^<co ts="(?P<time>[^"]*)" pi="[^"]*" sc="[^"]*" dr="[^"]*" ac="U" tr="TCP\|[^|"]*\|\d+\|(?P<addr>[^|"]+)\|\d+" ap="[^"]*" mi="Bad password"`,
	}},
	{name: "exchange", failures: []string{`^(?P<time>[^,]+),[0-9A-F]{16},\d+,[^,]*,(?P<addr>[^,]+):\d+,.*AuthFailed:`}},
	{name: "roundcube", failures: []string{
		`{roundcube}(?:<[a-z0-9]+> )?(?:Failed login|IMAP Error: Login failed|FAILED login) for .* from ADDR(?: in session [a-z0-9]+(?: \(error: \d+\))?)?$`,
		`{roundcube}IMAP Error: Login failed for .* from ADDR\. AUTHENTICATE [A-Z0-9-]+: A\d+ NO [A-Za-z ]+\. in [^ ()]+ on line \d+ \(POST [^ ()]*\)$`,
		`{}FAILED login for .* from ADDR$`,
	}},
	{name: "horde", forgeable: true, failures: []string{
		`{}HORDE \[error\] \[[a-z]+\] FAILED LOGIN for .* \[(?P<addr>[^\]]+)\] to (?:Horde|\{[^{}]*\}) \[(?:pid \d+ )?on line \d+ of [^\[\]]*\]$`,
	}},
	{name: "sogo", failures: []string{`{}(?:[\w.-]+ )?sogod \[\d+\]: SOGoRootPage Login from '(?P<addr>[^', ]+)' for user '`}},
}

// fileServices are the services that send and receive files.
var fileServices = []service{
	{name: "proftpd", failures: []string{
		`{proftpd}[\w.-]+ \([^ \[]*\[(?P<addr>[^\]]+)\]\)(?::| -) (?:USER .*(?:: no such user|\(Login failed\))|SECURITY VIOLATION|Maximum login attempts)`,
	}},
	// No quote before the address: with one, it may be a password or a path of another line.
	{name: "vsftpd", failures: []string{
		`{}\[pid \d+\] \[[^"]*\] FAIL LOGIN: Client "(?P<addr>[^"]+)"(?:, "User is not in the allow user list\.")?$`,
		`{vsftpd}\[.*\] FAIL LOGIN: Client "(?P<addr>[^"]+)"(?:, "User is not in the allow user list\.")?$`,
	}},
	{name: "pure-ftpd", failures: []string{`{pure-ftpd}\(\?@(?P<addr>[^)]+)\) \[WARNING\] Authentication failed for user `}},
	{name: "ftpd", failures: []string{
		`{wu-ftpd|ftpd}failed login from [^ \[]* \[(?P<addr>[^\]]+)\]$`,
		`{wu-ftpd|ftpd}repeated login failures from ADDR(?: .*)?$`,
	}},
	{name: "pterodactyl", forgeable: true, failures: []string{`^[A-Z]+: \[(?P<time>[^\]]*)\] failed to validate user credentials \([^()]*\) ip=ADDR:\d+ subsystem=`}},
}

// dataServices are databases.
var dataServices = []service{
	{name: "mysqld", forgeable: true, failures: []string{
		`{}(?:\d+ )?\[(?:Warning|Note)\] (?:\[[\w-]+\] )*Access denied for user '.*'@'(?P<addr>[^']+)'(?: \(using password: (?:YES|NO)\))?$`,
		`{mysqld|mariadbd}.*Access denied for user '.*'@'(?P<addr>[^']+)'(?: \(using password: (?:YES|NO)\))?$`,
	}},
	{name: "mssql", forgeable: true, failures: []string{`{}Logon +Login failed for user .* \[CLIENT: (?P<addr>[^\]]+)\]$`}},
	{name: "named", forgeable: true, rejected: []string{
		`{named}(?:[\w-]+: (?:error|info|notice): )?client (?:@0x[0-9a-f]+ )?(?P<addr>[^# ]+)#\d+(?: \([^()]*\))?: (?:view [^ ]+: )?.* denied`,
	}},
	{name: "technitium", forgeable: true, failures: []string{`{}\[ADDR\] DnsServerCore\.DnsWebServiceException: Invalid username or password for user: `}},
	{name: "adguardhome", failures: []string{`{}(?:\d+#\d+ )?\[error\] [A-Z]+ ADDR /control/login: invalid username or password`}},
}

// voiceServices are telephone exchanges. SIP over UDP proves no address.
var voiceServices = []service{
	{name: "asterisk", forgeable: true, failures: []string{
		`{}[A-Z]+\[\d+\](?:\[[\w-]+\])?:? [^ ]+ (?:[^ ]+ )?Registration from .* failed for '(?P<addr>[^']+)' - (?:Wrong password|No matching peer found|` +
			`Username/auth name mismatch|Device does not match ACL|Peer is not supposed to register|ACL error \(permit/deny\)|Not a local domain)$`,
		`{}SECURITY\[\d+\](?:\[[\w-]+\])?:? [^ ]+ [^ ]+ SecurityEvent="(?:InvalidPassword|InvalidAccountID|ChallengeResponseFailed|FailedACL)"` +
			`(?:,[A-QS-Z][A-Za-z]*="[^"]*")*,RemoteAddress="IPV[46]/[A-Z]+/(?P<addr>[^/"]+)/\d+"`,
	}},
	{name: "freeswitch", forgeable: true, failures: []string{
		`{}(?:[\d.]+% )?\[WARNING\] sofia_reg\.c:\d+ SIP auth failure \([A-Z]+\) on sofia profile '[^']*' for \[.*\] from ip ADDR$`,
		`{}(?:[\d.]+% )?\[WARNING\] sofia_reg\.c:\d+ Can't find user \[.*\] from ADDR$`,
	}},
}
