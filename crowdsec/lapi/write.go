package lapi

import (
	"encoding/json"
	"strconv"
	"time"
)

const (
	// piece is how much of an answer is written at a time.
	piece = 32 << 10
	// mostNames is how many names of scenarios are kept as JSON during an answer.
	mostNames = 1000
)

// decision writes one, with a comma before it unless it is the first.
func (a *answerWriter) decision(c *Change, live, first bool) {
	t := a.text
	if !first {
		t = append(t, ',')
	}
	t = append(t, `{"id":`...)
	t = strconv.AppendUint(t, c.ID, 10)
	t = append(t, `,"origin":"`+origin+`","type":"`+ban+`","scope":"`...)
	if c.Prefix.IsSingleIP() {
		t = append(t, scopeIP+`","value":"`...)
		t = c.Prefix.Addr().AppendTo(t)
	} else {
		t = append(t, scopeRange+`","value":"`...)
		t = c.Prefix.AppendTo(t)
	}
	t = append(t, `","duration":"`...)
	t = append(t, duration(c.Until.Sub(a.now), live).String()...)
	t = append(t, `","scenario":`...)
	t = append(t, a.name(c.Rule)...)
	a.text = append(t, '}')
	a.sent++
	a.flush(piece)
}

// duration returns how long a decision lasts, in whole seconds: that is all that some
// bouncers read. One that has ended has ended before now.
func duration(left time.Duration, live bool) time.Duration {
	if live {
		return max((left + time.Second - 1).Truncate(time.Second), time.Second)
	}
	return min(left.Truncate(time.Second), -time.Second)
}

// name returns the scenario of a rule as JSON.
func (a *answerWriter) name(rule string) []byte {
	if text, ok := a.names[rule]; ok {
		return text
	}
	text, _ := json.Marshal(scenarioOf(rule)) // a string always has one
	if len(a.names) < mostNames {
		a.names[rule] = text
	}
	return text
}
