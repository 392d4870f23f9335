package lapi

import (
	"strings"

	"edgeguard/internal/safetext"
)

// mostAgent is how much of a User-Agent is kept.
const mostAgent = 128

// agentOf returns a User-Agent as it is shown.
func agentOf(text string) string {
	return safetext.Strip(strings.ToValidUTF8(text[:min(len(text), mostAgent)], ""))
}

// packetFilters are parts of the User-Agents of bouncers that filter packets: those of
// firewalls and routers.
var packetFilters = []string{"firewall", "mikrotik", "routeros", "opnsense", "pfsense", "unifi", "fortigate", "vyos"}

// filtersPackets reports whether a bouncer filters packets, by its User-Agent.
func filtersPackets(agent string) bool { return anyIn(agent, packetFilters) }

// newFirst are parts of the User-Agents of bouncers that take in what is new and then
// take out what is deleted. An address in both would be free. They take a new end of
// what they have, so that it needs not be deleted.
var newFirst = []string{"traefik", "spoa"}

// takesNewFirst reports whether a bouncer is such a one.
func takesNewFirst(agent string) bool { return anyIn(agent, newFirst) }

func anyIn(agent string, parts []string) bool {
	agent = strings.ToLower(agent)
	for _, part := range parts {
		if strings.Contains(agent, part) {
			return true
		}
	}
	return false
}
