package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

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
