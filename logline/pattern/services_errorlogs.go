package pattern

// Apache's error log has the address before all that a client sends, and escapes that (httpd
// 2.4: log.c do_errorlog_default). Since 2.4 a module is named and a port follows the address,
// also that of an IPv6 address without brackets; an ErrorLogFormat may leave it out. The
// connection's address is [remote …] where a module has no request at hand, and always in
// 2.4.57 of RHEL 9; behind it ModSecurity 2 writes the request's own.
const (
	apacheHead = `{?apache2|httpd}\[[a-z0-9_]*:[a-z0-9]+\] (?:\[pid \d+(?::tid \d+)?\] )?(?:[\w./-]+\(\d+\): )?(?:\(\d+\)[^\[\]]*: )?`
	apache24   = apacheHead + `\[(?:client|remote) ADDR:\d+\] (?:AH\d+: )?`
	apacheBare = apacheHead + `\[(?:client|remote) ADDR\] (?:AH\d+: )?`
	apache22   = `{?apache2|httpd}\[[a-z]+\] (?:\[pid \d+\] )?\[client (?P<addr>[^\]]+)\] `

	// mod_auth_basic.c authenticate_basic_user, mod_auth_digest.c authenticate_digest_user.
	apacheFailure = `(?:user .*(?: not found|password mismatch|Password Mismatch|authentication failure|denied by provider)|Digest: user |` +
		`(?:Digest: )?(?:invalid nonce|invalid opaque|realm mismatch|unknown algorithm|invalid qop|uri mismatch)|client used wrong authentication scheme)`
	apacheRejection = `(?:client denied by server configuration|(?:\[client [^\]]*\] )?ModSecurity: Access denied)`
)

// nginx writes what a client sends as it is, on both sides of the address. So where
// a name precedes it, the whole line must be as nginx writes it, with no quote
// inside a field: behind a name that holds a forged line there are still nginx'
// own words, which begin with a quote. A password mismatch is no exception: a name
// that was not found can hold those words, too.
//
// None of that is evidence: a path of a file that is not there is written decoded, with
// its line breaks (GET /%0A2026...), so that one request can write any lines.
const (
	// ngx_log.c ngx_log_error_core; ngx_http_request.c and ngx_mail_handler.c log handlers.
	nginxHead = `{?nginx*|ingress*}\[[a-z]+\] \d+#\d+: (?:\*\d+ )?`
	nginxTail = `, client: (?P<addr>[^ ,]+)(?: using starttls)?, server: `
)

var errorLogServices = []service{
	{
		name:     "apache-error",
		failures: []string{apache24 + apacheFailure, apacheBare + apacheFailure, apache22 + apacheFailure},
		rejected: []string{
			apacheHead + `\[remote [^ ]+\] \[client ADDR\] ModSecurity: Access denied`,
			apache24 + apacheRejection, apacheBare + apacheRejection, apache22 + apacheRejection,
		},
	},
	{
		name: "nginx-error", forgeable: true,
		failures: []string{
			nginxHead + `user "[^"]*"(?:: password mismatch| was not found in "[^"]*")` + nginxTail + `[^",]*, request: "[^"]*"(?:, subrequest: "[^"]*")?(?:, upstream: "[^"]*")?(?:, host: "[^"]*")?(?:, referrer: "[^"]*")?$`,
			nginxHead + `client login failed: "[^"]*" while in http auth state` + nginxTail,
			// What an application in PHP says by error_log, such as BookStack and Baïkal.
			nginxHead + `FastCGI sent in stderr: "(?:PHP message: )?[^"]*(?:[Ff]ailed login|[Ll]ogin failed|[Aa]uthentication fail)[^"]*" while reading [a-z ]+ upstream` + nginxTail,
		},
		rejected: []string{
			nginxHead + `limiting requests, excess: [\d.]+,? by zone "[^"]*"` + nginxTail,
			nginxHead + `limiting connections by zone "[^"]*"` + nginxTail,
			nginxHead + `access forbidden by rule` + nginxTail,
			// ModSecurity 3 (ModSecurity-nginx, ngx_http_modsecurity_log), and NAXSI where it does
			// not learn (naxsi_runtime.c ngx_http_nx_log).
			nginxHead + `\[client ADDR\] ModSecurity: Access denied `,
			nginxHead + `NAXSI_FMT: ip=ADDR&server=[^&]*&uri=[^&]*&(?:learning=0&)?(?:(?:vers|total_processed|total_blocked)=[^&]*&)*(?:block=1|config=(?:block|drop))&`,
		},
	},
	{name: "zoneminder", failures: []string{apache24 + `(?:WAR|ERR) \[(?:Login denied for user|Could not retrieve user)`}},
}
