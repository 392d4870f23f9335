package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
)

// Names of the answers that are measured.
const (
	Newest     = "newest"
	OfRule     = "of a rule"
	OfOrigin   = "of an origin"
	OrderFirst = "another order, first"
	OrderThen  = "another order, then"
	Address    = "address"
	RuleFirst  = "a rule, first"
	RuleThen   = "a rule, then"
	Outcome    = "outcome"
	Live       = "live message"
)

// answers measures how long answers take while nothing else is asked: the 99th
// percentile of each, or the longest of few.
func (n *node) answers(ctx context.Context, o *Options) (map[string]time.Duration, error) {
	took := make(map[string]time.Duration)
	var failed error
	measure := func(name string, times int, path func(i int) string) {
		if failed == nil {
			fmt.Fprintf(o.Notes, "asking for %s\n", name)
			took[name], failed = n.longest(ctx, times, path)
		}
	}
	same := func(path string) func(int) string { return func(int) string { return path } }
	// A node that has just read a large state first collects what reading it left.
	_, failed = n.longest(ctx, o.Asked, same("/blocked"))
	measure(Newest, o.Asked, same("/blocked"))
	measure(OfRule, o.Asked, same("/blocked?rule="+otherRule))
	measure(OfOrigin, o.Asked, same("/blocked?origin=edge-2"))
	orders := []string{"ends", "count", "newest+asc", "ends+desc"}
	measure(OrderFirst, 2, func(i int) string { return "/blocked?order=" + orders[i] })
	cursor, err := n.cursor(ctx, "ends")
	if failed == nil {
		failed = err
	}
	measure(OrderThen, o.Asked, same("/blocked?order=ends&cursor="+cursor))
	measure(Address, o.Asked, func(i int) string { return "/address/" + address(rand.IntN(o.Keys)).String() })
	measure(RuleFirst, 1, same("/rules/"+rule))
	measure(RuleThen, o.Asked, same("/rules/"+rule))
	measure(Outcome, o.Asked, func(i int) string {
		return fmt.Sprintf("/api/v1/rules/%s/outcome?threshold=%d", rule, 100+i)
	})
	if failed == nil {
		took[Live], failed = n.live(ctx, o.Asked)
	}
	return took, failed
}

// longest asks so many times, and returns the 99th percentile.
func (n *node) longest(ctx context.Context, times int, path func(i int) string) (time.Duration, error) {
	all := make([]time.Duration, times)
	for i := range all {
		asked := time.Now()
		if _, err := n.get(ctx, path(i)); err != nil {
			return 0, err
		}
		all[i] = time.Since(asked)
	}
	return percentile(all), nil
}

// percentile returns the 99th percentile, of few the greatest.
func percentile(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// cursor returns where the second page of an order begins.
func (n *node) cursor(ctx context.Context, order string) (string, error) {
	text, err := n.get(ctx, "/api/v1/blocks?limit=50&order="+order)
	if err != nil {
		return "", err
	}
	var page admin.BlockPage
	err = json.Unmarshal(text, &page)
	return page.Next, err
}

// live measures how long after a block was asked for its event comes.
func (n *node) live(ctx context.Context, asked int) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost/api/v1/events?kind=block", nil)
	if err != nil {
		return 0, err
	}
	stream, err := n.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	all := make([]time.Duration, asked)
	for i := range all {
		prefix := fmt.Sprintf("10.%d.%d.1/32", i>>8, i&255)
		began := time.Now()
		if _, err := n.send(ctx, "POST", "/api/v1/blocks", fmt.Sprintf(`{"prefix":%q,"for":"1h"}`, prefix)); err != nil {
			return 0, err
		}
		for lines.Scan() && !strings.Contains(lines.Text(), prefix) {
		}
		if err := lines.Err(); err != nil {
			return 0, err
		}
		all[i] = time.Since(began)
	}
	return percentile(all), nil
}
