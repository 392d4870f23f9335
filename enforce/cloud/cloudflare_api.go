package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"edgeguard/internal/outbound"
	"edgeguard/internal/smallfile"
)

const (
	// page is how many items are asked for at a time: as many as Cloudflare allows.
	page = 500
	// mostPages bounds a list: 200,000 items.
	mostPages = 400
)

// cloudflareAPI is the Lists API of one list.
type cloudflareAPI struct {
	config   CloudflareConfig
	endpoint string
	client   *Client
}

// about is what the API says of a list.
type about struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// item is one of a list.
type item struct {
	ID      string `json:"id,omitempty"`
	IP      string `json:"ip,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// operation is the state of a change.
type operation struct {
	Status string `json:"status"`
	Error  string `json:"error"`
}

// envelope is around each answer.
type envelope struct {
	Success bool `json:"success"`
	Errors  []struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
	Result     json.RawMessage `json:"result"`
	ResultInfo struct {
		Cursors struct {
			After string `json:"after"`
		} `json:"cursors"`
	} `json:"result_info"`
}

func newCloudflareAPI(c CloudflareConfig) *cloudflareAPI {
	return &cloudflareAPI{config: c, endpoint: cmp.Or(c.Endpoint, "https://api.cloudflare.com/client/v4"), client: newClient()}
}

func (a *cloudflareAPI) about(ctx context.Context) (out about, err error) {
	_, err = a.call(ctx, http.MethodGet, "/"+a.config.ID, nil, &out)
	return out, err
}

// items returns all items, page by page.
func (a *cloudflareAPI) items(ctx context.Context) (all []item, err error) {
	cursor := ""
	for range mostPages {
		query := fmt.Sprintf("?per_page=%d", page)
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		var some []item
		said, err := a.call(ctx, http.MethodGet, "/"+a.config.ID+"/items"+query, nil, &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if cursor = said.ResultInfo.Cursors.After; cursor == "" || len(some) == 0 {
			return all, nil
		}
	}
	return nil, fmt.Errorf("it has over %d items: use a list of its own for edgeguard", len(all))
}

// addItems and remove return the operation that they begin.
func (a *cloudflareAPI) addItems(ctx context.Context, prefixes []netip.Prefix) (string, error) {
	items := make([]item, len(prefixes))
	for i, p := range prefixes {
		items[i] = item{IP: p.String(), Comment: a.config.Mark}
		if p.IsSingleIP() {
			items[i].IP = p.Addr().String()
		}
	}
	return a.begin(ctx, http.MethodPost, items)
}

func (a *cloudflareAPI) remove(ctx context.Context, ids []string) (string, error) {
	items := make([]item, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return a.begin(ctx, http.MethodDelete, map[string]any{"items": items})
}

func (a *cloudflareAPI) begin(ctx context.Context, method string, in any) (string, error) {
	var out struct {
		OperationID string `json:"operation_id"`
	}
	_, err := a.call(ctx, method, "/"+a.config.ID+"/items", in, &out)
	if err == nil && out.OperationID == "" {
		err = errors.New("the answer names no operation: it is not Cloudflare's")
	}
	return out.OperationID, err
}

func (a *cloudflareAPI) operation(ctx context.Context, id string) (out operation, err error) {
	_, err = a.call(ctx, http.MethodGet, "/bulk_operations/"+url.PathEscape(id), nil, &out)
	return out, err
}

// call makes one call, and reads its result.
func (a *cloudflareAPI) call(ctx context.Context, method, path string, in, out any) (*envelope, error) {
	token, err := smallfile.Word(a.config.TokenFile)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + token}}
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	answer, err := a.client.SendRequest(ctx, method, a.endpoint+"/accounts/"+a.config.Account+"/rules/lists"+path, header, body, token)
	if err != nil {
		return nil, err
	}
	var said envelope
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		if answer.Status >= 500 || answer.Status == http.StatusTooManyRequests {
			return nil, &cloudflareError{status: answer.Status, text: outbound.Shown(string(answer.Body))}
		}
		return nil, answer.NotJSON()
	}
	if answer.Status/100 != 2 || !said.Success {
		err := a.failure(answer.Status, &said)
		if answer.Status == http.StatusNotFound && method == http.MethodGet && path == "/"+a.config.ID {
			err = &Gone{Err: err}
		}
		return nil, err
	}
	if err := json.Unmarshal(said.Result, out); err != nil {
		return nil, fmt.Errorf("the answer to %s is not Cloudflare's: %s", method, outbound.Shown(err.Error()))
	}
	return &said, nil
}

// cloudflareError is what Cloudflare says is wrong.
type cloudflareError struct {
	status    int
	text, fix string
}

func (e *cloudflareError) Error() string {
	said := fmt.Sprintf("Cloudflare answers with status %d", e.status)
	if e.text != "" {
		said += ": " + e.text
	}
	if e.fix != "" {
		said += ": " + e.fix
	}
	return said
}

// later reports whether the same call may work in a moment.
func (e *cloudflareError) later() bool {
	return e.status == http.StatusTooManyRequests || e.status >= 500
}

// failure returns what an answer says is wrong, with the fix.
func (a *cloudflareAPI) failure(status int, said *envelope) error {
	e := &cloudflareError{status: status}
	var texts []string
	for _, one := range said.Errors[:min(len(said.Errors), 3)] {
		texts = append(texts, fmt.Sprintf("%s (%d)", one.Message, one.Code))
	}
	e.text = outbound.Shown(strings.Join(texts, ", "))
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.fix = "give the token in " + a.config.TokenFile + " the permission Account Filter Lists: Edit for this account; the file is read again each time"
	case status == http.StatusNotFound:
		e.fix = "compare account and list with the dashboard; the list may have been deleted"
	case status == http.StatusTooManyRequests:
		e.fix = "another change of the account is under way, or its limit of changes is reached: set every longer if it stays"
	}
	return e
}
