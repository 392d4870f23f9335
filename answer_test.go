package edgeguard

import "testing"

// What a server does of itself, before it looks who asks, says nothing of a block: who is
// blocked could else have a node say that he is served.
func TestAnswerOf(t *testing.T) {
	for status, want := range map[uint16]Answer{
		0: AnswerUnknown, 101: AnswerUnknown, 200: Served, 206: Served, 302: Served, 304: Served, 401: Served, 404: Served, 418: Served,
		403: TurnedAway, 429: TurnedAway, 444: TurnedAway, 400: AnswerUnknown, 405: AnswerUnknown, 408: AnswerUnknown, 499: AnswerUnknown,
		500: AnswerUnknown, 502: AnswerUnknown, 504: AnswerUnknown, 65535: AnswerUnknown, 503: TurnedAway, 307: TurnedAway,
	} {
		if got := AnswerOf(status, []uint16{503, 307}); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
	if got := AnswerOf(503, nil); got != AnswerUnknown {
		t.Errorf("503: %d", got)
	}
}
