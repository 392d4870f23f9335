// Package neighbours runs the services of a node that speak with systems beside it. Some
// enforce its blocks (CrowdSec's bouncers), some have lists that it takes in (blocklists, a
// CrowdSec, crawlers' ranges), some it notifies (webhooks, Alertmanagers). Proxies that ask
// are sensors, and the other nodes are the fleet.
package neighbours
