package logline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/internal/realdata"
	"edgeguard/logline/pattern"
	"edgeguard/logline/scan"
)

// serviceLines are lines of each service. USER is what a client writes, and ADDR
// where the service writes its address.
var serviceLines = map[string][]string{
	"apache-error": {
		"[Sun Nov 22 10:00:00.569531 2026] [auth_basic:error] [pid 17:tid 18] [client ADDR:4711] AH01618: user USER not found: /USER, referer: USER",
		"[Sun Nov 22 10:00:00 2026] [error] [client ADDR] user USER: password mismatch: /USER",
		"[Sun Nov 22 10:00:00.5 2026] [authz_core:error] [pid 17] [client ADDR:4711] AH01630: client denied by server configuration: /USER",
		"[Sun Nov 22 10:00:00.5 2026] [:error] [pid 17] [client ADDR:4711] ModSecurity: Access denied with code 403 (phase 2). USER",
		"[Sun Nov 22 10:00:00.5 2026] [auth_basic:error] [pid 17:tid 140] [remote ADDR:4711] AH01617: user USER: authentication failure for \"/USER\": Password Mismatch",
		"[Sun Nov 22 10:00:00.5 2026] [authz_core:error] [pid 17] [remote ADDR:4711] AH01797: client denied by server configuration: /USER",
		"[Sun Nov 22 10:00:00.5 2026] [security2:error] [pid 17:tid 18] [remote 203.0.113.9:4711] [client ADDR] ModSecurity: Access denied with code 403 (phase 2). USER",
		"[Sun Nov 22 10:00:00.5 2026] [security2:error] [pid 17:tid 18] [client ADDR] [client ADDR] ModSecurity: Access denied with code 403 (phase 2). USER",
		"[Sun Nov 22 10:00:00.5 2026] [auth_basic:error] [pid 17] [client ADDR] AH01618: user USER not found: /USER",
		"[Sun Nov 22 10:00:00.5 2026] [authz_core:error] [pid 17] [client ADDR] AH01630: client denied by server configuration: /USER",
	},
	"nginx-error": {
		`2026/11/22 10:00:00 [error] 17#0: *7 user "bob": password mismatch, client: ADDR, server: _, request: "GET /USER HTTP/1.1", host: "USER", referrer: "USER"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 user "USER" was not found in "/etc/htpasswd", client: ADDR, server: _, request: "GET /x HTTP/1.1", host: "h", referrer: "USER"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 user "USER" was not found in "/etc/htpasswd", client: ADDR, server: _, request: "GET /USER HTTP/1.1", host: "USER"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 limiting requests, excess: 1.852 by zone "one", client: ADDR, server: _, request: "POST /USER HTTP/1.0", host: "USER"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 access forbidden by rule, client: ADDR, server: _, request: "GET /USER HTTP/1.1"`,
		`2026/11/22 10:00:00 [error] 17#17: *7 [client ADDR] ModSecurity: Access denied with code 403 (phase 2). Matched "x" (Value: USER' ) [uri "/USER"], client: ADDR, server: h, request: "GET /USER HTTP/1.1"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=ADDR&server=h&uri=/a&learning=0&vers=1.3&total_processed=4&total_blocked=2&block=1&cscore0=$SQL&score0=8&zone0=ARGS&id0=1000&var_name0=USER, client: ADDR, server: h, request: "GET /USER HTTP/1.1"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=ADDR&server=h&uri=/a&vers=1.6&total_processed=4&total_blocked=2&config=block&zone0=BODY&id0=11&var_name0=USER, client: ADDR, server: h, request: "GET /USER HTTP/1.1"`,
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=ADDR&server=h&uri=/a&config=block&rid=1a&cscore0=$SQL&score0=8, client: ADDR, server: h, request: "GET /USER HTTP/1.1"`,
		`2026/11/22 10:00:00 [info] 17#0: *7 client login failed: "AUTH not supported" while in http auth state, client: ADDR, server: 0.0.0.0:25, login: "USER"`,
	},
	"zoneminder":            {`[Sun Nov 22 10:00:00.522240 2026] [php7:notice] [pid 17] [client ADDR:4711] WAR [Login denied for user "USER"], referer: USER`},
	"nextcloud":             {`{"reqId":"U1","level":2,"time":"2026-11-22T10:00:00+00:00","remoteAddr":"ADDR","user":"--","app":"core","method":"POST","url":"/QUOTED","message":"Login failed: QUOTED (Remote IP: ADDR)","userAgent":"QUOTED"}`},
	"authentik":             {`{"client_ip": "ADDR", "event": "invalid_login", "host": "h", "identifier": "QUOTED", "timestamp": "2026-11-22T10:00:00.487016"}`},
	"teleport":              {`{"event":"user.login","code":"T1000W","time":"2026-11-22T10:00:00.133Z","user":"QUOTED","success":false,"user_agent":"QUOTED","addr.remote":"ADDR:4711"}`},
	"mongodb":               {`{"t":{"$date":"2026-11-22T10:00:00.903+00:00"},"s":"I",  "c":"ACCESS",   "id":20249,"msg":"Authentication failed","attr":{"principalName":"QUOTED","remote":"ADDR:4711","extraInfo":{}}}`},
	"aws-console":           {`{"eventTime":"2026-11-22T10:00:00Z","eventName":"ConsoleLogin","sourceIPAddress":"ADDR","userAgent":"QUOTED","errorMessage":"Failed authentication"}`},
	"ntfy":                  {`{"time":"2026-11-22T10:00:00.02Z","error":"unauthorized","http_method":"GET","http_path":"/QUOTED","visitor_ip":"ADDR"}`},
	"cowrie-json":           {`{"src_ip":"ADDR","src_port":4711,"eventid":"cowrie.login.failed","username":"QUOTED","timestamp":"2026-11-22T10:00:00.803989Z","message":"QUOTED"}`},
	"opensearch-dashboards": {`{"@timestamp":"2026-11-22T10:00:00Z","statusCode":401,"req":{"url":"/QUOTED","method":"post","headers":{"host":"QUOTED","x-QUOTED":"QUOTED"},"remoteAddress":"ADDR","userAgent":"QUOTED"}}`},
	"sshd": {
		"Nov 22 10:00:00 web-1 sshd[17]: Failed password for USER from ADDR port 4711 ssh2",
		"<38>Nov 22 10:00:00 web-1 sshd-session[17]: Failed password for invalid user USER from ADDR port 4711 ssh2",
		"2026-11-22T10:00:00.1+00:00 web-1 sshd[17]: Invalid user USER from ADDR port 4711",
		"Nov 22 10:00:00 web-1 sshd[17]: error: PAM: Authentication failure for USER from ADDR",
		"Nov 22 10:00:00 web-1 sshd[17]: error: maximum authentication attempts exceeded for invalid user USER from ADDR port 4711 ssh2 [preauth]",
		"Nov 22 10:00:00 web-1 sshd[17]: User USER from ADDR not allowed because not listed in AllowUsers",
		"Nov 22 10:00:00 web-1 sshd[17]: Connection closed by invalid user USER ADDR port 4711 [preauth]",
		"Nov 22 10:00:00 web-1 sshd[17]: Bad protocol version identification 'USER' from ADDR port 4711",
		"Nov 22 10:00:00 web-1 sshd[17]: fatal: Timeout before authentication for ADDR port 4711",
		"Nov 22 10:00:00 web-1 sshd[17]: banner exchange: Connection from ADDR port 4711: USER",
		"Nov 22 10:00:00 web-1 sshd[17]: Unable to negotiate with ADDR port 4711: no matching host key type found. Their offer: USER",
	},
	"dropbear":       {"Nov 22 10:00:00 ap dropbear[17]: Bad password attempt for 'USER' from ADDR:4711", "Nov 22 10:00:00 ap dropbear[17]: Login attempt for nonexistent user 'USER' from ADDR:4711"},
	"pam":            {"Nov 22 10:00:00 web-1 sshd[17]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=ADDR  user=USER"},
	"audit":          {`type=USER_AUTH msg=audit(1795341600.1:7): pid=17 uid=0 auid=0 ses=7 subj=x msg='op=login acct=28696E76616C696429 exe="/usr/sbin/sshd" hostname=? addr=ADDR terminal=ssh res=failed'`},
	"netfilter":      {"Nov 22 10:00:00 web-1 kernel: [ 17.5] IN=eth0 OUT= MAC=de:1c SRC=ADDR DST=10.0.0.1 LEN=44 TOS=0x00 PROTO=TCP SPT=4711 DPT=80 WINDOW=1024 RES=0x00 SYN URGP=0"},
	"endlessh":       {"Nov 22 10:00:00 web-1 endlessh[17]: ACCEPT host=ADDR port=4711 fd=5 n=1/4096"},
	"cowrie":         {"Nov 22 10:00:00 web-1 cowrie[17]: 2026-11-22T10:00:00+0000 [cowrie.ssh.factory.CowrieSSHFactory] New connection: ADDR:4711 (10.0.0.1:2222) [session: 3e5a]"},
	"xinetd":         {"Nov 22 10:00:00 web-1 xinetd[17]: FAIL: telnet address from=ADDR"},
	"nrpe":           {"Nov 22 10:00:00 web-1 nrpe[17]: Host ADDR is not allowed to talk to us!"},
	"screensharingd": {"Nov 22 2026 10:00:00 mac screensharingd[17]: Authentication: FAILED :: User Name: USER :: Viewer Address: ADDR :: Type: DH"},
	"openvpn":        {"2026-11-22 10:00:00 ADDR:4711 TLS Error: incoming packet authentication failed from USER", "Nov 22 10:00:00 gw ovpn-server[17]: ADDR:4711 VERIFY ERROR: depth=0, USER"},
	"softether":      {`2026-11-22 10:00:00.781 Connection "CID-72": User authentication failed. The user name that has been provided was "USER", from ADDR.`},
	"routeros":       {"Nov 22 10:00:00 gw.local system,error,critical login failure for user USER from ADDR via web"},
	"stunnel":        {"2026.11.22 10:00:00 LOG3[17:18]: SSL_accept from ADDR:4711 : 140890C7: error"},
	"proxmox": {
		"Nov 22 10:00:00 pve pvedaemon[17]: authentication failure; rhost=ADDR user=USER msg=no such user ('USER')",
		"2026-11-22T10:00:00+00:00: authentication failure; rhost=[::ffff:ADDR]:4711 user=USER msg=USER",
		"Nov 22 10:00:00 pve pvedaemon[17]: openid authentication failure; rhost=::ffff:ADDR msg=USER",
	},
	"webmin": {
		"Nov 22 10:00:00 web-1 webmin[17]: Invalid login as USER from ADDR",
		"Nov 22 10:00:00 web-1 webmin[17]: Security alert: Host ADDR blocked after 5 failed logins for user USER",
		`1795341600.17.0 [22/Nov/2026 10:00:00] USER - ADDR global miniserv.pl "failed" "-" "wrongpass"`,
	},
	"sendmail": {
		"Nov 22 10:00:00 mx sm-mta[17]: 5AM0x1: AUTH failure (LOGIN): user not found (-20) SASL(-13): user not found: checkpass failed, user=USER, relay=host.example.org [ADDR] (may be forged)",
		"Nov 22 10:00:00 mx sendmail[17]: 5AM0x1: [ADDR]: possible SMTP attack: command=AUTH, count=5",
		"Nov 22 10:00:00 mx sendmail[17]: 5AM0x1: [ADDR] did not issue MAIL/EXPN/VRFY/ETRN during connection to MTA",
	},
	"zimbra":         {"2026-11-22 10:00:00,123 WARN  [qtp-17:https://mx/service/soap/AuthRequest] [ip=10.0.0.1;oip=ADDR;oport=4711;ua=x;] security - cmd=Auth; account=USER; protocol=soap; error=authentication failed for [USER], invalid password;"},
	"samba":          {`  Auth: [SMB2,(null)] user [DOM]\[USER] at [Sun, 22 Nov 2026 10:00:00.123456 UTC] with [NTLMv2] status [NT_STATUS_WRONG_PASSWORD] workstation [W] remote host [ipv4:ADDR:4711] mapped to [DOM]\[USER]. local host [ipv4:10.0.0.1:445] `},
	"samba-json":     {`  {"timestamp": "2026-11-22T10:00:00.123456+0000", "type": "Authentication", "Authentication": {"version": {"major": 1, "minor": 2}, "eventId": 4625, "status": "NT_STATUS_WRONG_PASSWORD", "localAddress": "ipv4:10.0.0.1:445", "remoteAddress": "ipv4:ADDR:4711", "clientAccount": "QUOTED", "workstation": "QUOTED"}}`},
	"windows":        {`{"@timestamp":"2026-11-22T10:00:00.123Z","message":"QUOTED","winlog":{"channel":"Security","event_id":"4625","computer_name":"dc1","event_data":{"TargetUserName":"QUOTED","LogonType":"10","IpAddress":"ADDR","IpPort":"0"}}}`},
	"windows-vector": {`{"timestamp":"2026-11-22T10:00:00.123Z","channel":"Security","event_id":4625,"computer":"dc1","event_data":{"TargetUserName":"QUOTED","LogonType":3,"IpAddress":"ADDR"},"message":"QUOTED"}`},
	"postgresql": {
		`2026-11-22 10:00:00.123 UTC [17] ADDR FATAL:  password authentication failed for user "USER"`,
		`2026-11-22 10:00:00.123 UTC [17]: [1-1] user=USER,db=USER,app=[unknown],client=ADDR FATAL:  password authentication failed for user "USER"`,
		`2026-11-22 10:00:00.123 UTC [17] FATAL:  no pg_hba.conf entry for host "ADDR", user "USER", database "USER", no encryption`,
	},
	"slapd": {
		"Nov 22 10:00:00 ldap slapd[17]: conn=1007 fd=12 ACCEPT from IP=ADDR:4711 (IP=0.0.0.0:389)\n" +
			"Nov 22 10:00:00 ldap slapd[17]: conn=1007 op=0 BIND dn=\"cn=USER\" method=128\n" +
			"Nov 22 10:00:00 ldap slapd[17]: conn=1007 op=0 RESULT tag=97 err=49 qtime=0.000011 etime=0.000123 text=USER",
	},
	"xrdp":       {"[20261122-10:00:00] [INFO ] AUTHFAIL: user=USER ip=::ffff:ADDR time=1795341600"},
	"scanlogd":   {"Nov 22 10:00:00 gw scanlogd: ADDR:4711 to 10.0.0.1 and others, ports 80, 81, 82, 83, ..., fSrpauxy, TOS 00, TTL 64 @10:00:00"},
	"portsentry": {"Nov 22 10:00:00 gw portsentry[17]: Scan from: [ADDR] (ADDR) protocol: [TCP] port: [23] type: [Connect] IP opts: [unknown]", "Nov 22 10:00:00 gw portsentry[17]: attackalert: Connect from host: host.example.org/ADDR to TCP port: 143"},
	"uw-imap":    {"Nov 22 10:00:00 mx imapd[17]: Login failed user=USER auth=USER host=host.example.org [ADDR]", "Nov 22 10:00:00 mx imapd[17]: AUTHENTICATE LOGIN failure host=[ADDR]"},
	"nsd":        {"[2026-11-22 10:00:00.123] nsd[17]: info: query example.org. from ADDR refused, BLOCKED by acl"},
	"murmur":     {"<W>2026-11-22 10:00:00.123 1 => <12:USER(-1)> Rejected connection from ADDR:4711: Invalid server password"},
	"immich": {
		"[Nest] 7  - 11/22/2026, 10:00:00 AM    WARN [Api:AuthService~ab12] Failed login attempt for user bob@example.org from ip address ADDR",
		"\x1b[33m[Nest] 7  - \x1b[39m11/22/2026, 10:00:00 AM \x1b[33m   WARN\x1b[39m \x1b[33m[Api:AuthService~ab12] \x1b[39m\x1b[33mFailed login attempt for user bob@example.org from ip address ADDR\x1b[39m",
	},
	"gitea":    {"2026/11/22 10:00:00 ...ers/web/auth/auth.go:208:SignInPost() [W] Failed authentication attempt for bob from ADDR:4711: user does not exist [uid: 0, name: USER, keyid: 0]"},
	"keycloak": {`2026-11-22 10:00:00,123 WARN  [org.keycloak.events] (executor-thread-1) type="LOGIN_ERROR", realmId="0a-1", realmName="master", clientId="QUOTED", userId="null", ipAddress="ADDR", error="user_not_found", auth_method="openid-connect", username="QUOTED"`},
	"rails": {
		`Started GET "/a?USER" for ADDR at 2026-11-22 10:00:00 +0000`,
		`I, [2026-11-22T10:00:00.123456 #17]  INFO -- : [8f-1] Started POST "/login" for ADDR at 2026-11-22 10:00:00 UTC`,
	},
	"heroku": {
		`2026-11-22T10:00:00.123456+00:00 heroku[router]: at=info method=GET path="/a" host=a.example.org request_id=8f fwd="9.9.9.9,ADDR" dyno=web.1 connect=0ms service=18ms status=401 bytes=13 protocol=https`,
		`<158>1 2026-11-22T10:00:00.123456+00:00 host heroku router - at=error code=H12 desc="Request timeout" method=GET path="/a" host=a.example.org request_id=8f fwd="ADDR" dyno=web.1 connect=0ms service=30000ms status=503 bytes=0 protocol=http tls_version=tls1.3`,
	},
	"redmine":  {"Failed login for 'USER' from ADDR at 2026-11-22 10:00:00 UTC"},
	"cpanel":   {`[2026-11-22 10:00:00 +0000] info [cpaneld] ADDR - USER "POST /login/?login_only=1 HTTP/1.1" FAILED LOGIN cpaneld: invalid user USER`},
	"harbor":   {`2026-11-22T10:00:00Z [ERROR] [/server/middleware/security/basic_auth.go:72][client IP="ADDR" requestID="x" user agent="USER"]: failed to authenticate user:USER, error:USER`},
	"ejabberd": {`2026-11-22 10:00:00.123 [warning] <0.17.0>@ejabberd_c2s:process_auth_result:312 (tls|<0.17.0>) Failed c2s PLAIN authentication for USER@example.org from ADDR: Invalid username or password`},
	"postfix": {
		"Nov 22 10:00:00 mx postfix/submission/smtpd[17]: warning: unknown[ADDR]: SASL LOGIN authentication failed: USER",
		"Nov 22 10:00:00 mx postfix/smtpd[17]: NOQUEUE: reject: RCPT from mail.example.org[ADDR]: 554 5.7.1 <USER>: Relay access denied; from=<USER> to=<USER> proto=SMTP helo=<USER>",
	},
	"dovecot": {"Nov 22 10:00:00 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<USER>, method=PLAIN, rip=ADDR, lip=10.0.0.1, TLS, session=<abc+/01=>"},
	"exim":    {"2026-11-22 10:00:00 login authenticator failed for host.example.org ([10.0.0.9]) [ADDR]:4711: 535 Incorrect authentication data (set_id=USER)", "2026-11-22 10:00:00 H=(x) [ADDR]:4711 F=<USER> rejected RCPT <USER>: relay not permitted"},
	"courier": {
		"Nov 22 10:00:00 mx imapd-ssl: LOGIN FAILED, user=USER, ip=[ADDR]",
		`Nov 22 10:00:00 mx courieresmtpd: error,relay=::ffff:ADDR,port=4711,msg="535 Authentication failed.",cmd: AUTH USER`,
		`Nov 22 10:00:00 mx courieresmtpd: error,relay=::ffff:ADDR,port=4711,from=<USER>,to=<USER>: 550 User unknown.`,
	},
	"cyrus":     {"Nov 22 10:00:00 mx cyrus/imaps[17]: badlogin: localhost [ADDR] plaintext USER SASL(-13): authentication failure: checkpass failed"},
	"qmail":     {"Nov 22 10:00:00 mx rblsmtpd: ADDR pid 17 sbl.example.org: 451 blocked"},
	"domino":    {"2026-11-22 10:00:00   smtp: USER [ADDR] authentication failure using internet password"},
	"oracleims": {`<co ts="2026-11-22T10:00:00.99" pi="1.2.3" sc="tcp_local" dr="+" ac="U" tr="TCP|10.0.0.1|25|ADDR|4711" ap="SMTP" mi="Bad password" us="USER" di="535"/>`},
	"exchange":  {`2026-11-22T10:00:00.530Z,000000000000000E,2,10.0.0.1:143,ADDR:4711,USER,168,31,31,authenticate,PLAIN,"R=""2 NO"";Msg=""AuthFailed:LogonDenied,User: USER"""`},
	"roundcube": {
		"Nov 22 10:00:00 mx roundcube: <ab12> IMAP Error: Login failed for USER from ADDR",
		"[22-Nov-2026 10:00:00 +0000]: <ab12> Failed login for USER from ADDR (X-Forwarded-For: USER) in session ab12 (error: 0)",
		"Nov 22 10:00:00 mx roundcube: IMAP Error: Login failed for USER from ADDR. AUTHENTICATE PLAIN: A0002 NO Login failed. in /usr/share/x.php on line 205 (POST /?_task=login)",
		"[22-Nov-2026 10:00:00 +0000]: FAILED login for USER from ADDR",
	},
	"horde":       {`Nov 22 10:00:00 HORDE [error] [imp] FAILED LOGIN for USER [ADDR] to {mx.example.org:993 [imap/ssl]} [pid 17 on line 139 of "/srv/horde/login.php"]`},
	"sogo":        {"Nov 22 10:00:00 sogod [17]: SOGoRootPage Login from 'ADDR' for user 'USER' might not have worked"},
	"proftpd":     {"Nov 22 10:00:00 ftp proftpd[17] ftp.example.org (client.example.org[ADDR]): USER USER: no such user found from 1 [1] to 2:21", "Nov 22 10:00:00 ftp proftpd[17]: ftp (ADDR[ADDR]) - USER USER (Login failed): Incorrect password."},
	"vsftpd":      {`Sun Nov 22 10:00:00 2026 [pid 17] [USER] FAIL LOGIN: Client "ADDR"`},
	"pure-ftpd":   {"Nov 22 10:00:00 ftp pure-ftpd: (?@ADDR) [WARNING] Authentication failed for user [USER]"},
	"ftpd":        {"Nov 22 10:00:00 ftp wu-ftpd[17]: failed login from client.example.org [ADDR]"},
	"pterodactyl": {"WARN: [Nov 22 10:00:00.643] failed to validate user credentials (invalid format) ip=ADDR:4711 subsystem=sftp username=USER"},
	"mysqld": {
		"261122 10:00:00 [Warning] Access denied for user 'USER'@'ADDR' (using password: YES)",
		"2026-11-22T10:00:00.000000Z 8 [Note] [MY-010926] [Server] Access denied for user 'USER'@'ADDR' (using password: NO)",
	},
	"mssql":       {"2026-11-22 10:00:00.00 Logon       Login failed for user 'USER'. Reason: Could not find a login matching the name provided. [CLIENT: ADDR]"},
	"named":       {"Nov 22 10:00:00 ns named[17]: client @0x7f ADDR#4711 (USER): query (cache) 'USER/A/IN' denied"},
	"technitium":  {"[2026-11-22 10:00:00 UTC] [[ADDR]:4711] DnsServerCore.DnsWebServiceException: Invalid username or password for user: USER"},
	"adguardhome": {"2026/11/22 10:00:00.233208 [error] POST USER.example.org /control/login?USER: from ip ADDR: invalid username or password"},
	"asterisk": {
		"[2026-11-22 10:00:00] NOTICE[17] chan_sip.c: Registration from 'USER' failed for 'ADDR' - Wrong password",
		`[Nov 22 10:00:00] SECURITY[17]: res_security_log.c:114 security_event_stasis_cb: SecurityEvent="InvalidAccountID",EventTV="x",AccountID="100",RemoteAddress="IPV4/UDP/ADDR/4711"`,
	},
	"freeswitch": {
		"2026-11-22 10:00:00.685002 96.83% [WARNING] sofia_reg.c:3223 SIP auth failure (INVITE) on sofia profile 'internal' for [USER] from ip ADDR",
		"2026-11-22 10:00:00.685002 [WARNING] sofia_reg.c:3223 Can't find user [USER] from ADDR",
	},
	"vaultwarden":     {"[2026-11-22 10:00:00.129][vaultwarden::api::identity][ERROR] Username or password is incorrect. Try again. IP: ADDR. Username: USER."},
	"bitwarden":       {"2026-11-22 10:00:00.008 +00:00 [WRN] Failed login attempt, 2FA invalid. ADDR"},
	"wordpress":       {"Nov 22 10:00:00 web-1 wordpress(example.org)[17]: Authentication attempt for unknown user USER from ADDR"},
	"drupal":          {"Nov 22 10:00:00 web-1 drupal: https://example.org|1795341600|user|ADDR|https://example.org/USER|USER|0||Login attempt failed for USER."},
	"grafana":         {`logger=context userId=0 orgId=0 uname= t=2026-11-22T10:00:00.1+0000 level=info msg="Request Completed" method=POST path=/login status=401 remote_addr=ADDR time_ms=7 referer="USER"`},
	"authelia":        {`time="2026-11-22T10:00:00Z" level=error msg="Unsuccessful 1FA authentication attempt by user 'QUOTED': user not found" method=POST path=/api/firstfactor remote_ip=ADDR stack="x"`},
	"miniflux":        {`time=2026-11-22T10:00:00.307Z level=WARN msg="Incorrect username or password" authentication_failed=true client_ip=ADDR user_agent="USER" username=USER`},
	"cas":             {"2026-11-22 10:00:00,116 INFO [org.apereo.inspektr.audit.support.Slf4jLoggingAuditTrailManager] - Sun Nov 22|CAS|Supplied credentials: [USER]|AUTHENTICATION_FAILED|USER|ADDR|10.0.0.1"},
	"lemonldap":       {"Nov 22 10:00:00 sso LLNG[17]: [warn] USER was not found in LDAP directory (ADDR)"},
	"phpmyadmin":      {"Nov 22 10:00:00 web-1 phpMyAdmin[17]: user denied: USER (mysql-denied) from ADDR"},
	"lighttpd":        {"2026-11-22 10:00:00: (mod_auth.c.525) password doesn't match for /USER username: USER, IP: ADDR"},
	"froxlor":         {"Nov 22 10:00:00 web-1 Froxlor: [Login Action ADDR] Unknown user 'USER' tried to login."},
	"directadmin":     {"2026:11:22-10:00:00: 'ADDR' 2 failed login attempts. Account 'USER'"},
	"hestiacp":        {"2026-11-22 10:00:00 USER ADDR failed to login"},
	"gitlab":          {"2026-11-22T10:00:00.667Z: Failed Login: username=USER ip=ADDR"},
	"groupoffice":     {`[2026-11-22 10:00:00]LOGIN FAILED for user: "USER" from IP: ADDR`},
	"tine20":          {"78017 00cff -- none -- - 2026-11-22T10:00:00+00:00 WARN (4): Tinebase_Controller::login::106 Login with username USER from ADDR failed (-1)!"},
	"odoo":            {"2026-11-22 10:00:00,644 1 INFO odoo odoo.addons.base.models.res_users: Login failed for db:odoo login:USER from ADDR"},
	"paperless":       {"[2026-11-22 10:00:00,332] [INFO] [paperless.auth] Login failed for user `USER` from private IP `ADDR`."},
	"guacamole":       {"2026-11-22T10:00:00,820Z [http-nio-8080-exec-5] WARN  o.a.g.r.auth.AuthenticationService - Authentication attempt from ADDR for user \"USER\" failed."},
	"fireflyiii":      {`[2026-11-22 10:00:00] local.WARNING: AUDIT: Login failed. Attempt for user "USER" failed. (ADDR -> POST:https://example.org/login)`},
	"stirling-pdf":    {"2026-11-22 10:00:00,237 ERROR s.s.S.c.s.CustomAuthenticationFailureHandler [qtp-102] Failed login attempt from IP: ADDR"},
	"meshcentral":     {"Nov 22 10:00:00 web-1 https[17]: Failed password for USER from ADDR port 4711"},
	"litespeed-admin": {"2026-11-22 10:00:00.774649 [NOTICE] [17] [ADDR:4711:HTTP2-41#_AdminVHost] [STDERR] [WebAdmin Console] Failed Login Attempt - username:USER ip:x"},
	"sympa":           {"Nov 22 10:00:00 lists wwsympa[17]: info main:: [robot lists.example.org] [session 08] [client ADDR] [user USER] Unknown action USER"},
	"monitorix":       {"Sun Nov 22 10:00:00 2026 - AUTHERR - [ADDR] Authentication error: /USER"},
	"znc":             {"[2026-11-22 10:00:00] [USER] failed to login from ADDR"},
	"gin":             {`[GIN] 2026/11/22 - 10:00:00 | 401 |     505.317µs |       ADDR | POST     "/USER"`},
	"zoraxy":          {"2026/11/22 10:00:00 [2026-11-22 10:00:00.417736] [router:root] [origin:10.0.0.1] [client: ADDR] [useragent: USER] GET /x 444"},
	"jellyfin":        {"Nov 22 10:00:00 tv jellyfin[17]: [10:00:00] [INF] Authentication request for USER has been denied (IP: ADDR)."},
	"emby":            {"2026-11-22 10:00:00.092 Warn Server: AUTH-ERROR: ADDR - Invalid username or password entered."},
	"servarr":         {"Nov 22 10:00:00 tv Radarr[17]: [Warn] Auth: Auth-Failure ip ADDR username 'USER'"},
	"seerr":           {`2026-11-22T10:00:00.637Z [warn][API]: Failed sign-in attempt using invalid Overseerr password {"ip":"ADDR","email":"USER"}`},
	"uptime-kuma":     {"2026-11-22T10:00:00.098Z [AUTH] WARN: Incorrect username or password for user USER. IP=ADDR"},
	"calibre-web":     {`[2026-11-22 10:00:00,562]  WARN {cps.web:1475} Login failed for user "USER" IP-address: ADDR`},
	"qbittorrent":     {"(W) 2026-11-22T10:00:00 - WebAPI login failure. Reason: invalid credentials, attempt count: 1, IP: ADDR, username: USER"},
	"sabnzbd":         {"2026-11-22 10:00:00,797::WARNING::[interface:657] Unsuccessful login attempt from ADDR (X-Forwarded-For: USER) [USER]"},
}

