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

// newAlone are parts of the User-Agents of bouncers that get what is new of an address
// that they have alone, and take it as its new end. Traefik's and HAProxy's take in what
// is new and then take out what is deleted: an address in both would be free. The custom
// bouncer runs its script for what is new of an address once in some seconds, and for what
// is deleted: soon after a block its next end would be an unblock.
var newAlone = []string{"traefik", "spoa", "custom-bouncer"}

// takesNewAlone reports whether a bouncer is such a one.
func takesNewAlone(agent string) bool { return anyIn(agent, newAlone) }

func anyIn(agent string, parts []string) bool {
	agent = strings.ToLower(agent)
	for _, part := range parts {
		if strings.Contains(agent, part) {
			return true
		}
	}
	return false
}
