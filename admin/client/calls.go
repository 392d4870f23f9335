package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"edgeguard/admin"
	"edgeguard/admin/access"
)

// Filter says which blocks to list. Every field that is set must hold.
type Filter struct {
	Rule, Origin string
	Owner        string // another program whose blocks are meant
	Prefix       string // blocks inside it
	Contains     string // an address: blocks that hold it
	Batch        string // the import that made them
	Attack       string // an attack whose blocks are removed; no list takes it
}

// query is the filter as the API reads it.
func (f *Filter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"rule": f.Rule, "owner": f.Owner, "origin": f.Origin, "prefix": f.Prefix, "batch": f.Batch, "contains": f.Contains, "attack": f.Attack} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// pageSize is the most that a node sends in one page.
const pageSize = 1000

// Blocks lists the active blocks in the order of their prefixes, page by
// page. It ends after the first error.
func (c *Client) Blocks(ctx context.Context, f Filter) iter.Seq2[admin.ActiveBlock, error] {
	return pages(ctx, c, "/api/v1/blocks", f.query(), func(p admin.BlockPage) ([]admin.ActiveBlock, string) { return p.Blocks, p.Next })
}

// CountBlocks returns how many active blocks a filter matches; atLeast says that there
// may be more.
func (c *Client) CountBlocks(ctx context.Context, f Filter) (n int, atLeast bool, err error) {
	query := f.query()
	query.Set("limit", "1")
	page, err := ask[admin.BlockPage](ctx, c, http.MethodGet, "/api/v1/blocks", query, nil)
	if page.Matched != nil {
		return *page.Matched, false, err
	}
	return page.MatchedAtLeast, true, err
}

// Block requests a block and returns the one that is in force.
func (c *Client) Block(ctx context.Context, r admin.BlockRequest) (admin.Block, error) {
	return ask[admin.Block](ctx, c, http.MethodPost, "/api/v1/blocks", nil, r)
}

// Extend moves the end of the block of exactly this prefix, to later or sooner, and returns it.
func (c *Client) Extend(ctx context.Context, prefix string, r admin.ExtendRequest) (admin.Block, error) {
	return ask[admin.Block](ctx, c, http.MethodPatch, "/api/v1/blocks/"+escaped(prefix), nil, r)
}

// Import requests many blocks, and returns a result for each.
func (c *Client) Import(ctx context.Context, r admin.BulkRequest) (admin.BulkDone, error) {
	return ask[admin.BulkDone](ctx, c, http.MethodPost, "/api/v1/blocks/import", nil, r)
}

// ImportAllowances requests many allowances, and returns a result for each.
func (c *Client) ImportAllowances(ctx context.Context, r admin.BulkRequest) (admin.BulkDone, error) {
	return ask[admin.BulkDone](ctx, c, http.MethodPost, "/api/v1/allow/import", nil, r)
}

// Unblock removes the block of exactly this prefix, resets the counts of its
// addresses, and returns what was lifted.
func (c *Client) Unblock(ctx context.Context, prefix, reason string) (admin.Block, error) {
	return ask[admin.Block](ctx, c, http.MethodDelete, "/api/v1/blocks/"+escaped(prefix), because(reason), nil)
}

// UnblockMany removes the blocks that a filter matches, at most [admin.MostLifted] of them, or
// with try only says what that would do.
func (c *Client) UnblockMany(ctx context.Context, f Filter, reason string, try bool) (admin.BulkLifted, error) {
	query := f.query()
	if len(query) == 0 {
		query.Set("all", "true")
	}
	return c.lift(ctx, "/api/v1/blocks", query, reason, try)
}

// DisallowMany is UnblockMany for the allowances of a batch.
func (c *Client) DisallowMany(ctx context.Context, f Filter, reason string, try bool) (admin.BulkLifted, error) {
	return c.lift(ctx, "/api/v1/allow", f.query(), reason, try)
}

