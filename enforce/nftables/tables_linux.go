package nftables

import (
	"context"
	"slices"
)

// Tables returns the names of the tables that edgeguard made, sorted.
func Tables(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := &kernel{}
	defer k.closeConn()
	return k.tables()
}

func (k *kernel) tables() (names []string, err error) {
	c, err := k.connect()
	if err != nil {
		return nil, err
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, explain(err)
	}
	for _, chain := range chains {
		if isFamily(chain.Table.Family) && chain.Name == mark {
			names = append(names, chain.Table.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
