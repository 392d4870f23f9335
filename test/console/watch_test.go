package console

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin/watch"
)

// The figures that a stream sends are those of explain: at its beginning, and again
// at the beginning of the next slots.
func TestWatchAgreesWithExplain(t *testing.T) {
	n := busy(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", n.base+"/api/v1/watch?slots=60&rule=site&prefix="+nearby+"&prefix="+offender, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	messages := 0
	for lines := bufio.NewScanner(answer.Body); messages < 3 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), `data: {"time"`)
		if !ok {
			continue
		}
		var w watch.Watched
		if err := json.Unmarshal([]byte(`{"time"`+data), &w); err != nil || len(w.Figures) != 2 {
			t.Fatalf("%v: %s", err, data)
		}
		compared := 0
		for i, addr := range []string{nearby, offender} {
			e := n.explain(addr)
			c, got := e.Rules[0], w.Figures[i]
			if !e.Time.Truncate(5 * time.Second).Equal(got.SlotBegan) {
				continue // the next slot has begun meanwhile
			}
			compared++
			if !slices.Equal(got.Slots, c.Slots) || got.Count != c.Count || got.Limit != c.Limit || got.Rule != "site" {
				t.Errorf("message %d: %s has %+v, explain %+v", messages, addr, got, c)
			}
			if e.Block == nil != got.Until.IsZero() || e.Block != nil && (!got.Until.Equal(e.Block.Until) || *got.Refused != *e.Block.Refused) {
				t.Errorf("message %d: the block of %s is %+v, for explain %+v", messages, addr, got, e.Block)
			}
		}
		if compared > 0 {
			messages++
		}
	}
	if messages < 3 {
		t.Errorf("the stream ended after %d messages", messages)
	}
}

// A network has the counts of a rule that counts all of it as one, and every prefix
// the end of the narrowest block that contains it.
func TestWatchedPrefixes(t *testing.T) {
	n := busy(t)
	p := n.get("/api/v1/watch?once=true&prefix=198.51.100.64/26&prefix=198.51.100.70&prefix="+quiet+"&prefix="+offender, false)
	var w watch.Watched
	if err := json.Unmarshal([]byte(p.body), &w); err != nil || len(w.Figures) != 4 {
		t.Fatalf("%v: %s", err, p.body)
	}
	network, inside, free, rule := w.Figures[0], w.Figures[1], w.Figures[2], w.Figures[3]
	if network.Rule != "" || network.Slots != nil || network.Until.IsZero() {
		t.Errorf("a network that no rule counts: %+v", network)
	}
	if inside.Rule != "site" || !inside.Until.Equal(network.Until) {
		t.Errorf("inside a network that is blocked by hand: %+v", inside)
	}
	if free.Rule != "site" || !free.Until.IsZero() || free.Refused != nil {
		t.Errorf("not blocked: %+v", free)
	}
	if rule.Rule != "site" || rule.Count <= limit || len(rule.Slots) != 3 || rule.Until.IsZero() {
		t.Errorf("blocked by a rule: %+v", rule)
	}
	if p := n.get("/api/v1/watch?once=true&rule=login&prefix="+offender, false); !strings.Contains(p.body, `"rule":"login","count":0`) {
		t.Errorf("the rule that was asked for: %s", p.body)
	}
}
