package pattern

// proftpdPeer is what ProFTPD's log.c log_write puts before a message: in a file of its own
// with "proftpd[PID] HOST (NAME[ADDRESS]): ", in syslog with " - ".
const proftpdPeer = `(?:[\w.:-]+ )?\([^ \[]*\[(?P<addr>[^\]]+)\]\)(?::| -) `

// fileServices are the services that send and receive files.
var fileServices = []service{
	{
		// ProFTPD 1.3.9: mod_auth.c auth_post_pass, auth_user; mod_sftp's auth.c.
		name: "proftpd", failures: []string{
			`{proftpd|session}` + proftpdPeer + `(?:(?:USER|ANON) .*(?:: no such user|\(Login failed\))|SECURITY VIOLATION|Maximum login attempts)`,
		},
	},
	// No quote before the address: with one, it may be a password or a path of another line.
	{name: "vsftpd", failures: []string{
		// Where another line has a client's text behind the address, it has a quote and a comma before it.
		`{}\[pid \d+\] \[(?:[^"]|"[^",])*\] FAIL LOGIN: Client "(?P<addr>[^"]+)"(?:, "User is not in the allow user list\.")?$`,
		`{vsftpd}\[.*\] FAIL LOGIN: Client "(?P<addr>[^"]+)"(?:, "User is not in the allow user list\.")?$`,
	}},
	{
		// Pure-FTPd 1.0.52: ftpd.c logfile, and the languages of its messages_*.h.
		name: "pure-ftpd", failures: []string{
			`{pure-ftpd}\(\?@(?P<addr>[^)]+)\) \[WARNING\] (?:Authentication failed for user|Authentifizierung fehlgeschlagen für|Erreur d'authentification pour|` +
				`Autenticazione falita per|Autorisatie faalde voor|Godkendelse mislykkedes for|Godkjennelse mislyktes for) `,
		},
	},
	{name: "ftpd", failures: []string{
		`{wu-ftpd|ftpd|in.ftpd}failed login from [^ \[]* \[(?P<addr>[^\]]+)\]$`,
		`{wu-ftpd|ftpd|in.ftpd|gssftpd}repeated login failures from ADDR(?: .*)?$`,
	}},
	{name: "pterodactyl", forgeable: true, failures: []string{`^[A-Z]+: \[(?P<time>[^\]]*)\] failed to validate user credentials \([^()]*\) ip=ADDR:\d+ subsystem=`}},
	{
		// Samba 4: auth_log.c log_authentication_event_human_readable. log_escape leaves the
		// brackets of a name as they are, on both sides of the address. The name of the zone is that of
		// the log. samba-json is evidence.
		name: "samba", forgeable: true, failures: []string{
			`^ *Auth: ` + sambaAuth + `(?P<time>\w{3}, \d\d \w{3} \d{4} [\d:.]+)(?: [\w+-]+)?` + sambaPeer,
			`{smbd*|samba*|rpcd_lsad} *Auth: ` + sambaAuth + `[^\]]+` + sambaPeer,
		},
	},
}

const (
	sambaAuth = `\[[^\]]*\] user \[[^\]]*\]\\\[[^\]]*\] at \[`
	sambaPeer = `\] with \[[^\]]*\] status \[NT_STATUS_(?:WRONG_PASSWORD|NO_SUCH_USER|LOGON_FAILURE|ACCOUNT_LOCKED_OUT|ACCOUNT_DISABLED)\] workstation \[[^\]]*\] ` +
		`remote host \[ipv[46]:(?P<addr>[^\]]+):\d+\] mapped to \[[^\]]*\]\\\[[^\]]*\]\. local host \[[^\]]*\] *(?:NETLOGON computer \[[^\]]*\] trust account \[[^\]]*\])?$`
)

// slapdHead: a log on stderr begins with the time in hexadecimal, which a container's
// runtime stamps again.
const slapdHead = `{?slapd}(?:[0-9a-f]{8}\.[0-9a-f]+ 0x[0-9a-f]+ )?`

