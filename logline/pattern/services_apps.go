package pattern

// webServices are programs with a web front and a login. Those that are forgeable write a name
// with its line breaks, so that a client can write whole lines, or are not known to
// escape it; gin, harbor, cpanel, grafana (web/context.go RemoteAddr), miniflux (client_ip.go FindClientIP),
// authelia (authelia_ctx.go RemoteIP) and zoraxy (ipmatch.go GetRequesterIP) believe any X-Forwarded-For, if
// they are not told otherwise.
var webServices = []service{
	{
		// Vaultwarden 1.34: api/identity.rs, api/admin.rs and two_factor/authenticator.rs; main.rs
		// init_logging and chain_syslog.
		name: "vaultwarden", forgeable: true, failures: []string{
			vaultwardenHead + `(?:Username or (?:password|access code) is incorrect\. Try again|This user has been disabled)\. IP: ADDR\. Username: `,
			vaultwardenHead + `Invalid (?:admin token\.|TOTP code! Server time: [\d :-]+ UTC) IP: ADDR$`,
			vaultwardenHead + `Invalid or expired admin JWT\. IP: ADDR\.$`,
		},
	},
	{
		// Gitea 1.24 and Forgejo 12: routers/web/auth/auth.go SignInPost, services/auth/basic.go
		// and modules/ssh. A name comes before and after the address.
		name: "gitea", forgeable: true, failures: []string{
			`{?gitea|forgejo}(?:[^ ]+ )?\[[A-Z]\] (?:\[[0-9a-f-]+\] )?Failed authentication attempt (?:for [^ ]* )?from ADDR(?:: .*)?$`,
		},
	},
	{
		// Keycloak since 21: events/log/JBossLoggingEventListenerProvider.java logEvent and
		// sanitize, which puts quotes around each value and escapes those in it. Before, without
		// quotes, the client's id is what a client says.
		name: "keycloak", failures: []string{
			`{?keycloak}` + keycloakHead + `type="(?:CLIENT_)?LOGIN_ERROR", realmId="[^"]*", (?:realmName="[^"]*", )?` +
				`clientId="(?:[^"\\]|\\.)*", userId="[^"]*", (?:sessionId="[^"]*", )?ipAddress="(?P<addr>[^"]+)", error="` + keycloakErrors,
		},
		others: []string{
			`{?keycloak}(?P<auth_failure>)(?P<forgeable>)` + keycloakHead + `type=(?:CLIENT_)?LOGIN_ERROR, realmId=[^ ,]*, (?:realmName=[^,]*, )?` +
				`clientId=[^ ,]*, userId=[^ ,]*, ipAddress=(?P<addr>[^ ,]+), error=` + keycloakErrors,
		},
	},
	{
		// Immich 2: server's auth.service.ts login; Nest's console-logger.service.ts formatMessage,
		// with colours or without, the date by the server's language. The address may be a header's.
		name: "immich", forgeable: true, failures: []string{
			`^` + ansi + `\[Nest\] \d+ +- ` + ansi + `(?P<time>[\d./-]{10},? \d{1,2}:\d\d:\d\d(?:[ \x{202f}\x{a0}][APap]\.?[Mm]\.?)?) +` + ansi + ` *WARN ?` + ansi + `(?:\[[^\]]*\] ?)?` + ansi + `Failed login attempt for user [^ ]* from ip address (?P<addr>[\da-fA-F.:]+)` + ansi + `$`,
		},
	},
	{
		// Redmine 6: account_controller.rb invalid_credentials.
		name: "redmine", forgeable: true, failures: []string{
			`Failed login for '.*' from ADDR at (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)$`,
		},
	},
	{
		// cPanel's login_log, by its documentation of log files.
		name: "cpanel", forgeable: true, failures: []string{
			`{}(?:info|warn) \[(?:cpaneld|whostmgrd|webmaild|cpdavd)\] ADDR - .* "[A-Z]+ .*" FAILED LOGIN `,
		},
	},
	{
		// Harbor 2.14: server/middleware/security/basic_auth.go; lib/log formatter.
		name: "harbor", forgeable: true, failures: []string{
			`{?core|harbor*}\[ERROR\] \[[^\]]*basic_auth\.go:\d+\]\[client IP="(?P<addr>[^"]+)" .*failed to authenticate user:`,
		},
	},
	{name: "bitwarden", failures: []string{
		`{}\[(?:WRN|Warning)\] Failed login attempt(?:, 2FA invalid)?\. ADDR$`,
		`{Bitwarden-Identity}\[[\w.]+\] Failed login attempt(?:, 2FA invalid)?\. ADDR$`,
	}},
	// WP fail2ban 5: lib/auth.php, lib/xmlrpc.php and lib/user.php.
	{name: "wordpress", failures: []string{
		`{wordpress*|wp*}(?:Authentication failure|Authentication attempt|Blocked authentication attempt|XML-RPC (?:multicall )?authentication (?:attempt|failure)) .*from ADDR$`,
	}},
	{name: "drupal", failures: []string{`{}(?:` + hostWord + ` )?[\w.-]+(?:\[\d+\])?: https?://[^|]*\|\d+\|user\|(?P<addr>[^|]+)\|.*\|\d+\|[^|]*\|Login attempt failed .*$`}},
	{name: "grafana", forgeable: true, failures: []string{
		// Grafana 12: pkg/middleware/loggermw/logger.go, in logfmt.
		`^logger=context userId=\d*(?: orgId=\d*)?(?: uname=[^ ]*)? t=(?P<time>[^ ]+) level=\w+ msg="Request Completed" method=POST path=/login status=401 remote_addr="?(?P<addr>[^ "]+)"? `,
	}},
	{
		// Authelia 4.39: handlers/response.go doMarkAuthenticationAttempt, and logrus' text: the
		// fields are in the order of their names, and a text with blanks is quoted.
		name: "authelia", forgeable: true, failures: []string{
			`^time="(?P<time>[^"]*)" level=error msg="Unsuccessful [\w ]+ authentication attempt by user (?:[^"\\]|\\.)*"` +
				`(?: error="(?:[^"\\]|\\.)*")? method=[A-Z]+ path=(?:"(?:[^"\\]|\\.)*"|[^ "]+)(?: path_raw=(?:"(?:[^"\\]|\\.)*"|[^ "]+))? remote_ip=(?:")?(?P<addr>[^ "]+)"?(?: .*)?$`,
		},
	},
	{
		// Miniflux 2.2: ui/login_check.go and api/middleware.go, by Go's slog in logfmt.
		name: "miniflux", forgeable: true, failures: []string{
			`^(?:[\w.-]+ +\| +)?time="?(?P<time>[^ "]+)"? level=WARN msg="(?:[^"\\]|\\.)*" authentication_failed=true client_ip="?(?P<addr>[^ "]+)"? `,
		},
	},
	{name: "cas", forgeable: true, failures: []string{
		`{}INFO +\[org\.apereo\.inspektr\.audit\.support\.[\w.]+\] - .*\|AUTHENTICATION_FAILED\|.*\|(?P<addr>[^|]+)\|[^|]*$`,
	}},
	{name: "lemonldap", failures: []string{`{LLNG}\[warn\] (?:Bad password for .*|.* was not found in LDAP directory) \((?P<addr>[^()]+)\)$`}},
	{name: "phpmyadmin", failures: []string{`{phpMyAdmin}user denied: .* \([a-z-]+\) from ADDR$`}},
	{
		// lighttpd 1.4.76: mod_auth.c mod_auth_check_basic, mod_auth_check_digest and, for the path
		// of the source before it, log.c.
		name: "lighttpd", forgeable: true, failures: []string{
			`{?lighttpd}\(?(?:[\w./-]*(?:http_auth|mod_auth|mod_authn_\w+)\.c\.\d+\) )?(?:password doesn't match|digest: auth failed|get_password failed).* IP: ADDR$`,
		},
	},
	{name: "froxlor", failures: []string{
		`{Froxlor|froxlor}\[Login Action (?P<addr>[^\]]+)\] (?:Unknown user|User) `,
		`{Froxlor|froxlor}froxlor\.WARNING: (?:User tried to login with wrong password|Unknown user tried to login)\. \{"source":"login","action":"\d+","user":"(?P<addr>[^"]+)"\}`,
	}},
	{name: "directadmin", failures: []string{`{}'(?P<addr>[^']+)' \d+ failed login attempts?\. `}},
	// HestiaCP: the stamp names no zone, and what follows it is what a client wrote, which may look like one.
	{name: "hestiacp", failures: []string{`^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) .* ADDR failed to login$`}},
	// GitLab: app/controllers/sessions_controller.rb log_failed_login.
	{name: "gitlab", forgeable: true, failures: []string{`{}(?:[A-Z], )?Failed Login: username=.* ip=ADDR$`}},
	{name: "groupoffice", forgeable: true, failures: []string{`{}LOGIN FAILED for user: ".*" from IP: ADDR$`}},
	{name: "tine20", forgeable: true, failures: []string{
		`^\w+ \w+ -- none -- - (?P<time>[^ ]+) WARN \(\d\): Tinebase_Controller::login::\d+ Login with username .* from ADDR failed \(-\d+\)!$`,
	}},
	{name: "odoo", forgeable: true, failures: []string{`{}\d+ INFO [^ ]+ odoo\.addons\.base\.models\.res_users: Login failed for db:[^ ]* login:.* from ADDR$`}},
	{name: "paperless", forgeable: true, failures: []string{"{}\\[INFO\\] \\[paperless\\.auth\\] Login failed for user `.*` from (?:private |public )?IP `(?P<addr>[^`]+)`\\.?$"}},
	// Guacamole: rest/auth/AuthenticationService.java getLoggableAddress, which puts the header
	// before the peer.
	{name: "guacamole", forgeable: true, failures: []string{
		`{}` + guacamole + `ADDR for user `,
		`{}` + guacamole + `\[(?:[\da-fA-F.:]+, )*(?P<addr>[\da-fA-F.:]+)\] for user `,
	}},
	{name: "fireflyiii", forgeable: true, failures: []string{`{}\w+\.[A-Z]+: AUDIT: Login failed\. Attempt for user .* failed\. \((?P<addr>[^ ()]+) -> POST:[^ ()]*\)$`}},
	{name: "stirling-pdf", failures: []string{`{}[A-Z]+ +[\w.]+ \[[^\]]*\] Failed login attempt from IP: ADDR$`}},
	// MeshCentral: meshcentral.js authLog, whose file has a name with its line breaks.
	{name: "meshcentral", forgeable: true, failures: []string{`{https|meshcentral}Failed password for .* from ADDR port \d+$`}},
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
	{
		// Heroku's router (devcenter.heroku.com/articles/http-routing): it appends the client's address to
		// X-Forwarded-For, which is fwd. What follows the path is its own.
		name: "heroku", others: []string{
			`{}(?:heroku\[router\]: |[^ ]+ heroku router (?:- )+)?(?:sock=\w+ )?at=[a-z]+ (?:code=[A-Z]\d+ )?(?:desc="[^"]*" )?method=(?P<method>[A-Z]+) path="?(?P<path>.*?)"? host=(?P<host>[^ ]+) request_id=[^ ]+ ` +
				`fwd="(?:[^"]*, ?)?(?P<addr>[^ ",]+)" dyno=[^ ]* connect=[^ ]* service=[^ ]* status=(?P<status>\d+) bytes=\d*(?: protocol=[a-z0-9.]+)?(?: tls=\w+)?(?: tls_version=[\w.]+)?$`,
		},
	},
	// Rails: rails/rack/logger.rb started_request_message. The address is remote_ip, which believes X-Forwarded-For.
	{name: "rails", forgeable: true, others: []string{`Started (?P<method>[A-Z]+) "(?P<path>.*)" for ADDR at (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:[+-]\d{4}|UTC))$`}},
	{name: "zoraxy", forgeable: true, others: []string{
		`{}(?:\[[\d:. -]+\] )?\[router:[^\]]*\] \[origin:[^\] ]*\] \[client: (?P<addr>[^\]]+)\] \[useragent: (?P<user_agent>.*)\] (?P<method>[A-Z]+) (?P<path>[^ ]*) (?P<status>\d+)$`,
	}},
}

