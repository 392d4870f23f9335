package config

import (
	"edgeguard/config/key"
	"edgeguard/crawlers"
)

// Tables returns the keys of the tables in docs/configuration.md, bound to defaults.
func Tables() map[string]key.List {
	c, access, auth, envoy, admin, proxy := Default(), newAccessLog(), newAuth(), newEnvoyListener(), newAdmin(), newProxyAuth()
	peers, spoe, lapi, list, webhook, alerts := newPeers(), newSPOE(), newLAPI(), newList(), newWebhook(), newAlertmanager()
	file, aws, cloudflare := newListFile(), newAWSWAF(), newCloudflare()
	return map[string]key.List{
		"":                        c.keys(nil),
		"log":                     c.Log.keys(),
		"listen.auth":             auth.keys(),
		"listen.envoy":            envoy.keys(),
		"listen.admin":            admin.keys(),
		"listen.admin.proxy_auth": proxy.keys(),
		"sensors.accesslog":       access.keys(),
		"sensors.packet":          newPacket().keys(),
		"haproxy.peers":           peers.keys(),
		"haproxy.spoe":            spoe.keys(),
		"crowdsec.lapi":           lapi.keys(),
		"crowdsec.decisions":      newDecisions().keys(),
		"crowdsec.alerts":         new(CrowdSecAlerts).keys(),
		"crawlers":                crawlerKeys(new(crawlers.Spec)),
		"blocklists":              list.keys(),
		"floods":                  c.Floods.keys(),
		"enforce.names":           newNames().keys(),
		"enforce.files":           file.keys(),
		"enforce.haproxy":         newHAProxyACL().keys(),
		"enforce.nftables":        newNFTables().keys(),
		"enforce.awswaf":          aws.keys(),
		"enforce.cloudflare":      cloudflare.keys(),
		"notify.webhooks":         webhook.keys(),
		"notify.alertmanager":     alerts.keys(),
		"fleet":                   DefaultFleet().keys(),
	}
}

// ParsePieces parses a config m and its piece f.
func ParsePieces(main, piece []byte) (*Config, error) {
	return parse([]written{{"m", main}, {"f", piece}})
}
