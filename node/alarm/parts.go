package alarm

import (
	"maps"
	"slices"

	"edgeguard/admin"
)

// subjectOf says what a kind of alarm is about, and whether something does not work until
// somebody acts.
type subjectOf struct {
	part string
	acts bool
}

// kinds has each kind of alarm.
var kinds = map[string]subjectOf{
	Served: {admin.PartMode, true}, Nothing: {admin.PartMode, true},

	Log: {admin.PartLogs, true}, LogMissing: {admin.PartLogs, false}, Silent: {admin.PartLogs, true}, Loss: {admin.PartLogs, false},

	Listen: {admin.PartListeners, true}, Interface: {admin.PartListeners, true}, Late: {admin.PartListeners, true}, HAProxy: {admin.PartListeners, false},
	HAProxyAway: {admin.PartListeners, true}, HAProxyTable: {admin.PartListeners, true},
	AuthFull: {admin.PartListeners, false}, AdminFull: {admin.PartListeners, false}, SPOEFull: {admin.PartListeners, false},
	EnvoyFull: {admin.PartListeners, false}, LAPIFull: {admin.PartListeners, false},
	"auth_no_client": {admin.PartListeners, true}, "auth_untrusted_peer": {admin.PartListeners, true}, "auth_unreadable": {admin.PartListeners, false},
	"auth_panic": {admin.PartListeners, true}, "envoy_panic": {admin.PartListeners, true}, "spoe_panic": {admin.PartListeners, true},
	"envoy_no_client": {admin.PartListeners, true}, "envoy_untrusted_peer": {admin.PartListeners, true}, "envoy_unreadable": {admin.PartListeners, false},
	"spoe_no_client": {admin.PartListeners, true}, "spoe_hello": {admin.PartListeners, true}, "spoe_protocol": {admin.PartListeners, false},
	"spoe_stranger": {admin.PartListeners, false},

	Fleet: {admin.PartFleet, true}, Held: {admin.PartFleet, false}, Nodes: {admin.PartFleet, true}, OtherRules: {admin.PartFleet, true},
	Forged: {admin.PartFleet, true}, Unsigned: {admin.PartFleet, false}, Claimed: {admin.PartFleet, true},
	"fleet_duplicate_boot": {admin.PartFleet, true}, "fleet_duplicate_name": {admin.PartFleet, true}, "fleet_eviction": {admin.PartFleet, true},
	"fleet_full": {admin.PartFleet, false}, "fleet_key": {admin.PartFleet, true}, "fleet_loader": {admin.PartFleet, true},
	"fleet_no_room": {admin.PartFleet, false}, "fleet_rejected": {admin.PartFleet, false}, "fleet_version": {admin.PartFleet, true},

	Enforcer: {admin.PartLists, true},

	Dominant: {admin.PartRequests, true}, Hidden: {admin.PartRequests, false}, Uncounted: {admin.PartRequests, true}, UncountedAddress: {admin.PartRequests, true},
	Flood: {admin.PartRequests, false}, Spared: {admin.PartRequests, false}, Wide: {admin.PartRequests, false}, FrontDoor: {admin.PartRequests, false},

	Failing: {admin.PartSite, true},
	Blocks:  {admin.PartBlocks, false}, Elsewhere: {admin.PartBlocks, false},
	State: {admin.PartState, true},
	Clock: {admin.PartClock, false}, "fleet_clock": {admin.PartClock, true},
	Reload: {admin.PartConfig, true}, Overlay: {admin.PartConfig, false},

	Blocklist: {admin.PartImports, false}, BlocklistWaits: {admin.PartImports, false}, BlocklistStale: {admin.PartImports, true}, Imported: {admin.PartImports, false},
	Bouncer: {admin.PartBouncers, true}, CrowdSec: {admin.PartCrowdSec, true}, Notify: {admin.PartNotify, true}, Crawlers: {admin.PartCrawlers, false},
	Addrs: {admin.PartHost, true}, Files: {admin.PartHost, false},
}

// Kinds returns the kinds of alarms.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// About returns which part of a node a kind of alarm is about, and whether something does not
// work there until somebody acts. One that is not known is about the host, and acts on nothing.
func About(kind string) (part string, acts bool) {
	if k, ok := kinds[kind]; ok {
		return k.part, k.acts
	}
	return admin.PartHost, false
}
