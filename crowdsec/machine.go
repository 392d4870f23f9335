package crowdsec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// renewBefore is how long before its end a token is replaced.
const renewBefore = 2 * time.Minute

// Machine is who reports alerts.
type Machine struct {
	ID, Password string
	Scenarios    []string // what it may report, for the LAPI's list of machines
}

// Report sends alerts, as [AlertsJSON] writes them. The times are the wall clock's.
func (c *Client) Report(ctx context.Context, m *Machine, body []byte) error {
	return c.asMachine(ctx, m, http.MethodPost, "/v1/alerts", body)
}

// Heartbeat says that the machine is alive: a LAPI may remove one that is silent.
func (c *Client) Heartbeat(ctx context.Context, m *Machine) error {
	return c.asMachine(ctx, m, http.MethodGet, "/v1/heartbeat", nil)
}

// asMachine sends a request with a token, and once more with a new one if it is refused: a LAPI
// that was restarted may have forgotten it.
func (c *Client) asMachine(ctx context.Context, m *Machine, method, path string, body []byte) error {
	fresh := false
	if time.Until(c.ends) < renewBefore {
		if err := c.login(ctx, m); err != nil {
			return err
		}
		fresh = true
	}
	err := c.send(ctx, method, path, body)
	var refused *RefusedError
	if !fresh && errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		if err := c.login(ctx, m); err != nil {
			return err
		}
		err = c.send(ctx, method, path, body)
	}
	return err
}

func (c *Client) send(ctx context.Context, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	answer, err := c.sendRequest(ctx, method, path, body, "Authorization", "Bearer "+c.token, c.token)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostError)) // so that the connection is kept
	return answer.Body.Close()
}

// login exchanges the password for a token.
func (c *Client) login(ctx context.Context, m *Machine) error {
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	c.token, c.ends = "", time.Time{}
	asked, err := json.Marshal(map[string]any{"machine_id": m.ID, "password": m.Password, "scenarios": m.Scenarios})
	if err != nil {
		return err
	}
	began := time.Now()
	answer, err := c.sendRequest(ctx, http.MethodPost, "/v1/watchers/login", asked, "", "", m.Password)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var given struct {
		Token  string
		Expire time.Time
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostLogin)).Decode(&given); err != nil || given.Token == "" {
		return fmt.Errorf("its answer to the login has no token: is url that of a LAPI?")
	}
	// Its clock may differ from ours. By its own, a token lasts an hour or so.
	c.token, c.ends = given.Token, began.Add(tokenFor(given.Expire, answer.Header.Get("Date"), began))
	return nil
}

// tokenFor returns how long a token lasts, by the clock of who gave it where that is known.
func tokenFor(expire time.Time, date string, now time.Time) time.Duration {
	if theirs, err := http.ParseTime(date); err == nil {
		now = theirs
	}
	return min(expire.Sub(now), 24*time.Hour)
}