// UndoMany puts back what a change of many lifted, by the name of its record.
func (c *Client) UndoMany(ctx context.Context, name string) (admin.BulkRestored, error) {
	return ask[admin.BulkRestored](ctx, c, http.MethodPost, "/api/v1/audit/"+url.PathEscape(name)+"/undo", nil, nil)
}

// lift takes back what a query matches at a path.
func (c *Client) lift(ctx context.Context, path string, query url.Values, reason string, try bool) (admin.BulkLifted, error) {
	if reason != "" {
		query.Set("reason", reason)
	}
	if try {
		query.Set("dry_run", "true")
	}
	return ask[admin.BulkLifted](ctx, c, http.MethodDelete, path, query, nil)
}

// UnblockOwned removes the block of exactly this prefix that an owner made on the node,
// and returns it. Counts stay. A block of another is a problem with the status 409.
func (c *Client) UnblockOwned(ctx context.Context, prefix, owner, reason string) (admin.Block, error) {
	query := because(reason)
	if query == nil {
		query = url.Values{}
	}
	query.Set("owner", owner)
	return ask[admin.Block](ctx, c, http.MethodDelete, "/api/v1/blocks/"+escaped(prefix), query, nil)
}

// Held lists the blocks of the fleet that await confirmation, in the order of their
// prefixes, page by page. It ends after the first error.
func (c *Client) Held(ctx context.Context) iter.Seq2[admin.HeldBlock, error] {
	return pages(ctx, c, "/api/v1/held", url.Values{}, func(p admin.HeldPage) ([]admin.HeldBlock, string) { return p.Held, p.Next })
}

// FleetHeld asks the other nodes of the fleet what they hold. It takes until their
// next heartbeats, six seconds at most.
func (c *Client) FleetHeld(ctx context.Context) (admin.FleetHeld, error) {
	return ask[admin.FleetHeld](ctx, c, http.MethodGet, "/api/v1/fleet/held", nil, nil)
}

// LoginLinks requests a link that logs a browser in as an operator, once.
func (c *Client) LoginLinks(ctx context.Context) (access.LoginLinks, error) {
	return ask[access.LoginLinks](ctx, c, http.MethodPost, "/api/v1/login-links", nil, nil)
}

// EndSessions logs all browsers out.
func (c *Client) EndSessions(ctx context.Context) (access.SessionsEnded, error) {
	return ask[access.SessionsEnded](ctx, c, http.MethodDelete, "/api/v1/sessions", nil, nil)
}

// pages yields the items of all pages; split returns those of one and the cursor
// of the next.
func pages[Page, Item any](ctx context.Context, c *Client, path string, query url.Values, split func(Page) ([]Item, string)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		query := maps.Clone(query)
		query.Set("limit", strconv.Itoa(pageSize))
		for {
			page, err := ask[Page](ctx, c, http.MethodGet, path, query, nil)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			items, next := split(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			query.Set("cursor", next)
		}
	}
}

// Confirm puts held blocks in force, in the whole fleet.
func (c *Client) Confirm(ctx context.Context, r admin.ConfirmRequest) (admin.Confirmed, error) {
	return ask[admin.Confirmed](ctx, c, http.MethodPost, "/api/v1/held/confirm", nil, r)
}

// because returns the query with the reason of a removal.
func because(reason string) url.Values {
	if reason == "" {
		return nil
	}
	return url.Values{"reason": {reason}}
}

// escaped returns a prefix as part of a path; its slash stays.
func escaped(prefix string) string { return (&url.URL{Path: "/" + prefix}).EscapedPath()[1:] }

// Allowances returns the config's allowlist and the allowances made at run time,
// in the order of their prefixes.
func (c *Client) Allowances(ctx context.Context) ([]admin.Allowance, error) {
	list, err := ask[admin.AllowanceList](ctx, c, http.MethodGet, "/api/v1/allow", nil, nil)
	return list.Allowances, err
}

// Allow exempts a prefix from blocks, and returns the allowance that is in force.
func (c *Client) Allow(ctx context.Context, r admin.AllowRequest) (admin.Allowance, error) {
	return ask[admin.Allowance](ctx, c, http.MethodPost, "/api/v1/allow", nil, r)
}

