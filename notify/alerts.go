package notify

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// What a node tells an Alertmanager: each active alarm as an alert, again and again until it
// ends. It reads no clock and sends nothing.

// The names of alerts (their label alertname). deploy/prometheus has others.
const (
	nameAlarm        = "EdgeguardAlarm"
	nameConfirmation = "EdgeguardAwaitsConfirmation"
	nameBlocks       = "EdgeguardBlocks"
	nameTest         = "EdgeguardTest"
)

const (
	// lives is for how many times the resend interval an alert is active without being
	// sent again: an alert of a node that is gone ends by itself, as Prometheus has it.
	lives = 4
	// least is the time between two posts.
	least = 5 * time.Second
	// forget is how long the end of an alert is sent to an Alertmanager that does not
	// answer: it has ended the alert itself by then.
	forget = time.Hour
)

// Alert is one alert as Alertmanager's API v2 reads it.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    string            `json:"startsAt"`
	EndsAt      string            `json:"endsAt"`
}

// subject is what tells alerts apart.
type subject struct{ name, kind, about string }

// alert is one that the Alertmanager has, or is to have.
type alert struct {
	text         string
	since, ended time.Time // local; ended is zero while it is active
	sent         bool
}

// AlertBook is the alerts of one Alertmanager.
type AlertBook struct {
	Node   string
	Epoch  func(time.Time) time.Time
	Resend time.Duration

	alerts  map[subject]*alert
	last    time.Time // when alerts were sent last
	changed bool
}

// SetActive makes the active alarms the alerts.
func (b *AlertBook) SetActive(now time.Time, active []Condition) {
	if b.alerts == nil {
		b.alerts = make(map[subject]*alert)
	}
	still := make(map[subject]bool, len(active))
	for i := range active {
		c := &active[i]
		s := subject{name(c), c.Kind, harmless(c.About)}
		still[s] = true
		a := b.alerts[s]
		if a == nil || !a.ended.IsZero() {
			a = &alert{since: c.Since}
			b.alerts[s], b.changed = a, true
		}
		a.text = harmless(c.Text)
	}
	for s, a := range b.alerts {
		switch {
		case still[s]:
		case !a.ended.IsZero() && now.Sub(a.ended) < forget:
		case a.ended.IsZero() && a.sent:
			a.ended, b.changed = now, true
		default:
			delete(b.alerts, s)
		}
	}
}

func name(c *Condition) string {
	switch {
	case c.Kind == kindBlocks:
		return nameBlocks
	case c.Confirm:
		return nameConfirmation
	}
	return nameAlarm
}

// DueAlerts returns the alerts that are to be sent now: all of them, when one began or ended and
// when the interval has passed. Nil is nothing.
func (b *AlertBook) DueAlerts(now time.Time) []Alert {
	since := now.Sub(b.last)
	if len(b.alerts) == 0 || !b.last.IsZero() && since < b.Resend && (!b.changed || since < least) {
		return nil
	}
	all := make([]Alert, 0, len(b.alerts))
	for s, a := range b.alerts {
		a.sent = true
		ends := now.Add(lives * b.Resend)
		if !a.ended.IsZero() {
			ends = a.ended
		}
		all = append(all, b.alert(s, a.text, a.since, ends))
	}
	slices.SortFunc(all, func(x, y Alert) int {
		return cmp.Or(cmp.Compare(x.Labels["alertname"], y.Labels["alertname"]), cmp.Compare(x.Labels["alarm"], y.Labels["alarm"]), cmp.Compare(x.Labels["about"], y.Labels["about"]))
	})
	return all
}

func (b *AlertBook) alert(s subject, text string, since, ends time.Time) Alert {
	labels := map[string]string{"alertname": s.name, "node": harmless(b.Node), "alarm": s.kind, "severity": "warning"}
	if s.about != "" {
		labels["about"] = s.about
	}
	return Alert{
		Labels: labels, Annotations: map[string]string{"summary": text},
		StartsAt: b.instant(since), EndsAt: b.instant(ends),
	}
}

func (b *AlertBook) instant(t time.Time) string {
	return b.Epoch(t).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// Arrived notes that the alerts of now were received. Those that have ended leave.
func (b *AlertBook) Arrived(now time.Time) {
	b.last, b.changed = now, false
	for s, a := range b.alerts {
		if !a.ended.IsZero() {
			delete(b.alerts, s)
		}
	}
}

// Len returns how many alerts the Alertmanager has, or is to have.
func (b *AlertBook) Len() int { return len(b.alerts) }

// TestAlert returns the alert that an operator asked for. It ends after a minute.
func (b *AlertBook) TestAlert(now time.Time) []Alert {
	return []Alert{b.alert(subject{nameTest, kindTest, ""}, "This is a test by edgeguard notify test.", now, now.Add(time.Minute))}
}

// AlertsJSON returns alerts as the body of a POST to /api/v2/alerts.
func AlertsJSON(all []Alert) ([]byte, error) { return json.Marshal(all) }
