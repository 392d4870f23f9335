package console

import "testing"

// The front page's sentence, of each state that a node can be in.
func TestNowSays(t *testing.T) {
	for want, facts := range map[string]nowFacts{
		"All is quiet: no attack goes on, no request is refused, and nothing needs you.":                                                                    {Requests: 100},
		"Three attacks go on, 70 % of requests are refused, and two things need you.":                                                                       {Requests: 100, Refused: 70, Needs: 2, Attacks: 3},
		"One attack goes on, 0.04 % of requests are refused, and nothing needs you.":                                                                        {Requests: 10000, Refused: 4, Attacks: 1},
		"No attack goes on, no request is refused, and one thing needs you.":                                                                                {Requests: 100, Needs: 1},
		"No attack goes on, no request came in the last five minutes, and 12 things need you.":                                                              {Needs: 12},
		"No attack goes on, no request came in the last five minutes, and nothing needs you.":                                                               {},
		"No attack goes on, 33.3 % of requests would be refused, and nothing needs you.":                                                                    {Monitor: true, Requests: 3, Refused: 1},
		"All is quiet: no attack goes on, no request would be refused, and nothing needs you.":                                                              {Monitor: true, Requests: 3},
		"This node is cut off from the fleet. Here no attack goes on, 50 % of requests are refused, and one thing needs you.":                               {Lost: "cut off from the fleet", Requests: 2, Refused: 1, Needs: 1},
		"This node is starting: not everything is read or listens yet. No attack goes on, no request came in the last five minutes, and nothing needs you.": {Starting: true},
		"From 02:00 to 03:00 two attacks went on, and 50 % of requests were refused.":                                                                       {Past: true, Known: true, From: "02:00", Until: "03:00", Requests: 2, Refused: 1, Needs: 4, Starting: true, Attacks: 2},
		"From 02:00 to 03:00 no attack went on, and 50 % of requests would have been refused.":                                                              {Past: true, Known: true, Monitor: true, From: "02:00", Until: "03:00", Requests: 2, Refused: 1},
		"From 02:00 to 03:00 no attack went on, and no request was refused.":                                                                                {Past: true, Known: true, From: "02:00", Until: "03:00", Requests: 2},
		"No attack goes on, no request is refused, and one thing needs you. Enforcing on 3 nodes, in step.":                                                 {Requests: 2, Needs: 1, Modes: "enforcing on 3 nodes, in step"},
		"From 02:00 to 03:00 no attack went on, and no request came.":                                                                                       {Past: true, Known: true, From: "02:00", Until: "03:00"},
		"Nothing is known of the time from 02:00 to 03:00.":                                                                                                 {Past: true, From: "02:00", Until: "03:00"},
	} {
		if got := facts.say(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
