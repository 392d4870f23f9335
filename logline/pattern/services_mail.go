package pattern

// eximHost is what Exim's host.c host_build_sender_fullhost writes: a name that it
// has looked up, what the client said in HELO in parentheses, and the address. It relies on
// helo_accept_junk_hosts, which is off: what a client says has neither blanks nor
// parentheses.
const eximHost = `(?:[\w.-]+ )?(?:\([^() ]*\) )?\[(?P<addr>[^\]]+)\](?::\d+)?`

// eximBetween are the fields that may be between the address and the message.
const eximBetween = `(?: (?:I=\[[^\]]*\]:\d+|Ci=\d+|U=[^ ]+|X=[^ ]+|CV=\w+))*`

const (
	eximFailure = `(?:\[\d+\] )?[\w-]+ authenticator failed for ` + eximHost + eximBetween + `: 535 `
	eximReject  = `(?:\[\d+\] )?(?:[\w-]{16,23} )?H=` + eximHost + ` .*(?:rejected|sender verify fail)`
)

// postfixPeer is a namaddr of Postfix' smtpd_peer.c: the name that was looked up and the
// address, with smtpd_client_port_logging also the port.
const postfixPeer = `[^ \[]*\[(?P<addr>[^\]]+)\](?::\d+)?`

// sendmailPeer is what sendmail's srvrsmtp.c writes for a client (CurSmtpClient): a name that
// was looked up, and the address.
const sendmailPeer = `(?:[^ \[]+ )?\[(?:IPv6:)?(?P<addr>[^\]]+)\](?: \(may be forged\))?`

const sendmailHead = `{sendmail|sm-mta|sm-msp-queue|sm-acceptingconnections}(?:[0-9A-Za-z]+: )?`

