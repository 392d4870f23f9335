package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"edgeguard/admin"
)

// maxLine is the longest line of a stream that is read, in bytes.
const maxLine = 1 << 20

// ErrGap is yielded by Events where events were lost: the node has forgotten
// those after the ID, or was started again. What was listed before must be
// listed again.
var ErrGap = errors.New("events were lost: list the blocks again")

// Events gives what happens on the node from now on, or, after is not empty,
// from behind the event of that ID. Kinds chooses some; none means all. It
// goes on until the context is done or the node ends the stream, because it
// stops or because this client is too slow for it, and ends after any error
// but ErrGap. Go on with a new call from the last ID: nothing is lost by it.
func (c *Client) Events(ctx context.Context, after string, kinds ...string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		query := url.Values{}
		if len(kinds) > 0 {
			query.Set("kind", strings.Join(kinds, ","))
		}
		if after != "" {
			query.Set("after", after)
		}
		response, err := c.do(ctx, http.MethodGet, "/api/v1/events", query, nil)
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, maxLine)
		name := ""
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				name = value
			case "data":
				if !yield(parseEvent(name, value)) {
					return
				}
			}
		}
		if err := lines.Err(); err != nil && ctx.Err() == nil {
			yield(admin.Event{}, fmt.Errorf("%s: the stream broke: %w", c.address, err))
		}
	}
}

// parseEvent reads one event's data. An event that does not parse comes from
// another version, and is lost to this one.
func parseEvent(name, data string) (e admin.Event, err error) {
	if name == admin.EventGap {
		return e, ErrGap
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrGap, err)
	}
	return e, nil
}
