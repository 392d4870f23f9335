package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edgeguard/admin"
)

// maxEvent is the longest line of a stream that is read, in bytes: an event has a few
// hundred.
const maxEvent = 1 << 20

// Events yields the events of a node as they happen, of the kinds in a list with commas,
// or of all. After is the ID of the last event that the caller has, watch.Oldest for all
// that the node keeps, or "" for those from now on; it is set to the ID from which
// another call goes on. It ends after the first error, which is io.EOF where the node
// ended the stream.
func (c *Client) Events(ctx context.Context, kinds string, after *string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		query := url.Values{}
		for name, value := range map[string]string{"kind": kinds, "after": *after} {
			if value != "" {
				query.Set(name, value)
			}
		}
		response, err := c.do(ctx, http.MethodGet, "/api/v1/events", query, nil)
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		defer response.Body.Close()
		if err := readEvents(response.Body, after, yield); err != nil {
			yield(admin.Event{}, fmt.Errorf("%s: %w", c.address, err))
		}
	}
}

// readEvents yields the events of a stream. It returns nil only if yield ends it.
func readEvents(stream io.Reader, after *string, yield func(admin.Event, error) bool) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			*after = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue // the kind is in the data, too
		}
		var event admin.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return fmt.Errorf("invalid event: %w; is it an edgeguard of this version?", err)
		}
		if !yield(event, nil) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

// Past chooses what is read of what happened, the oldest first. Every field that is set must
// hold.
type Past struct {
	Kinds, Rule, Prefix string // kinds with commas between them
	Since, Until        time.Time
	Cursor              string
	Limit               int
}

// Past returns a page of what happened.
func (c *Client) Past(ctx context.Context, p Past) (admin.PastPage, error) {
	query := url.Values{"dir": {"asc"}, "limit": {strconv.Itoa(cmp.Or(p.Limit, pageSize))}}
	for name, value := range map[string]string{"kind": p.Kinds, "rule": p.Rule, "prefix": p.Prefix, "since": stamp(p.Since), "until": stamp(p.Until), "cursor": p.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return ask[admin.PastPage](ctx, c, http.MethodGet, "/api/v1/history", query, nil)
}

// Attacks returns the attacks of a time, of the last hour for the zero times.
func (c *Client) Attacks(ctx context.Context, since, until time.Time) (admin.AttackList, error) {
	query := url.Values{}
	for name, value := range map[string]string{"since": stamp(since), "until": stamp(until)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return ask[admin.AttackList](ctx, c, http.MethodGet, "/api/v1/attacks", query, nil)
}

// Attack returns an attack with its networks and the first of its blocks.
func (c *Client) Attack(ctx context.Context, id string) (admin.AttackDetail, error) {
	return c.AttackPage(ctx, id, "")
}

// AttackPage returns an attack with what is behind a cursor.
func (c *Client) AttackPage(ctx context.Context, id, cursor string) (admin.AttackDetail, error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return ask[admin.AttackDetail](ctx, c, http.MethodGet, "/api/v1/attacks/"+url.PathEscape(id), query, nil)
}

// stamp is a time as the API reads it; empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Changes yields what operators changed, the newest first, page by page. It ends after the
// first error.
func (c *Client) Changes(ctx context.Context) iter.Seq2[admin.Audit, error] {
	return pages(ctx, c, "/api/v1/audit", url.Values{}, func(p admin.AuditPage) ([]admin.Audit, string) { return p.Audit, p.Next })
}
