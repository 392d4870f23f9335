package logline

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/logline/scan"
)

// words are the format strings of programs, as Go writes them: %[1]s is what a client says,
// %[2]s its address and %[3]d its port. Their sources are beside them.
type words struct {
	service string
	source  string
	format  string
	// program is the tag in syslog; own is the stamp that the program writes itself, as a
	// layout of time. Where both are empty, the stamp is in the format.
	program, own string
	v4           bool // an IPv6 address is written in another way
	port         bool // an IPv6 address has brackets, because a port follows
}

const (
	iso   = "2006-01-02T15:04:05.000000Z07:00"
	blank = "2006-01-02 15:04:05.000"
	slash = "2006/01/02 15:04:05"
)

var programWords = []words{
	{service: "sshd", source: "openssh-portable auth.c auth_log", program: "sshd", format: "Failed password for %[1]s from %[2]s port %[3]d ssh2"},
	{service: "sshd", source: "openssh-portable auth.c auth_log", program: "sshd-session", format: "Failed keyboard-interactive/pam for invalid user %[1]s from %[2]s port %[3]d ssh2"},
	{service: "sshd", source: "openssh-portable auth.c auth_maxtries_exceeded", program: "sshd-session", format: "error: maximum authentication attempts exceeded for invalid user %[1]s from %[2]s port %[3]d ssh2 [preauth]"},
	{service: "sshd", source: "openssh-portable auth.c getpwnamallow", program: "sshd", format: "Invalid user %[1]s from %[2]s port %[3]d"},
	{service: "sshd", source: "openssh-portable auth.c allowed_user", program: "sshd", format: "User %[1]s from %[2]s not allowed because none of user's groups are listed in AllowGroups"},
	{service: "sshd", source: "openssh-portable auth-pam.c sshpam_respond", program: "sshd", format: "error: PAM: Authentication failure for illegal user %[1]s from %[2]s"},
	{service: "sshd", source: "openssh-portable auth.c auth_root_allowed", program: "sshd", format: "ROOT LOGIN REFUSED FROM %[2]s port %[3]d"},
	{service: "sshd", source: "openssh-portable sshd.c child_reap", program: "sshd", format: "Timeout before authentication for connection from %[2]s to 10.0.0.1, pid = 17"},
	{service: "sshd", source: "openssh-portable packet.c sshpkt_vfatal", program: "sshd-auth", format: "Connection closed by authenticating user %[1]s %[2]s port %[3]d [preauth]"},
	{service: "sshd", source: "openssh-portable packet.c sshpkt_vfatal", program: "sshd-session", format: "Unable to negotiate with %[2]s port %[3]d: no matching host key type found. Their offer: %[1]s [preauth]"},
	{service: "sshd", source: "openssh-portable packet.c sshpkt_vfatal", program: "sshd-session", format: "fatal: ssh_dispatch_run_fatal: Connection from %[2]s port %[3]d: message authentication code incorrect [preauth]"},
	{service: "sshd", source: "openssh-portable sshd.c drop_connection", program: "sshd", format: "drop connection #10 from [%[2]s]:%[3]d on [10.0.0.1]:22 past MaxStartups"},
	{service: "sshd", source: "openssh-portable kex.c kex_exchange_identification", program: "sshd", format: "banner exchange: Connection from %[2]s port %[3]d: invalid format"},
	{service: "dropbear", source: "dropbear svr-authpasswd.c svr_auth_password", program: "dropbear", port: true, format: "Bad password attempt for '%[1]s' from %[2]s:%[3]d"},
	{service: "dropbear", source: "dropbear svr-auth.c checkusername", program: "dropbear", port: true, format: "Login attempt for nonexistent user from %[2]s:%[3]d"},
	{service: "dropbear", source: "dropbear svr-session.c svr_dropbear_exit", program: "dropbear", port: true, format: "Exit before auth from <%[2]s:%[3]d>: (user 'bob', 10 fails): Max auth tries reached - user '%[1]s'"},
	{service: "pam", source: "linux-pam pam_unix/support.c _unix_verify_password", program: "sshd", format: "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=%[2]s  user=%[1]s"},
	{service: "proxmox", source: "pve-access-control API2/AccessControl.pm create_ticket", program: "pvedaemon", format: "authentication failure; rhost=%[2]s user=%[1]s msg=no such user ('%[1]s')"},
	{service: "proxmox", source: "pve-access-control API2/OpenId.pm login", program: "pveproxy", format: "openid authentication failure; rhost=%[2]s msg=%[1]s"},
	{service: "proxmox", source: "proxmox-rest-server environment.rs log_failed_auth", program: "proxmox-backup-proxy", own: "2006-01-02T15:04:05Z07:00:", port: true, format: "authentication failure; rhost=%[2]s:%[3]d user=%[1]s msg=%[1]s"},
	{service: "webmin", source: "webmin miniserv.pl handle_login", program: "webmin", format: "Invalid login as %[1]s from %[2]s"},
	{service: "webmin", source: "webmin web-lib-funcs.pl webmin_log", format: `1795341600.17.0 [22/Nov/2026 10:00:00] %[1]s - %[2]s global miniserv.pl "failed" "-" "wrongpass"`},
	{service: "postfix", source: "postfix smtpd_sasl_glue.c smtpd_sasl_authenticate", program: "postfix/smtpd", format: "warning: unknown[%[2]s]: SASL LOGIN authentication failed: UGFzc3dvcmQ6, sasl_username=%[1]s"},
	{service: "postfix", source: "postfix smtpd_check.c log_whatsup", program: "postfix/submission/smtpd", format: "NOQUEUE: reject: RCPT from unknown[%[2]s]:%[3]d: 554 5.7.1 <%[1]s>: Relay access denied; from=<%[1]s> to=<%[1]s> proto=ESMTP helo=<%[1]s>"},
	{service: "postfix", source: "postfix postscreen_early.c psc_early_event", program: "postfix/postscreen", format: "PREGREET 11 after 0.2 from [%[2]s]:%[3]d: EHLO %[1]s"},
	{service: "postfix", source: "postfix smtpd.c smtpd_proto", program: "postfix/smtps/smtpd", format: "too many errors after AUTH from unknown[%[2]s]"},
	{service: "dovecot", source: "dovecot 2.3 client-common.c, login-settings.c login_log_format_elements", program: "dovecot", format: "imap-login: Disconnected: Connection closed (auth failed, 3 attempts in 11 secs): user=<%[1]s>, method=PLAIN, rip=%[2]s, lip=10.0.0.1, TLS, session=<qS1+k9/aBc>"},
	{service: "dovecot", source: "dovecot 2.4 client-common.c client_get_log_str", program: "dovecot", format: "imap-login: Login aborted: Connection closed (auth failed, 1 attempts in 2 secs) (auth_failed): user=<%[1]s>, method=PLAIN, rip=%[2]s, lip=10.0.0.1, TLS, session=<qS1+k9>"},
	{service: "dovecot", source: "dovecot 2.0 client-common.c", program: "dovecot", format: "pop3-login: Aborted login (auth failed, 1 attempts): user=<%[1]s>, method=PLAIN, rip=%[2]s, lip=10.0.0.1"},
	{service: "exim", source: "exim smtp_in.c smtp_setup_msg; host.c host_build_sender_fullhost", program: "exim", own: blank, format: "login authenticator failed for host.example.org (x.example.org) [%[2]s]:%[3]d I=[10.0.0.1]:587: 535 Incorrect authentication data (set_id=%[1]s)"},
	{service: "exim", source: "exim smtp_in.c smtp_handle_acl_fail", program: "exim", own: blank, format: "H=(x.example.org) [%[2]s]:%[3]d F=<a@example.org> rejected RCPT <%[1]s>: relay not permitted"},
	{service: "sendmail", source: "sendmail srvrsmtp.c LOGAUTHFAIL", program: "sm-mta", format: "5AMA0xk1: AUTH failure (LOGIN): user not found (-20) SASL(-13): user not found: checkpass failed, user=%[1]s, relay=host.example.org [%[2]s] (may be forged)", v4: true},
	{service: "sendmail", source: "sendmail srvrsmtp.c checksmtpattack", program: "sendmail", format: "5AMA0xk1: host.example.org [%[2]s]: possible SMTP attack: command=AUTH, count=5", v4: true},
	{service: "sendmail", source: "sendmail srvrsmtp.c, QUIT", program: "sm-mta", format: "5AMA0xk1: [IPv6:%[2]s] did not issue MAIL/EXPN/VRFY/ETRN during connection to MTA"},
	{service: "cyrus", source: "cyrus-imapd docsrc, cyr_dbtool.rst", program: "cyrus/imap", format: "badlogin: cyrus.example.org [%[2]s] plaintext %[1]s SASL(-13): authentication failure: checkpass failed"},
	{service: "roundcube", source: "roundcubemail rcmail.php log_login; rcube.php write_log", own: "[02-Jan-2006 15:04:05 -0700]:", format: "<ab12cd34> Failed login for %[1]s from %[2]s in session ab12cd34ef56 (error: 0)"},
	{service: "roundcube", source: "roundcubemail rcube.php write_log", program: "roundcube", format: "<ab12cd34> Failed login for %[1]s from %[2]s in session ab12cd34ef56 (error: 0)"},
	{service: "zimbra", source: "zm-mailbox ZimbraLog.java encodeAttrs", own: "2006-01-02 15:04:05,000", format: "WARN  [qtp-17:https://mx/service/soap/AuthRequest] [ip=10.0.0.1;oip=%[2]s;oport=%[3]d;ua=zclient/10;] security - cmd=Auth; account=%[1]s; protocol=soap; error=authentication failed for [%[1]s], invalid password;"},
	{service: "proftpd", source: "proftpd log.c log_write; mod_auth.c auth_post_pass", own: "2006-01-02 15:04:05,000", format: "ftp.example.org proftpd[17] ftp.example.org (client.example.org[%[2]s]): USER %[1]s (Login failed): Incorrect password"},
	{service: "proftpd", source: "proftpd log.c log_write; mod_auth.c auth_user", program: "proftpd", format: "ftp.example.org (client.example.org[%[2]s]) - USER %[1]s: no such user found from client.example.org [%[2]s] to 10.0.0.1:21"},
	{service: "pure-ftpd", source: "pure-ftpd ftpd.c logfile; messages_en.h", program: "pure-ftpd", format: "(?@%[2]s) [WARNING] Authentication failed for user [%[1]s]"},
	{service: "samba", source: "samba auth/auth_log.c log_authentication_event_human_readable", format: `  Auth: [SMB2,(null)] user [DOM]\[%[1]s] at [Sun, 22 Nov 2026 10:00:00.123456 CET] with [NTLMv2] status [NT_STATUS_WRONG_PASSWORD] workstation [%[1]s] remote host [ipv4:%[2]s:%[3]d] mapped to [DOM]\[%[1]s]. local host [ipv4:10.0.0.1:445] `, v4: true},
	{service: "named", source: "bind9 ns/client.c ns_client_logv; ns/query.c", program: "named", own: "02-Jan-2006 15:04:05.000", format: "security: info: client @0x7f01 %[2]s#%[3]d (%[1]s): query (cache) '%[1]s/A/IN' denied (allow-query-cache did not match)"},
	{service: "apache-error", source: "httpd log.c do_errorlog_default; mod_auth_basic.c", own: "[Mon Jan 02 15:04:05.000000 2006]", format: `[auth_basic:error] [pid 17:tid 140] [client %[2]s:%[3]d] AH01617: user %[1]s: authentication failure for "/": Password Mismatch, referer: %[1]s`},
	{service: "apache-error", source: "httpd mod_auth_digest.c authenticate_digest_user", own: "[Mon Jan 02 15:04:05.000000 2006]", format: "[auth_digest:error] [pid 17] [client %[2]s:%[3]d] AH01790: user `%[1]s' in realm `x' not found: /"},
	{service: "nginx-error", source: "nginx ngx_http_auth_basic_module.c; ngx_http_request.c ngx_http_log_error_handler", program: "nginx", own: slash, format: `[error] 17#17: *7 user "bob": password mismatch, client: %[2]s, server: _, request: "GET / HTTP/1.1", upstream: "http://10.0.0.2:80/", host: "h"`},
	{service: "nginx-error", source: "nginx ngx_http_limit_req_module.c ngx_http_limit_req_handler", program: "nginx", own: slash, format: `[error] 17#17: *7 limiting requests, excess: 1.852 by zone "one", client: %[2]s, server: _, request: "GET /%[1]s HTTP/1.1"`},
	{service: "vaultwarden", source: "vaultwarden api/identity.rs; main.rs init_logging", program: "vaultwarden", own: "[2006-01-02 15:04:05.000]", format: "[vaultwarden::api::identity][ERROR] Username or password is incorrect. Try again. IP: %[2]s. Username: %[1]s."},
	{service: "gitea", source: "gitea routers/web/auth/auth.go SignInPost", program: "gitea", own: slash, format: "...ers/web/auth/auth.go:208:SignInPost() [W] Failed authentication attempt for bob from %[2]s:0: user does not exist [uid: 0, name: %[1]s, keyid: 0]", port: true},
	{service: "keycloak", source: "keycloak events/log/JBossLoggingEventListenerProvider.java logEvent", program: "keycloak", own: "2006-01-02 15:04:05,000", format: `WARN  [org.keycloak.events] (executor-thread-1) type="LOGIN_ERROR", realmId="0a-1", realmName="master", clientId="%[4]s", userId="null", ipAddress="%[2]s", error="invalid_user_credentials", auth_method="openid-connect", username="%[4]s"`},
	{service: "keycloak", source: "keycloak events/log; Quarkus' JSON, in the envelope", program: "keycloak", format: `type="LOGIN_ERROR", realmId="0a-1", realmName="master", clientId="%[4]s", userId="null", ipAddress="%[2]s", error="user_not_found", username="%[4]s"`},
	{service: "redmine", source: "redmine account_controller.rb invalid_credentials", format: "Failed login for '%[1]s' from %[2]s at 2026-11-22 10:00:00 UTC"},
	{service: "ejabberd", source: "ejabberd ejabberd_c2s.erl process_auth_result", own: blank, format: "[warning] <0.17.0>@ejabberd_c2s:process_auth_result:312 (tls|<0.17.0>) Failed c2s PLAIN authentication for %[1]s@example.org from %[2]s: Invalid username or password"},
	{service: "authelia", source: "authelia handlers/response.go; logrus' TextFormatter", format: `time="2026-11-22T10:00:00Z" level=error msg="Unsuccessful 1FA authentication attempt by user '%[4]s'" error="user not found" method=POST path=/api/firstfactor remote_ip="%[2]s" stack="x"`},
	{service: "authelia", source: "authelia handlers/response.go; logrus' TextFormatter", format: `time="2026-11-22T10:00:00Z" level=error msg="Unsuccessful TOTP authentication attempt by user '%[4]s'" method=POST path=/api/secondfactor/totp path_raw=/api remote_ip=%[2]s`},
	{service: "miniflux", source: "miniflux ui/login_check.go; Go's slog", format: `time=2026-11-22T10:00:00.307Z level=WARN msg="Incorrect username or password" authentication_failed=true client_ip=%[2]s user_agent="%[4]s" username=%[4]s`},
	{service: "grafana", source: "grafana loggermw/logger.go, logfmt", format: `logger=context userId=0 orgId=0 uname= t=2026-11-22T10:00:00.1Z level=info msg="Request Completed" method=POST path=/login status=401 remote_addr="%[2]s" time_ms=7 referer="%[4]s"`},
	{service: "jellyfin", source: "jellyfin UserManager.cs AuthenticateUser", program: "jellyfin", own: "[2006-01-02 15:04:05.000 -07:00]", format: "[INF] [42] Jellyfin.Server.Implementations.Users.UserManager: Authentication request for %[1]s has been denied (IP: %[2]s)."},
	{service: "lighttpd", source: "lighttpd mod_auth.c mod_auth_check_basic", own: "2006-01-02 15:04:05:", format: "(mod_auth.c.853) password doesn't match for /%[1]s username: %[1]s IP: %[2]s"},
	{service: "freeswitch", source: "freeswitch sofia_reg.c sofia_reg_handle_register", own: "2006-01-02 15:04:05.000000", format: "96.83%% [WARNING] sofia_reg.c:3223 SIP auth failure (REGISTER) on sofia profile 'internal' for [%[1]s@h] from ip %[2]s"},
	{service: "calibre-web", source: "calibre-web cps/web.py handle_login_user", own: "[2006-01-02 15:04:05,000]", format: ` WARN {cps.web:1475} Login failed for user "%[1]s" IP-address: %[2]s`},
	{service: "uptime-kuma", source: "uptime-kuma server.js login", own: "2006-01-02T15:04:05Z07:00", format: "[AUTH] WARN: Incorrect username or password for user %[1]s. IP=%[2]s"},
	{service: "qbittorrent", source: "qBittorrent authcontroller.cpp loginAction", format: "(W) 2026-11-22T10:00:00 - WebAPI login failure. Reason: invalid credentials, attempt count: 1, IP: %[2]s, username: %[1]s"},
	{service: "servarr", source: "Sonarr AuthenticationService.cs LogFailure", program: "Sonarr", own: "2006-01-02 15:04:05.0", format: "|Warn|Auth|Auth-Failure ip %[2]s username '%[1]s'"},
	{service: "mysqld", source: "MySQL errmsg-utf8.txt ER_ACCESS_DENIED_ERROR", own: iso, format: "8 [Note] [MY-010926] [Server] Access denied for user '%[1]s'@'%[2]s' (using password: YES)"},
	{service: "postgresql", source: "postgresql auth.c auth_failed, log_line_prefix '%m [%p] %h '", own: blank + " UTC", format: `[17] %[2]s FATAL:  password authentication failed for user "%[1]s"`},
	{service: "windows", source: "winlogbeat's winlog fields", format: `{"@timestamp":"2026-11-22T10:00:00.123Z","winlog":{"event_id":4625,"event_data":{"TargetUserName":"%[4]s","LogonType":"3","IpAddress":"%[2]s","IpPort":"%[3]d"}},"message":"%[4]s"}`},
	{service: "windows-vector", source: "vector sources/windows_event_log/parser.rs", format: `{"timestamp":"2026-11-22T10:00:00.123Z","event_id":4625,"event_data":{"TargetUserName":"%[4]s","LogonType":10,"IpAddress":"%[2]s"},"message":"%[4]s"}`},
	{service: "samba-json", source: "samba auth/auth_log.c log_authentication_event_json", format: `  {"timestamp": "2026-11-22T10:00:00.123456+0000", "type": "Authentication", "Authentication": {"status": "NT_STATUS_NO_SUCH_USER", "remoteAddress": "ipv4:%[2]s:%[3]d", "clientAccount": "%[4]s"}}`, v4: true},
}

