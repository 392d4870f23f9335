package scenes_test

import (
	"bytes"
	"maps"
	"net/netip"
	"testing"

	"edgeguard/loadtest/scenes"
	"edgeguard/logline"
)

// TestScenes checks what every scene promises: the same bytes for a seed, others
// for another, lines that are all read, and times that never go back.
func TestScenes(t *testing.T) {
	if testing.Short() {
		t.Skip("the same bytes on every machine: one full run is enough")
	}
	format, err := logline.ParseFormat("combined")
	if err != nil {
		t.Fatal(err)
	}
	for _, scene := range scenes.Scenes() {
		t.Run(scene.Name, func(t *testing.T) {
			traffic := scene.Play(1)
			text := traffic.Log
			if again := scene.Play(1); !bytes.Equal(text, again.Log) || !maps.Equal(traffic.Attackers, again.Attackers) {
				t.Error("a seed gives two logs")
			}
			if len(text) < 1<<20 { // the larger ones are made by the same means
				if other := scene.Play(2); bytes.Equal(text, other.Log) {
					t.Error("two seeds give the same log")
				}
			}
			lines := bytes.Count(text, []byte("\n"))
			chunk := logline.Chunk{Text: text}
			format.Parser(scene.Name, nil).Parse(&chunk)
			if lines < 300 || len(chunk.Events) != lines {
				t.Errorf("%d events of %d lines; want all, and at least 300", len(chunk.Events), lines)
			}
			attackers := make(map[netip.Addr]bool)
			for i := range chunk.Events {
				if addr := chunk.Events[i].Addr; traffic.Attackers[addr] {
					attackers[addr] = true
				}
			}
			if len(attackers) != len(traffic.Attackers) || scene.Kind == scenes.Wanted && len(attackers) > 0 || scene.Kind == scenes.Attack && len(attackers) == 0 {
				t.Errorf("%d of %d attackers are in the log", len(attackers), len(traffic.Attackers))
			}
			for i := 1; i < len(chunk.Events); i++ {
				if chunk.Events[i].Time.Before(chunk.Events[i-1].Time) {
					t.Fatalf("line %d goes back in time", i+1)
				}
			}
		})
	}
}
