package admin

// Elsewhere is what is in force from one source that is not this node: how much of the
// address space it is, and what it does to the requests here.
type Elsewhere struct {
	// Source is nodes_signed or nodes_unsigned for the other nodes of the fleet together, by
	// whether they have its key; owner for a program beside this node, or list for an
	// imported one, which have a Name. What this node found too, or its operator confirmed,
	// is not among them.
	Source string `json:"source"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind"` // block or allowance
	// Records are its entries. IPv4 is how many addresses, and IPv6 how many networks of /48
	// they cover together.
	Records int    `json:"records"`
	IPv4    uint64 `json:"ipv4_addresses"`
	IPv6    uint64 `json:"ipv6_networks"`
	// Share is the part of the requests that the blocks refuse, or the allowances spare: of
	// the last five minutes, or of the last thousand; 0 where there were under a hundred.
	Share float64 `json:"share"`
	// Held is how many more of them are not in force: those of other nodes that await
	// confirmation, or wait for room.
	Held int `json:"held"`
}

// Who says whose it is.
func (e *Elsewhere) Who() string {
	switch e.Source {
	case "nodes_signed":
		return "other nodes, signed"
	case "nodes_unsigned":
		return "other nodes, unsigned"
	}
	return e.Source + " " + e.Name
}