// attack is what a client may send to a service whose lines are known to him.
func attack(rng *rand.Rand, lines []string) string {
	pieces := []string{"x", " ", hostileText(rng), "-0500 ", "UTC "} // a zone, where the name is next to the stamp
	for range 2 {                                                    // a line that is to be there, and another
		line := lines[rng.IntN(len(lines))]
		pieces = append(pieces, strings.NewReplacer("ADDR", victim, "USER", "x", "QUOTED", "x").Replace(line))
		for part := range strings.SplitSeq(strings.NewReplacer("ADDR", victim, "QUOTED", "USER", "bob", "USER").Replace(line), "USER") {
			pieces = append(pieces, part, part, strings.TrimSpace(part))
		}
	}
	var s strings.Builder
	for range 1 + rng.IntN(5) {
		s.WriteString(pieces[rng.IntN(len(pieces))])
	}
	// syslog daemons and services write control characters in another way.
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s.String())
}

// missable are the services that write a name so that a line with it may be of another client's, by its quotes or blanks: it is
// not counted then. No account has such a name, or the log proves no address.
var missable = []string{"nginx-error", "postgresql", "roundcube", "samba", "vsftpd"}

// TestServices reads a line of each service, and then lines in which a client
// forges as well as he can: they are counted for him once, and never for another.
func TestServices(t *testing.T) {
	fulltest.Only(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, name := range pattern.ServiceNames() {
		if len(serviceLines[name]) == 0 {
			t.Errorf("no line of %s is tried", name)
		}
		for _, line := range serviceLines[name] {
			p, abroad := formatOf(t, name).Parser("log", nil), formatOf(t, name).Parser("log", time.FixedZone("", 19800))
			p.SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
			abroad.SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
			read := func(addr, user string) (ev edgeguard.Event, events int) {
				quoted := strconv.Quote(user) // as JSON does, as far as quotes go
				text := strings.NewReplacer("ADDR", addr, "USER USER", "USER "+user, "USER", user, "QUOTED", quoted[1:len(quoted)-1]).Replace(line)
				text = strings.Replace(text, "type="+user+"_AUTH", "type=USER_AUTH", 1)
				c, l := Chunk{Text: []byte(text), Origin: p}, p
				if rng.IntN(2) == 0 { // a stamp that names its zone settles all that do not
					const runtime = "2026-11-22T10:00:00.1Z stderr F "
					c.Text, l = []byte(runtime+strings.ReplaceAll(text, "\n", "\n"+runtime)), abroad
				}
				if l.Parse(&c); len(c.Events) > 0 {
					ev = c.Events[0]
				}
				return ev, len(c.Events)
			}
			ev, events := read("192.0.2.1", "bob")
			if events != 1 || ev.Addr != netip.MustParseAddr("192.0.2.1") || !ev.Time.Truncate(time.Second).Equal(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("%s: %v at %v, %d events: %s", name, ev.Addr, ev.Time, events, line)
			}
			if forgeable := slices.Contains(forgeableServices, name); (ev.Verified == 0) != forgeable {
				t.Errorf("%s: verified %v", name, ev.Verified)
			}
			first := ev.Time
			for range 400 {
				user := attack(rng, serviceLines[name])
				switch ev, events := read("192.0.2.1", user); {
				case events == 0 && !slices.Contains(missable, name):
					t.Fatalf("seed %d: %s misses %q\n%s", seed, name, user, line)
				case events == 0:
				case events > 1 || ev.Hits > 1 || ev.Addr.String() != "192.0.2.1" || !ev.Time.Equal(first):
					t.Fatalf("seed %d: %s is forged by %q: %v at %v\n%s", seed, name, user, ev.Addr, ev.Time, line)
				}
			}
		}
	}
	for name := range serviceLines {
		if !slices.Contains(pattern.ServiceNames(), name) {
			t.Errorf("%s is no service", name)
		}
	}
}

// TestServicesTogether: one file may have the lines of several services.
func TestServicesTogether(t *testing.T) {
	p := parserOf(t, "postfix+dovecot", "")
	p.(scan.Dated).SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	for _, name := range []string{"postfix", "dovecot"} {
		var ev edgeguard.Event
		if why := p.Parse([]byte(strings.ReplaceAll(serviceLines[name][0], "ADDR", "192.0.2.1")), &ev); why != scan.Read {
			t.Errorf("%s: %s", name, why)
		}
	}
	if _, err := ParseFormat("postfix+dovecott"); err == nil {
		t.Error("an unknown service is accepted")
	}
}

// TestServicesDocs: the page of formats names each service.
func TestServicesDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pattern.ServiceNames() {
		if !strings.Contains(string(page), fmt.Sprintf("`%s`", name)) {
			t.Errorf("docs/formats.md does not name %s", name)
		}
	}
}