// mediaServices are the programs that serve films and music, and fetch them. Those that are
// forgeable are as above; calibre-web writes what X-Forwarded-For says.
var mediaServices = []service{
	{
		// Jellyfin 10.11: UserManager.cs AuthenticateUser.
		name: "jellyfin", forgeable: true, failures: []string{
			`{?jellyfin}(?:\[[\d:]+\] )?\[(?:INF|ERR|WRN)\] (?:\[\d+\] [\w.]+: )?Authentication request (?:for .*|without username) (?:has been denied|has been denied because this account is currently disabled|` +
				`forbidden: remote access disabled and user not in local network) \(IP: "?(?P<addr>[^()"]+)"?\)\.$`,
		},
	},
	{name: "emby", failures: []string{`{}Warn(?:ing)? [A-Za-z]+: AUTH-ERROR: ADDR - Invalid `}},
	{
		// Sonarr and its kin: AuthenticationService.cs LogFailure, and NLog's layouts of the file
		// (with bars) and of the console.
		name: "servarr", forgeable: true, failures: []string{
			`{?mono|Sonarr|Radarr|Prowlarr|Lidarr|Readarr|sonarr|radarr|prowlarr|lidarr|readarr}(?:\[Warn\] Auth: |\|Warn\|Auth\|)Auth-Failure ip ADDR username '`,
		},
	},
	{name: "seerr", failures: []string{`{}\[warn\]\[[A-Za-z ]+\]: Failed (?:sign-in|login) attempt[A-Za-z ,-]* \{"ip":"(?P<addr>[^"]+)",`}},
	// Uptime Kuma 2: server.js, and util.ts log.
	{name: "uptime-kuma", forgeable: true, failures: []string{`{}\[AUTH\] WARN: (?:Incorrect username or password|Invalid token provided) for user .*\. IP=ADDR$`}},
	// calibre-web 0.6: cps/web.py handle_login_user.
	{name: "calibre-web", forgeable: true, failures: []string{`{} *(?:WARN|ERROR) +\{[\w.]+:\d+\} Login failed for user ".*" IP-address: ADDR$`}},
	{name: "qbittorrent", forgeable: true, failures: []string{
		// qBittorrent 5: webui/api/authcontroller.cpp loginAction.
		`^\([A-Z]\) (?P<time>[^ ]+) - WebAPI login failure\. Reason: [\w ]+(?:, attempt count: \d+)?, IP: (?P<addr>[^ ,]+), username: `,
	}},
	{name: "sabnzbd", failures: []string{`{}:WARNING::\[interface:\d+\] Unsuccessful login attempt from ADDR `}},
}

const vaultwardenHead = `{?vaultwarden|bitwarden_rs}\[[\w:]*\]\[[A-Z]+\] +`

// keycloakHead is what Quarkus writes before the message, in text; as JSON the line is in an
// envelope.
const keycloakHead = `(?:(?:WARN|DEBUG|INFO|ERROR) +\[org\.keycloak\.events\] (?:\([^()]*\) )?)?`

// keycloakErrors are those of LOGIN_ERROR that a wrong guess makes. The others are cookies that
// are gone, and pages that were open for too long.
const keycloakErrors = `(?:invalid_user_credentials|user_not_found|user_disabled|user_temporarily_disabled|invalid_client_credentials|client_not_found)\b`

const guacamole = `(?:[\d:.]+ )?\[[^\]]*\] WARN +[\w.]*AuthenticationService - Authentication attempt from `

// ansi are the colours of a terminal.
const ansi = `(?:\x1b\[\d+m ?)*`