// Disallow removes the allowance of exactly this prefix that was made at run
// time, and returns it.
func (c *Client) Disallow(ctx context.Context, prefix, reason string) (admin.Allowance, error) {
	return ask[admin.Allowance](ctx, c, http.MethodDelete, "/api/v1/allow/"+escaped(prefix), because(reason), nil)
}

// Sign has the node sign all records on its list; it only counts them unless Yes is
// set.
func (c *Client) Sign(ctx context.Context, r admin.SignRequest) (admin.Signed, error) {
	return ask[admin.Signed](ctx, c, http.MethodPost, "/api/v1/fleet/sign", nil, r)
}

// ExplainKey returns the state of a rule's key without an address.
func (c *Client) ExplainKey(ctx context.Context, rule, with string) (admin.KeyExplanation, error) {
	return ask[admin.KeyExplanation](ctx, c, http.MethodGet, "/api/v1/rules/"+url.PathEscape(rule)+"/key", url.Values{"with": {with}}, nil)
}

// Explain returns the state of an address, with its count for every rule.
func (c *Client) Explain(ctx context.Context, addr netip.Addr) (admin.Explanation, error) {
	return ask[admin.Explanation](ctx, c, http.MethodGet, "/api/v1/explain/"+url.PathEscape(addr.String()), nil, nil)
}

// Top returns the n keys nearest to a limit and the n newest blocks.
func (c *Client) Top(ctx context.Context, n int) (admin.Top, error) {
	return ask[admin.Top](ctx, c, http.MethodGet, "/api/v1/top", url.Values{"limit": {strconv.Itoa(n)}}, nil)
}

// Status returns the node's figures. Rates are the differences of two.
func (c *Client) Status(ctx context.Context) (admin.Stats, error) {
	return ask[admin.Stats](ctx, c, http.MethodGet, "/api/v1/status", nil, nil)
}

// Rules returns the rules, with what operators changed of them.
func (c *Client) Rules(ctx context.Context) (admin.RuleList, error) {
	return ask[admin.RuleList](ctx, c, http.MethodGet, "/api/v1/rules", nil, nil)
}

// Rule returns a rule with the distribution of what its keys count.
func (c *Client) Rule(ctx context.Context, name string) (admin.RuleDetail, error) {
	return ask[admin.RuleDetail](ctx, c, http.MethodGet, "/api/v1/rules/"+url.PathEscape(name), url.Values{"limit": {"1"}}, nil)
}

// Outcome returns what a threshold of a rule would do to what its keys count now.
func (c *Client) Outcome(ctx context.Context, rule string, threshold uint32) (admin.Outcome, error) {
	return ask[admin.Outcome](ctx, c, http.MethodGet, "/api/v1/rules/"+url.PathEscape(rule)+"/outcome", url.Values{"threshold": {strconv.FormatUint(uint64(threshold), 10)}}, nil)
}

// Reload has the node read its config again. A config with errors is a *call.Problem
// with them, and the previous one stays in use.
func (c *Client) Reload(ctx context.Context) error {
	_, err := ask[admin.Reloaded](ctx, c, http.MethodPost, "/api/v1/reload", nil, nil)
	return err
}

// SetThreshold puts another threshold of a rule in force, and returns the rule.
func (c *Client) SetThreshold(ctx context.Context, rule string, r admin.ThresholdRequest) (admin.Rule, error) {
	return ask[admin.Rule](ctx, c, http.MethodPatch, "/api/v1/rules/"+url.PathEscape(rule), nil, r)
}

// EndOverlay puts the config's threshold in force again, and returns the rule.
func (c *Client) EndOverlay(ctx context.Context, rule string) (admin.Rule, error) {
	return ask[admin.Rule](ctx, c, http.MethodDelete, "/api/v1/rules/"+url.PathEscape(rule)+"/overlay", nil, nil)
}

