package pattern

// webServices are programs with a web front and a login. Those that are forgeable write a name
// with its line breaks, so that a client can write whole lines, or are not known to
// escape it; gin believes any X-Forwarded-For, if it is not told otherwise.
var webServices = []service{
	{name: "vaultwarden", forgeable: true, failures: []string{
		`{}\[[\w:]*\]\[[A-Z]+\] Username or password is incorrect\. Try again\. IP: ADDR\. Username: `,
		`{}\[[\w:]*\]\[[A-Z]+\] Invalid admin token\. IP: ADDR$`,
		`{}\[[\w:]*\]\[[A-Z]+\] Invalid TOTP code! Server time: [\d :-]+ UTC IP: ADDR$`,
	}},
	{name: "bitwarden", failures: []string{
		`{}\[(?:WRN|Warning)\] Failed login attempt(?:, 2FA invalid)?\. ADDR$`,
		`{Bitwarden-Identity}\[[\w.]+\] Failed login attempt(?:, 2FA invalid)?\. ADDR$`,
	}},
	{name: "wordpress", failures: []string{
		`{wordpress*|wp*}(?:Authentication failure|Authentication attempt|Blocked authentication attempt|XML-RPC (?:multicall )?authentication (?:attempt|failure)) .*from ADDR$`,
	}},
	{name: "drupal", failures: []string{`{}(?:[\w.-]+ )?[\w.-]+(?:\[\d+\])?: https?://[^|]*\|\d+\|user\|(?P<addr>[^|]+)\|.*\|Login attempt failed [^|]*$`}},
	{name: "grafana", failures: []string{
		`^logger=context userId=\d+ orgId=\d+ uname= t=(?P<time>[^ ]+) level=\w+ msg="Request Completed" method=POST path=/login status=401 remote_addr=ADDR `,
	}},
	{name: "authelia", failures: []string{
		`^time="(?P<time>[^"]*)" level=error msg="Unsuccessful (?:1FA|TOTP|Duo|U2F|WebAuthn) authentication attempt by user (?:[^"\\]|\\.)*" method=POST path=/api/[a-z/-]+ remote_ip=ADDR(?: .*)?$`,
	}},
	{name: "miniflux", failures: []string{
		`^(?:miniflux +\| +)?time=(?P<time>[^ ]+) level=WARN msg="[^"]*" authentication_failed=true client_ip=ADDR `,
	}},
	{name: "cas", forgeable: true, failures: []string{
		`{}INFO +\[org\.apereo\.inspektr\.audit\.support\.[\w.]+\] - .*\|AUTHENTICATION_FAILED\|.*\|(?P<addr>[^|]+)\|[^|]*$`,
	}},
	{name: "lemonldap", failures: []string{`{LLNG}\[warn\] (?:Bad password for .*|.* was not found in LDAP directory) \((?P<addr>[^()]+)\)$`}},
	{name: "phpmyadmin", failures: []string{`{phpMyAdmin}user denied: .* \([a-z-]+\) from ADDR$`}},
	{name: "lighttpd", forgeable: true, failures: []string{
		`{}\(?(?:http_auth|mod_auth)\.c\.\d+\) (?:password doesn't match|digest: auth failed|get_password failed).* IP: ADDR$`,
		`{lighttpd}\((?:http_auth|mod_auth)\.c\.\d+\) (?:password doesn't match|digest: auth failed|get_password failed).* IP: ADDR$`,
	}},
	{name: "froxlor", failures: []string{
		`{Froxlor|froxlor}\[Login Action (?P<addr>[^\]]+)\] (?:Unknown user|User) `,
		`{Froxlor|froxlor}froxlor\.WARNING: (?:User tried to login with wrong password|Unknown user tried to login)\. \{"source":"login","action":"\d+","user":"(?P<addr>[^"]+)"\}`,
	}},
	{name: "directadmin", failures: []string{`{}'(?P<addr>[^']+)' \d+ failed login attempts?\. `}},
	{name: "hestiacp", failures: []string{`{}.* ADDR failed to login$`}},
	{name: "gitlab", forgeable: true, failures: []string{`{}Failed Login: username=.* ip=ADDR$`}},
	{name: "groupoffice", forgeable: true, failures: []string{`{}LOGIN FAILED for user: ".*" from IP: ADDR$`}},
	{name: "tine20", forgeable: true, failures: []string{
		`^\w+ \w+ -- none -- - (?P<time>[^ ]+) WARN \(\d\): Tinebase_Controller::login::\d+ Login with username .* from ADDR failed \(-\d+\)!$`,
	}},
	{name: "odoo", forgeable: true, failures: []string{`{}\d+ INFO [^ ]+ odoo\.addons\.base\.models\.res_users: Login failed for db:[^ ]* login:.* from ADDR$`}},
	{name: "paperless", forgeable: true, failures: []string{"{}\\[INFO\\] \\[paperless\\.auth\\] Login failed for user `.*` from (?:private |public )?IP `(?P<addr>[^`]+)`\\.?$"}},
	{name: "guacamole", forgeable: true, failures: []string{`{}\[[^\]]*\] WARN +o\.a\.g\.r\.auth\.AuthenticationService - Authentication attempt from ADDR for user `}},
	{name: "fireflyiii", forgeable: true, failures: []string{`{}\w+\.[A-Z]+: AUDIT: Login failed\. Attempt for user .* failed\. \((?P<addr>[^ ()]+) -> POST:[^ ()]*\)$`}},
	{name: "stirling-pdf", failures: []string{`{}[A-Z]+ +[\w.]+ \[[^\]]*\] Failed login attempt from IP: ADDR$`}},
	{name: "meshcentral", failures: []string{`{https|meshcentral}Failed password for .* from ADDR port \d+$`}},
	{name: "litespeed-admin", failures: []string{`{}\[NOTICE\] \[\d+\] \[(?P<addr>[^ :\]]+):\d+:[^\]]*\] \[STDERR\] \[WebAdmin Console\] Failed Login Attempt`}},
	{name: "sympa", rejected: []string{`{wwsympa}[a-z]+ [\w:]+ \[robot [^\]]*\](?: \[session [^\]]*\])? \[client (?P<addr>[^\]]+)\] .*Unknown action`}},
	{
		name:     "monitorix",
		failures: []string{`{}- AUTHERR - \[(?P<addr>[^\]]+)\] `},
		rejected: []string{`{}- (?:NOTEXIST|NOTALLOWED) - \[(?P<addr>[^\]]+)\] `},
	},
	{name: "znc", failures: []string{`{}\[.*\] failed to login from ADDR$`, `{znc*}\[.*\] failed to login from ADDR$`}},
	{name: "gin", forgeable: true, others: []string{
		`^\[GIN\] (?P<time>[\d/]+ - [\d:]+) \| *(?P<status>\d+) \| *[^ |]+ \| *ADDR \| *(?P<method>[A-Z]+) +"(?P<path>.*)"`,
	}},
	{name: "zoraxy", others: []string{
		`{}(?:\[[\d:. -]+\] )?\[router:[^\]]*\] \[origin:[^\] ]*\] \[client: (?P<addr>[^\]]+)\] \[useragent: (?P<user_agent>.*)\] (?P<method>[A-Z]+) (?P<path>[^ ]*) (?P<status>\d+)$`,
	}},
}

