package benign_test

import (
	"bytes"
	"testing"

	"edgeguard/loadtest/benign"
	"edgeguard/logline"
)

// TestScenes checks what every scene promises: the same bytes for a seed, others
// for another, lines that are all read, and times that never go back.
func TestScenes(t *testing.T) {
	format, err := logline.ParseFormat("combined")
	if err != nil {
		t.Fatal(err)
	}
	for _, scene := range benign.Scenes() {
		t.Run(scene.Name, func(t *testing.T) {
			text := written(t, scene, 1)
			if again := written(t, scene, 1); !bytes.Equal(text, again) {
				t.Error("a seed gives two logs")
			}
			if other := written(t, scene, 2); bytes.Equal(text, other) {
				t.Error("two seeds give the same log")
			}
			lines := bytes.Count(text, []byte("\n"))
			chunk := logline.Chunk{Text: text}
			format.Parser(scene.Name, nil).Parse(&chunk)
			if lines < 500 || len(chunk.Events) != lines {
				t.Errorf("%d events of %d lines; want all, and at least 500", len(chunk.Events), lines)
			}
			for i := 1; i < len(chunk.Events); i++ {
				if chunk.Events[i].Time.Before(chunk.Events[i-1].Time) {
					t.Fatalf("line %d goes back in time", i+1)
				}
			}
		})
	}
}

func written(t *testing.T, s benign.Scene, seed uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b, seed); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