// after is what is between the program's own stamp and its message.
func (w *words) after() string {
	if w.service == "vaultwarden" || w.service == "servarr" {
		return ""
	}
	return " "
}

// heads are what daemons and runtimes put before a message of a program.
func (w *words) heads() (heads []string) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	own := ""
	if w.own != "" {
		own = at.Format(w.own) + w.after()
		heads = append(heads, own, "2026-11-22T10:00:00.1Z stderr F "+own, "web-1  | "+own, "[pod/web-6f/x] "+own, "web-1  | 2026-11-22T10:00:00.1Z "+own)
	}
	if w.program != "" {
		for _, header := range []string{
			"Nov 22 10:00:00 web-1 %s[17]: ", "Nov 22 10:00:00 web-1 %s: ", "<38>Nov 22 10:00:00 web-1 %s[17]: ", "2026-11-22T10:00:00.123456+00:00 web-1.example.org %s[17]: ",
			"Sun 2026-11-22 10:00:00 UTC web-1 %s[17]: ", "1795341600.123456 web-1 %s[17]: ", "Nov 22 10:00:00 2001:db8::5 %s[17]: ", "Nov 22 10:00:00 web-1 auth.info %s[17]: ",
			"<86>1 2026-11-22T10:00:00Z web-1 %s 17 - - ", `<86>1 2026-11-22T10:00:00Z web-1 %s - ID47 [a@1 b="c"][d@2 e="f"] ` + "\ufeff",
		} {
			heads = append(heads, fmt.Sprintf(header, w.program)+own)
		}
	}
	if w.program == "" && w.own == "" {
		heads = []string{""}
	}
	return heads
}

