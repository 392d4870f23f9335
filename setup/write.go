package setup

import (
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/internal/safetext"
	"edgeguard/logline"
)

// Config returns the config of a site of these names that counts from the sources.
func Config(sources []Source, own SiteNames) string {
	var b strings.Builder
	b.WriteString(head)
	own.write(&b)
	b.WriteString(presets)
	writePresets(&b, sources)
	b.WriteString(sensors)
	for i := range sources {
		if s := &sources[i]; s.Follow {
			b.WriteString("    # " + safetext.Strip(s.Proxy+", "+s.At) + "\n")
			b.WriteString("    - {file: " + yaml.Quote(s.File) + ", format: " + yaml.Quote(s.Format) + "}\n")
		}
	}
	if slices.ContainsFunc(sources, countsLogins) {
		b.WriteString(logins)
	} else {
		b.WriteString(foot)
	}
	return b.String()
}

// countsLogins reports whether a source that is counted says which logins failed, as the
// presets, which go by requests, do not ask.
func countsLogins(s Source) bool {
	f, err := logline.ParseFormat(s.Format)
	return s.Follow && err == nil && f != nil && f.Kinds()&edgeguard.KindAuthFailure != 0
}

const logins = `
# Failed logins, as the logs of services say them. Presets count requests.
rules:
  - {name: logins, match: {kind: auth_failure}, threshold: 6, window: 5m, block_for: 1h}
`

// writePresets writes the presets that the logs show to be of use, and why.
func writePresets(b *strings.Builder, sources []Source) {
	line := func(why, otherwise string) {
		if why == "" {
			why = otherwise
		}
		b.WriteString("  # " + safetext.Strip(why) + ".\n")
	}
	b.WriteString("presets:\n  - web@1\n  - login@1\n")
	line(showingLog(sources, wordPress), "No log shows a WordPress: who looks for its login is an attacker")
	b.WriteString("  - wordpress@1\n")
	if shows := showingLog(sources, joomla); shows != "" {
		line(shows, "")
		b.WriteString("  - joomla@1\n")
	} else {
		b.WriteString(noJoomla)
	}
	if shows := showingLog(sources, api); shows != "" {
		line(shows, "")
		b.WriteString("  - api@1\n")
	}
}

// noJoomla has the rules for Joomla at a site that may have another application at the
// path of Joomla's.
const noJoomla = `  # No log shows a Joomla. Another application may be below /administrator/, so only
  # Joomla's own page counts. For Joomla write joomla@1 alone.
  - name: joomla@1
    without: login-day
    rules:
      login: {match: {path: &joomla /administrator/index.php}}
      refused: {match: {path: *joomla}}
`

const head = `# Written by edgeguard setup. ` + "`edgeguard check`" + ` prints it with every default filled in;
# docs/configuration.md explains every key.

# Nothing is enforced yet: ` + "`edgeguard top` and `edgeguard blocks`" + ` show what would
# be blocked. When that is right, set ` + "`mode: enforce` and run `systemctl reload\n# edgeguard`" + `.
mode: monitor

listen:
  # Proxies ask here whether an address is blocked. The logs below count, so
  # nothing is counted here.
  auth:
    - {address: "unix:/run/edgeguard/auth.sock", emit: nothing}
  # For operators: root, and the members of the group edgeguard-admin. The web
  # server must not be one. Over TCP without a token nothing can be changed.
  admin:
    - {address: "unix:/run/edgeguard/admin.sock", group: edgeguard-admin}
    - "127.0.0.1:9190"

state: /var/lib/edgeguard

# Never blocked: your office, your monitoring.
allowlist: []
`

const presets = `
# Rules that are shipped, see ` + "`edgeguard presets`" + ` and docs/presets.md. They are chosen
# by what the last lines of the logs show.
`

const sensors = `
# The logs that are counted.
sensors:
  accesslog:
`

const foot = `    # Failed logins of SSH; the rule ssh below counts them.
    #- {file: /var/log/auth.log, format: sshd}

# Your own rules, beside the presets.
#rules:
#  - {name: search, match: {path: /search*}, threshold: 300}
#  - {name: ssh, match: {kind: auth_failure}, threshold: 6, window: 5m, block_for: 1h}
`

// DropIn returns what the unit needs so that the node can read all sources; empty if it
// needs nothing.
func DropIn(sources []Source) string {
	groups := Groups(sources)
	if len(groups) == 0 {
		return ""
	}
	return "# Written by edgeguard setup: the logs belong to these groups.\n[Service]\nSupplementaryGroups=" + strings.Join(groups, " ") + "\n"
}

// Groups returns the groups that the node lacks, each once.
func Groups(sources []Source) []string {
	var groups []string
	for i := range sources {
		if sources[i].Follow {
			groups = append(groups, sources[i].Groups...)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// Followed returns how many sources are counted.
func Followed(sources []Source) int {
	n := 0
	for i := range sources {
		if sources[i].Follow {
			n++
		}
	}
	return n
}