// EndFleet undoes a threshold of the whole fleet, and returns the rule on the node. With
// force no node waits for a confirmation.
func (c *Client) EndFleet(ctx context.Context, rule string, force bool) (admin.Rule, error) {
	return ask[admin.Rule](ctx, c, http.MethodDelete, "/api/v1/rules/"+url.PathEscape(rule)+"/overlay",
		url.Values{"scope": {admin.ScopeFleet}, "force": {strconv.FormatBool(force)}}, nil)
}

// RemoveCandidate ends a candidate that was added while the node ran, and returns the
// rule.
func (c *Client) RemoveCandidate(ctx context.Context, rule string, threshold uint32) (admin.Rule, error) {
	return ask[admin.Rule](ctx, c, http.MethodDelete, "/api/v1/rules/"+url.PathEscape(rule)+"/candidates/"+strconv.Itoa(int(threshold)), nil, nil)
}

// Bouncers returns the bouncers of CrowdSec that enforce the node's blocks.
func (c *Client) Bouncers(ctx context.Context) (admin.BouncerList, error) {
	return ask[admin.BouncerList](ctx, c, http.MethodGet, "/api/v1/bouncers", nil, nil)
}

// Clients returns the networks that are named as clients', by the config and by operators.
func (c *Client) Clients(ctx context.Context) ([]admin.Client, error) {
	list, err := ask[admin.ClientList](ctx, c, http.MethodGet, "/api/v1/clients", nil, nil)
	return list.Clients, err
}

// AddClient names a network as clients'.
func (c *Client) AddClient(ctx context.Context, r admin.ClientRequest) (admin.Client, error) {
	return ask[admin.Client](ctx, c, http.MethodPost, "/api/v1/clients", nil, r)
}

// RemoveClient takes back what an operator said of exactly this network.
func (c *Client) RemoveClient(ctx context.Context, prefix, reason string) (admin.Client, error) {
	return ask[admin.Client](ctx, c, http.MethodDelete, "/api/v1/clients/"+escaped(prefix), because(reason), nil)
}

// AddBouncer makes a bouncer's key.
func (c *Client) AddBouncer(ctx context.Context, r admin.BouncerRequest) (admin.BouncerKey, error) {
	return ask[admin.BouncerKey](ctx, c, http.MethodPost, "/api/v1/bouncers", nil, r)
}

// RemoveBouncer removes a bouncer's key.
func (c *Client) RemoveBouncer(ctx context.Context, name string) (admin.BouncerRemoved, error) {
	return ask[admin.BouncerRemoved](ctx, c, http.MethodDelete, "/api/v1/bouncers/"+url.PathEscape(name), nil, nil)
}

// Imports returns the feeds of imported blocks.
func (c *Client) Imports(ctx context.Context) (admin.Imports, error) {
	return ask[admin.Imports](ctx, c, http.MethodGet, "/api/v1/imports", nil, nil)
}

// ConfirmImport puts the list of a feed in force that awaits confirmation.
func (c *Client) ConfirmImport(ctx context.Context, name string) (admin.ImportFeed, error) {
	return ask[admin.ImportFeed](ctx, c, http.MethodPost, "/api/v1/imports/"+url.PathEscape(name)+"/confirm", nil, nil)
}

// Kernel returns the state of the node's packet filter.
func (c *Client) Kernel(ctx context.Context) (admin.KernelState, error) {
	return ask[admin.KernelState](ctx, c, http.MethodGet, "/api/v1/kernel", nil, nil)
}

// TryKernel begins a trial of the node's packet filter.
func (c *Client) TryKernel(ctx context.Context, r admin.TrialRequest) (admin.KernelState, error) {
	return ask[admin.KernelState](ctx, c, http.MethodPost, "/api/v1/kernel/try", nil, r)
}

// ChangeKernel changes the node's packet filter: confirm, clear or resume.
func (c *Client) ChangeKernel(ctx context.Context, change string) (admin.KernelState, error) {
	return ask[admin.KernelState](ctx, c, http.MethodPost, "/api/v1/kernel/"+change, nil, nil)
}