// TestFail2banServices reads fail2ban's own test logs by the formats that
// loadtest/detection reads them by: each line that is read is of the host in the
// label before it. Among them are lines that were forged.
func TestFail2banServices(t *testing.T) {
	formats, err := os.ReadFile("../loadtest/detection/formats.tsv")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for line := range strings.Lines(string(formats)) {
		set, format, _ := strings.Cut(strings.TrimSpace(line), "\t")
		name, ok := strings.CutPrefix(set, "fail2ban/")
		if !ok {
			continue
		}
		text, err := os.ReadFile(realdata.Path(t, "tests-fail2ban", name))
		if err != nil {
			t.Fatal(err)
		}
		p := parserOf(t, format, "")
		if d, ok := p.(scan.Dated); ok {
			d.SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		}
		var label struct{ Host string }
		for line := range strings.Lines(string(text)) {
			if after, ok := strings.CutPrefix(line, "# failJSON:"); ok {
				label.Host = ""
				_ = json.Unmarshal([]byte(after), &label) // one has no host, and one is broken
				continue
			}
			var ev edgeguard.Event
			if p.Parse([]byte(strings.TrimSpace(line)), &ev) != scan.Read {
				continue
			}
			read++
			if label.Host != "" && !strings.EqualFold(ev.Addr.String(), label.Host) { // sendmail writes IPv6 in capitals
				t.Errorf("%s: %v, label %s: %s", name, ev.Addr, label.Host, line)
			}
		}
	}
	if read < 250 {
		t.Errorf("only %d lines read", read)
	}
}
