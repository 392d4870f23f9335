package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"edgeguard/admin"
)

// changesASecond is how many blocks are made and lifted while a walk is checked.
const changesASecond = 1000

// walkWhileChanged reads all pages of a rule twice, the second time while blocks of
// other prefixes are made and lifted. It returns how many of the blocks that stayed
// were not shown exactly once, and how many changes there were a second.
func (n *node) walkWhileChanged(ctx context.Context, limit int) (wrong int, changes float64, err error) {
	query := "order=newest&rule=" + otherRule
	stays, err := n.walk(ctx, query, limit)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	var changing error
	made, began := 0, time.Now()
	all.Go(func() { made, changing = n.change(ctx, changesASecond) })
	seen, err := n.walk(ctx, query, limit)
	seconds := time.Since(began).Seconds()
	cancel()
	if all.Wait(); err == nil {
		err = changing
	}
	for prefix := range stays {
		if seen[prefix] != 1 {
			wrong++
		}
	}
	return wrong, float64(made) / seconds, err
}

// change makes and lifts blocks until ctx ends, so many a second at most or, with 0, as
// fast as the node does it. It returns how many changes it made.
func (n *node) change(ctx context.Context, aSecond int) (made int, err error) {
	began := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		prefix := fmt.Sprintf("10.0.%d.%d", i>>8&255, i&255)
		if _, err = n.send(ctx, "POST", "/api/v1/blocks", fmt.Sprintf(`{"prefix":%q,"for":"1h"}`, prefix)); err == nil {
			_, err = n.send(ctx, "DELETE", "/api/v1/blocks/"+prefix, "")
		}
		if ctx.Err() != nil {
			return made, nil
		}
		if err != nil {
			return made, err
		}
		if made += 2; aSecond > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(made) * time.Second / time.Duration(aSecond))))
		}
	}
	return made, nil
}

// walk reads all pages and returns how often each prefix was shown.
func (n *node) walk(ctx context.Context, query string, limit int) (map[netip.Prefix]int, error) {
	seen := make(map[netip.Prefix]int)
	for cursor := ""; ; {
		text, err := n.get(ctx, fmt.Sprintf("/api/v1/blocks?limit=%d&%s%s", limit, query, cursor))
		if err != nil {
			return nil, err
		}
		var page admin.BlockPage
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, err
		}
		for _, b := range page.Blocks {
			seen[b.Prefix]++
		}
		if page.Next == "" {
			return seen, nil
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}
