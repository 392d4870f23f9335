package crowdsec

import (
	"encoding/json"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// origin is who made a decision, and what its scenario begins with. A node that takes decisions
// leaves out those of this origin, and LAPI keeps it as it is.
const origin = "edgeguard"

// alert has the fields that a LAPI requires.
type alert struct {
	Scenario        string     `json:"scenario"`
	ScenarioHash    string     `json:"scenario_hash"`
	ScenarioVersion string     `json:"scenario_version"`
	Message         string     `json:"message"`
	EventsCount     uint32     `json:"events_count"`
	StartAt         string     `json:"start_at"`
	StopAt          string     `json:"stop_at"`
	Capacity        uint32     `json:"capacity"`
	Leakspeed       string     `json:"leakspeed"`
	Simulated       bool       `json:"simulated"`
	Remediation     bool       `json:"remediation"`
	Events          []struct{} `json:"events"`
	Source          source     `json:"source"`
	Decisions       []decision `json:"decisions"`
}

type source struct {
	Scope string `json:"scope"`
	Value string `json:"value"`
	IP    string `json:"ip,omitempty"`
	Range string `json:"range,omitempty"`
}

type decision struct {
	Origin   string `json:"origin"`
	Type     string `json:"type"`
	Scope    string `json:"scope"`
	Value    string `json:"value"`
	Duration string `json:"duration"`
	Scenario string `json:"scenario"`
}

// AlertsJSON returns blocks as the body of POST /v1/alerts. Their times are the wall clock's, and now
// too; unit returns what the figures of a node's rule are of. A LAPI adds a decision's duration to the end of its alert: so that is now.
func AlertsJSON(all []edgeguard.Block, now time.Time, unit func(rule, origin string) words.Measure) ([]byte, error) {
	list := make([]alert, 0, len(all))
	for _, b := range all {
		from := source{Scope: "Ip", Value: b.Prefix.Addr().String()}
		if from.IP = from.Value; !b.Prefix.IsSingleIP() {
			from = source{Scope: "Range", Value: b.Prefix.String(), IP: b.Prefix.Addr().String(), Range: b.Prefix.String()}
		}
		scenario := Scenario(b.Rule)
		list = append(list, alert{
			Scenario: scenario, Message: message(b, unit(b.Rule, b.Origin)), EventsCount: max(b.Count, 1), Capacity: b.Limit, Leakspeed: "0s", Remediation: true, Events: []struct{}{},
			StartAt: stamp(earlier(b.Since, now)), StopAt: stamp(now), Source: from,
			Decisions: []decision{{origin, "ban", from.Scope, from.Value, max(b.Until.Sub(now), time.Second).Truncate(time.Second).String(), scenario}},
		})
	}
	return json.Marshal(list)
}

// Scenario returns the name under which a LAPI sees what a rule does.
func Scenario(rule string) string { return origin + "/" + rule }

func message(b edgeguard.Block, unit words.Measure) string {
	what := b.Prefix.String()
	if b.Prefix.IsSingleIP() {
		what = b.Prefix.Addr().String()
	}
	if b.Rule == edgeguard.ManualRule {
		return what + " was blocked by hand"
	}
	return fmt.Sprintf("%s is over rule %s: %s", what, b.Rule, unit.Beside(b.Count, b.Limit))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