// dataServices are databases and directories.
var dataServices = []service{
	{
		// OpenLDAP 2.6 with loglevel stats: connection.c connection_init, connection_close;
		// result.c slap_send_ldap_result. 49 is invalidCredentials, 97 the answer to a bind. On
		// stderr and in a logfile of its own, a client writes whole lines: the oid of an
		// extended operation is written as it came (extended.c do_extended). A socket of the
		// host has no address.
		name:   "slapd",
		opens:  []string{slapdHead + `conn=CONN fd=\d+ ACCEPT from IP=ADDR \(`, slapdHead + `conn=CONN fd=\d+ ACCEPT from PATH=`},
		goesOn: []string{slapdHead + `(?P<auth_failure>)(?P<forgeable>)conn=CONN op=\d+ RESULT tag=97 err=49 `},
		closes: []string{slapdHead + `conn=CONN fd=\d+ closed`},
	},
	{
		// MySQL 8 and MariaDB 11: errmsg-utf8.txt ER_ACCESS_DENIED_ERROR and its kin.
		name: "mysqld", forgeable: true, failures: []string{
			`{}(?:\d+ )?\[(?:Warning|Note|ERROR)\] (?:\[[\w-]+\] )*Access denied for user '.*'@'(?P<addr>[^']+)'` + mysqlTail,
			`{mysqld*|mariadbd|mariadb*}.*Access denied for user '.*'@'(?P<addr>[^']+)'` + mysqlTail,
		},
	},
	{
		// PostgreSQL 18: auth.c auth_failed and ClientAuthentication; the peer is there if
		// log_line_prefix has %h or %r. A role's name comes before and after it.
		name: "postgresql", forgeable: true, failures: []string{
			`{}[^"]*[ =@,](?P<addr>[^ ()\[\]]+)(?:\(\d+\))? (?:\[\d+\]:? )?(?:FATAL|fatal): +(?:password|SCRAM|LDAP|PAM|Ident|peer) authentication failed for user "[^"]*"$`,
		},
		rejected: []string{`{}[^"]*FATAL: +(?:no pg_hba\.conf entry|pg_hba\.conf rejects connection) for host "(?P<addr>[^"]+)", user "[^"]*", database "[^"]*"(?:, [\w ]+)?$`},
	},
	{name: "mssql", forgeable: true, failures: []string{`{}Logon +Login failed for user .* \[CLIENT: (?P<addr>[^\]]+)\]$`}},
	{
		// BIND 9.20: ns/client.c ns_client_logv, and what ns/query.c, update.c and xfrout.c refuse.
		name: "named", forgeable: true, rejected: []string{
			`{?named}(?:[\w-]+: )?(?:(?:error|info|notice|warning): )?client (?:@0x[0-9a-f]+ )?(?P<addr>[^# ]+)#\d+(?:/key [^ ]+)?(?: \(.*\))?: (?:view [^ ]+: )?.* denied`,
		},
	},
	{
		// NSD 4: query.c answer_notify, query_acl; axfr.c. Over UDP.
		name: "nsd", forgeable: true, rejected: []string{
			`{?nsd}(?:nsd\[\d+\]: )?(?:info|notice|warning): (?:query|axfr for|ixfr for|notify for) [^ ]+ from ADDR refused, `,
		},
	},
	{name: "technitium", forgeable: true, failures: []string{`{}\[ADDR\] DnsServerCore\.DnsWebServiceException: Invalid username or password for user: `}},
	// AdGuard Home: home/authhttp.go writeErrorWithIP. Versions without it write the request's Host
	// before the path, and no address.
	{name: "adguardhome", failures: []string{`{}(?:\d+#\d+ )?\[error\] [A-Z]+ .*/control/login.*: from ip ADDR: (?:invalid username or password|auth: blocked for [\w.]+)$`}},
}

const mysqlTail = `(?: \(using password: (?:YES|NO)\)| to database '[^']*'|\. Account is locked\.)?$`

// voiceServices are telephone exchanges and messengers. SIP over UDP proves no address.
var voiceServices = []service{
	{name: "asterisk", forgeable: true, failures: []string{
		`{}[A-Z]+\[\d+\](?:\[[\w-]+\])?:? [^ ]+ (?:[^ ]+ )?Registration from .* failed for '(?P<addr>[^']+)' - (?:Wrong password|No matching peer found|` +
			`Username/auth name mismatch|Device does not match ACL|Peer is not supposed to register|ACL error \(permit/deny\)|Not a local domain)$`,
		`{}[A-Z]+\[\d+\](?:\[[\w-]+\])?:? [^ ]+ (?:[^ ]+ )?Request '[A-Z]+' from .* failed for '(?P<addr>[^']+)' \(callid: [^()]*\) - (?:Failed to authenticate|` +
			`No matching endpoint found|Not match Endpoint(?: Contact)? ACL|Error to authenticate)$`,
		`{}SECURITY\[\d+\](?:\[[\w-]+\])?:? [^ ]+ (?:\w+: )?SecurityEvent="(?:InvalidPassword|InvalidAccountID|ChallengeResponseFailed|FailedACL)"` +
			`(?:,[A-QS-Z][A-Za-z]*="[^"]*")*,RemoteAddress="IPV[46]/[A-Z]+/(?P<addr>[^/"]+)/\d+"(?:,[A-Za-z]+="[^"]*")*$`,
	}},
	{
		// FreeSWITCH: mod_sofia's sofia_reg.c sofia_reg_handle_register and sofia_reg_auth.
		name: "freeswitch", forgeable: true, failures: []string{
			`{}(?:[\d.]+% )?\[WARNING\] sofia_reg\.c:\d+ SIP auth failure \([A-Z]+\) on sofia profile '[^']*' for \[.*\] from ip ADDR$`,
			`{}(?:[\d.]+% )?\[WARNING\] sofia_reg\.c:\d+ Can't find user \[.*\] from ADDR$`,
		},
	},
	{
		// Mumble 1.5: murmur's Messages.cpp msgAuthenticate and Server.cpp log; a name that is
		// refused is written as it came.
		name: "murmur", forgeable: true, failures: []string{
			`^<[A-Z]>(?P<time>[\d-]+ [\d:.]+) \d+ => .*Rejected connection from ADDR: (?:Wrong certificate or password for existing user|Invalid server password)$`,
		},
	},
	{
		// ejabberd 25: ejabberd_c2s.erl process_auth_result. A name is not known to be escaped.
		name: "ejabberd", forgeable: true, failures: []string{
			`{}\[(?:warning|info)\] [^ ]+ \([^()]*\) Failed c2s [\w-]+ authentication (?:for .* )?from ADDR: [A-Za-z ,'-]+$`,
		},
	},
}