// mediaServices are the programs that serve films and music, and fetch them. Those that are
// forgeable are as above; calibre-web writes what X-Forwarded-For says.
var mediaServices = []service{
	{name: "jellyfin", forgeable: true, failures: []string{
		`{jellyfin}\[[\d:]+\] \[INF\] (?:\[\d+\] [\w.]+: )?Authentication request for .* has been denied \(IP: (?P<addr>[^()]+)\)\.$`,
		`{}\[INF\] (?:\[\d+\] [\w.]+: )?Authentication request for .* has been denied \(IP: (?P<addr>[^()]+)\)\.$`,
	}},
	{name: "emby", failures: []string{`{}Warn(?:ing)? [A-Za-z]+: AUTH-ERROR: ADDR - Invalid `}},
	{name: "servarr", forgeable: true, failures: []string{
		`{mono|Sonarr|Radarr|Prowlarr|Lidarr|Readarr|sonarr|radarr|prowlarr|lidarr|readarr}\[Warn\] Auth: Auth-Failure ip ADDR username '`,
	}},
	{name: "seerr", failures: []string{`{}\[warn\]\[[A-Za-z ]+\]: Failed (?:sign-in|login) attempt[A-Za-z ,-]* \{"ip":"(?P<addr>[^"]+)",`}},
	{name: "uptime-kuma", forgeable: true, failures: []string{`{}\[AUTH\] WARN: Incorrect username or password for user .*\. IP=ADDR$`}},
	{name: "calibre-web", forgeable: true, failures: []string{`{} *WARN \{[\w.]+:\d+\} Login failed for user ".*" IP-address: ADDR$`}},
	{name: "qbittorrent", forgeable: true, failures: []string{
		`^\([A-Z]\) (?P<time>[^ ]+) - WebAPI login failure\. Reason: [\w ]+, attempt count: \d+, IP: (?P<addr>[^ ,]+), username: `,
	}},
	{name: "sabnzbd", failures: []string{`{}:WARNING::\[interface:\d+\] Unsuccessful login attempt from ADDR `}},
}
