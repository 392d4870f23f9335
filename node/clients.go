package node

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/clockguard"
	"edgeguard/frontdoor"
	"edgeguard/node/pipeline"
)

// clientNames is what operators say of a node's clients: an admin.ClientOperator.
type clientNames struct {
	pipeline *pipeline.Pipeline
	clock    *clockguard.Clock
	touch    func()
}

// Clients implements admin.ClientOperator.
func (c *clientNames) Clients() admin.ClientList {
	list := admin.ClientList{Clients: []admin.Client{}}
	for _, prefix := range c.pipeline.Current().Config.Clients {
		list.Clients = append(list.Clients, admin.Client{Prefix: prefix, Source: admin.AllowedByConfig})
	}
	named, _ := c.pipeline.Doors().Clients()
	for _, one := range named {
		list.Clients = append(list.Clients, clientByHand(one))
	}
	return list
}

func clientByHand(c frontdoor.Client) admin.Client {
	return admin.Client{Prefix: c.Prefix, Source: admin.AllowedByOperator, Since: c.Since.UTC()}
}

// AddClient implements admin.ClientOperator. All of an address family is a slip: it ends what spares
// any front door.
func (c *clientNames) AddClient(prefix netip.Prefix) (admin.Client, *call.Problem) {
	least := 7 // fc00::/7
	if prefix.Addr().Is4() {
		least = 8 // 10.0.0.0/8
	}
	if prefix.Bits() < least {
		return admin.Client{}, call.NewProblem(http.StatusUnprocessableEntity, "prefix",
			fmt.Sprintf("%s is wider than any private network: /%d at most", prefix, least), "name the networks in which your clients are")
	}
	named, ok := c.pipeline.Doors().AddClient(frontdoor.Client{Prefix: prefix, Since: c.clock.Epoch(c.clock.Now())})
	if !ok {
		return admin.Client{}, call.NewProblem(http.StatusConflict, "prefix",
			fmt.Sprintf("%d networks are named already", frontdoor.MostClients), "remove some, or name a wider one")
	}
	c.touch()
	return clientByHand(named), nil
}

// RemoveClient implements admin.ClientOperator.
func (c *clientNames) RemoveClient(prefix netip.Prefix) (admin.Client, *call.Problem) {
	removed, ok := c.pipeline.Doors().RemoveClient(prefix)
	switch {
	case ok:
	case slices.Contains(c.pipeline.Current().Config.Clients, prefix):
		return admin.Client{}, call.NewProblem(http.StatusConflict, "prefix", prefix.String()+" is named by the config: clients", "edit the config and reload")
	default:
		return admin.Client{}, call.NewProblem(http.StatusNotFound, "prefix", prefix.String()+" is not named as clients'", "`edgeguard clients` lists what is")
	}
	c.touch()
	return clientByHand(removed), nil
}