// mailServices are the services that send, store and show mail.
var mailServices = []service{
	{
		// Postfix 3.10: smtpd_sasl_glue.c smtpd_sasl_authenticate; smtpd_check.c log_whatsup;
		// smtpd.c chat_reset; postscreen_early.c, postscreen_smtpd.c. "Connection lost to
		// authentication server" and "Invalid authentication mechanism" are no failed logins.
		name:     "postfix",
		failures: []string{`{postfix*/smtpd|postfix*/smtps|postfix*/submission*}warning: ` + postfixPeer + `: SASL [^ ]+ authentication failed(?:$|:$|: (?:[^CI]|$))`},
		rejected: []string{
			`{postfix*/smtpd|postfix*/smtps|postfix*/submission*}(?:NOQUEUE|[0-9A-Za-z]{6,20}): (?:milter-)?reject: [A-Z-]+ from ` + postfixPeer + `: [45]\d\d `,
			`{postfix*/smtpd|postfix*/smtps|postfix*/submission*}too many errors after [A-Z-]+ (?:\([^()]*\) )?from ` + postfixPeer + `$`,
			`{postfix*/postscreen}NOQUEUE: reject: [A-Z]+ from \[(?P<addr>[^\]]+)\]:\d+: [45]\d\d `,
			`{postfix*/postscreen}PREGREET \d+ after [\d.]+ from \[(?P<addr>[^\]]+)\]:\d+: `,
		},
	},
	{
		// Dovecot 2.0 to 2.4: login-common's client-common.c client_get_log_str and
		// client_get_extra_disconnect_reason, login-settings.c login_log_format_elements.
		name: "dovecot",
		failures: []string{
			`{dovecot}(?:[\w-]+: )?[\w-]+-login: (?:Info: )?.*\((?:auth failed|authorization failed|user disabled|tried to use (?:disallowed|unsupported) ).*, rip=(?P<addr>[^ ,]+), ` +
				`lip=[^ ,=]+(?:, mpid=\d+)?(?:, (?:secured|TLS)[^,<>=]*)?(?:, session=<[\w+/=]*>)?$`,
			`{}[\w-]+-login: (?:Info: )?.*\((?:auth failed|authorization failed|user disabled).*, rip=(?P<addr>[^ ,]+), ` +
				`lip=[^ ,=]+(?:, mpid=\d+)?(?:, (?:secured|TLS)[^,<>=]*)?(?:, session=<[\w+/=]*>)?$`,
		},
	},
	{
		// Exim 4.98: smtp_in.c smtp_setup_msg (AUTH) and host_and_ident; acl's log_reject.
		name:     "exim",
		failures: []string{`{?exim*}` + eximFailure},
		rejected: []string{`{?exim*}` + eximReject},
	},
	{
		// sendmail 8.18: srvrsmtp.c LOGAUTHFAIL, checksmtpattack and the lines of a connection
		// that sent nothing; parseaddr.c rscheck. The argument of a ruleset is a client's.
		name: "sendmail",
		failures: []string{
			sendmailHead + `AUTH failure \([^()]*\): .*, relay=` + sendmailPeer + `$`,
			sendmailHead + sendmailPeer + `: possible SMTP attack: command=AUTH, `,
		},
		rejected: []string{sendmailHead + sendmailPeer + `: possible SMTP attack: command=[B-Z]`},
		connects: []string{sendmailHead + sendmailPeer + ` did not issue MAIL/EXPN/VRFY/ETRN during connection to `},
		others: []string{
			sendmailHead + `(?P<rejection>)(?P<forgeable>)ruleset=\w+, arg1=[^ ]*, (?:arg2=[^ ]*, )?relay=` + sendmailPeer + `, reject=[45]\d\d `,
		},
	},
	{
		// Courier: the login modules of courier-imap; module.esmtp's courieresmtpd.C.
		name: "courier", failures: []string{
			`{imapd*|pop3d*|courier*|pop3login|imaplogin|authdaemond|webmaild}(?:ERR: )?LOGIN FAILED, .*ip=\[(?P<addr>[^\]]+)\](?:, port=\[\d+\])?$`,
			`{courieresmtpd*}error,relay=(?P<addr>[^,]+),(?:port=\d+,)?(?:ident="[^"]*",)?msg="535 `,
		},
		rejected: []string{`{courieresmtpd*}error,relay=(?P<addr>[^,]+),(?:port=\d+,)?(?:ident=[^,]*,)?from=<.*: 5\d\d `},
	},
	{
		// UW imapd 2007: imapd.c and ipop3d.c. The name of a host is in no brackets.
		name: "uw-imap", failures: []string{
			`{imapd|ipop3d|ipop2d}Login (?:failed|failure|disabled|excessive login failures) user=.* host=(?:[^ \[]+ )?\[(?P<addr>[^\]]+)\]$`,
			`{imapd|ipop3d}AUTHENTICATE [^ ]+ failure host=(?:[^ \[]+ )?\[(?P<addr>[^\]]+)\]$`,
		},
	},
	{name: "cyrus", failures: []string{`{cyrus*|imap|imapd|imaps|pop3|pop3d|pop3s|sieve|timsieved|lmtp|nntpd}badlogin: [^ \[]* ?\[(?P<addr>[^\]]+)\] `}},
	{name: "qmail", rejected: []string{`{qmail|rblsmtpd}(?:[\d.]+ rblsmtpd: )?ADDR pid \d+ `}},
	{name: "domino", failures: []string{`{} *smtp: .* \[(?P<addr>[^\]]+)\] authentication failure using internet password$`}},
	{name: "oracleims", failures: []string{
		`^<co ts="(?P<time>[^"]*)" pi="[^"]*" sc="[^"]*" dr="[^"]*" ac="U" tr="TCP\|[^|"]*\|\d+\|(?P<addr>[^|"]+)\|\d+" ap="[^"]*" mi="Bad password"`,
	}},
	{name: "exchange", failures: []string{`^(?P<time>[^,]+),[0-9A-F]{16},\d+,[^,]*,(?P<addr>[^,]+):\d+,.*AuthFailed:`}},
	{
		// Roundcube 1.6: rcmail.php log_login, rcube_imap.php connect, rcube.php write_log, which
		// leaves line breaks in a name, and rcube_utils.php remote_ip, which writes a client's
		// X-Forwarded-For behind its address.
		name: "roundcube", forgeable: true,
		failures: []string{
			`{roundcube|php*}` + roundcubeForwarded, `{}` + roundcubeForwarded, `^(?:userlogins|errors): ` + roundcubeForwarded,
			`{roundcube|php*}(?:<[\w-]+> )?(?:Failed login|IMAP Error: Login failed|FAILED login) for .* from ADDR(?: in session [\w-]+(?: \(error: -?\d+\))?)?$`,
			`{roundcube|php*}(?:<[\w-]+> )?IMAP Error: Login failed for .* from ADDR\. AUTHENTICATE [A-Z0-9-]+: A\d+ NO [A-Za-z ]+\. in [^ ()]+ on line \d+ \(POST [^ ()]*\)$`,
			`{}(?:<[\w-]+> )?(?:Failed login|FAILED login|IMAP Error: Login failed) for .* from ADDR(?: in session [\w-]+(?: \(error: -?\d+\))?)?$`,
			`^(?:userlogins|errors): (?:<[\w-]+> )?Failed login for .* from ADDR(?: in session [\w-]+(?: \(error: -?\d+\))?)?$`,
		},
	},
	{name: "horde", forgeable: true, failures: []string{
		`{?HORDE|horde}(?:HORDE )?(?:\[\w+\] )?\[[a-z]+\] FAILED LOGIN for .* \[(?P<addr>[^\]]+)\](?: \(forwarded for \[[^\]]*\]\))? to (?:Horde|\{[^{}]*\}) \[(?:pid \d+ )?on line \d+ of [^\[\]]*\]$`,
	}},
	// SOGo 5: SOGoRootPage.m connectAction writes a name with its line breaks, and a header.
	{name: "sogo", forgeable: true, failures: []string{`{?sogod}(?:[\w.-]+ )?(?:sogod \[\d+\]: )?SOGoRootPage Login from '(?P<addr>[^', ]+)(?:, [^']*)?' for user '`}},
	{
		// Zimbra's ZimbraLog.java addToContext, AuthRequest and AdminAuth; oip is what the
		// proxy says, or a client's header.
		name: "zimbra", forgeable: true,
		failures: []string{
			`{}(?:WARN|INFO) +\[[^\]]*\] \[(?:(?:ip|port)=[^;\]]*;)*oip=(?P<addr>[^;,\]]+)(?:[;,][^\]]*)?\] security - cmd=(?:Admin)?Auth; .*error=authentication failed for `,
			`{}(?:WARN|INFO) +\[[^\]]*\] \[ip=(?P<addr>[^;,\]]+);\] security - cmd=(?:Admin)?Auth; .*error=authentication failed for `,
		},
	},
}

// roundcubeForwarded is a line of somebody who sends X-Forwarded-For. No name looks like one: what
// follows a name has parentheses, or does not end so.
const roundcubeForwarded = `(?:<[\w-]+> )?(?:Failed login|FAILED login|IMAP Error: Login failed) for [^ ]*(?: against [^ ]+)? from ADDR ?\((?:X-Real-IP|X-Forwarded-For): [^()]*\)(?: in session [\w-]+(?: \(error: -?\d+\))?)?$`
