package console

import (
	"net/url"
	"slices"
	"strings"

	"edgeguard/admin"
)

// withOrder returns parameters with an order: the newest first unless another is asked
// for. The form sends it together with its direction.
func withOrder(asked url.Values) url.Values {
	order, dir, both := strings.Cut(asked.Get("order"), " ")
	if both {
		asked.Set("order", order)
		asked.Set("dir", dir)
	}
	if order == "" {
		asked.Set("order", admin.Newest)
	}
	return asked
}

// chosenIn returns what was chosen in the form; an order together with its direction.
func chosenIn(asked url.Values, name string) string {
	order, dir := asked.Get("order"), asked.Get("dir")
	if name != "order" {
		return asked.Get(name)
	}
	if dir == "" || dir == admin.Orders[order] {
		return order
	}
	return order + " " + dir
}

// plainHeads returns the heads of a list in one order.
func plainHeads() []columnHead {
	all := slices.Clone(blockColumns)
	for i := range all {
		all[i].Title = ""
	}
	return all
}

// columnHeads returns the heads of a list in an order. The head of that order turns it
// around.
func columnHeads(asked url.Values, f *admin.BlockFilter) []columnHead {
	all := slices.Clone(blockColumns)
	for i := range all {
		order := all[i].order
		if order == "" {
			continue
		}
		dir := admin.Orders[order]
		if order == f.Order {
			all[i].Sort = map[bool]string{true: "descending", false: "ascending"}[f.Descending()]
			if !f.Backwards {
				dir = map[bool]string{true: "asc", false: "desc"}[f.Descending()]
			}
		}
		query := without(asked, "cursor")
		query.Set("order", order)
		query.Set("dir", dir)
		all[i].Path = "/blocked?" + query.Encode()
	}
	return all
}

// without returns the parameters without one, and without what the page adds.
func without(asked url.Values, name string) url.Values {
	rest := make(url.Values)
	for other, values := range asked {
		if other != name && other != "limit" {
			rest[other] = values
		}
	}
	return rest
}