// TestProgramsWords writes each line as its program does, behind every header, with addresses of
// each form and names that clients forge: it is counted for the address, and for no other,
// whatever the name is.
func TestProgramsWords(t *testing.T) {
	fulltest.Only(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range programWords {
		w := &programWords[i]
		var lines []string
		for _, head := range w.heads() {
			lines = append(lines, head+w.format)
		}
		p := parserOf(t, w.service, "")
		p.(scan.Dated).SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		for _, line := range lines {
			for _, addr := range []struct{ written, read string }{{"192.0.2.1", "192.0.2.1"}, {"::ffff:192.0.2.1", "192.0.2.1"}, {"2001:db8::1", "2001:db8::1"}} {
				if w.v4 && addr.written != "192.0.2.1" {
					continue
				}
				if w.port && addr.written != "192.0.2.1" {
					addr.written = "[" + addr.written + "]"
				}
				read := func(user string) (ev edgeguard.Event, why scan.Reason, text string) {
					quoted := strconv.Quote(user)
					text = fmt.Sprintf(line+"%[5]s", user, addr.written, 4711, quoted[1:len(quoted)-1], "")
					return ev, p.Parse([]byte(text), &ev), text
				}
				ev, why, text := read("bob")
				if why != scan.Read || ev.Addr.String() != addr.read || !ev.Time.Truncate(time.Second).Equal(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)) {
					t.Errorf("%s (%s): %v at %v (%s): %q", w.service, w.source, ev.Addr, ev.Time, why, text)
					break
				}
				for range 20 {
					if ev, why, text := read(attack(rng, []string{text, strings.NewReplacer("%[1]s", "USER", "%[2]s", "ADDR", "%[3]d", "1", "%[4]s", "USER").Replace(line)})); why == scan.Read && ev.Addr.String() != addr.read {
						t.Fatalf("seed %d: %s is forged: %v\n%s", seed, w.service, ev.Addr, text)
					}
				}
			}
		}
	}
}

// TestApacheAddresses: an error log's address is read with a port or without one, also where
// only that tells what an IPv6 address is.
func TestApacheAddresses(t *testing.T) {
	const head, said = "[Sun Nov 22 10:00:00.5 2026] [auth_basic:error] [pid 17] ", " AH01618: user x not found: /"
	for in, want := range map[string]string{
		"[client 2001:db8::1:4711]": "2001:db8::1", "[client 2001:db8::1]": "2001:db8::1", "[client 2001:db8:1:2:3:4:5:6:80]": "2001:db8:1:2:3:4:5:6",
		"[client 2001:db8:1:2:3:4:5:6]": "2001:db8:1:2:3:4:5:6", "[client 192.0.2.1]": "192.0.2.1", "[remote 192.0.2.1:80]": "192.0.2.1",
		"[remote 192.0.2.1:80] [client 192.0.2.2]": "", "[client 203.0.113.1, 192.0.2.1]": "", "[client x]": "",
	} {
		var ev edgeguard.Event
		got := ""
		if parserOf(t, "apache-error", "").Parse([]byte(head+in+said), &ev) == scan.Read {
			got = ev.Addr.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
