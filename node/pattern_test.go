package node

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPatternCountsEachLineOnce: the logs of a pattern come and are rotated, over restarts and
// reloads, and each line is counted once.
func TestPatternCountsEachLineOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := shortDir(t)
	yaml := strings.Replace(small, "threshold: 10", "threshold: 60000", 1)
	yaml = strings.Replace(yaml, "$DIR/access.log", "$DIR/logs/*.log*", 1)
	changed := strings.Replace(yaml, "emit: request", "emit: request, zone: UTC", 1)
	if err := os.Mkdir(filepath.Join(folder, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	total := 0
	write := func() {
		for range 3 {
			file := filepath.Join(folder, "logs", fmt.Sprintf("%d.log", random.IntN(4)))
			lines := 1 + random.IntN(100)
			// No two lines are the same: a file that begins like another is a copy of it.
			var text strings.Builder
			for range lines {
				total++
				fmt.Fprintf(&text, "203.0.113.9 - - [%s] \"GET /%d HTTP/1.1\" 200 5 \"-\" \"test\"\n", time.Now().Format("02/Jan/2006:15:04:05 -0700"), total)
			}
			appendTo(t, file, text.String())
			if random.IntN(3) == 0 {
				for keep := 20; keep > 0; keep-- {
					_ = os.Rename(fmt.Sprintf("%s.%d", file, keep), fmt.Sprintf("%s.%d", file, keep+1))
				}
				_ = os.Rename(file, file+".1")
				total++
				appendTo(t, file, fmt.Sprintf("203.0.113.9 - - [%s] \"GET /%d HTTP/1.1\" 200 5 \"-\" \"test\"\n", time.Now().Format("02/Jan/2006:15:04:05 -0700"), total))
			}
		}
	}
	newNode(t, folder, yaml).start().stop()
	for i := range 6 {
		write()
		u := newNode(t, folder, yaml).start()
		for range random.IntN(3) {
			write()
			u.store.save()
		}
		if i%2 == 0 {
			u.yaml = changed
			if err := u.Reload(); err != nil {
				t.Fatal(err)
			}
			write()
			u.yaml = yaml
			if err := u.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		u.stop()
	}
	u := newNode(t, folder, yaml).start()
	u.eventually("all lines are counted", func() bool { return u.count("203.0.113.9") >= total })
	if got := u.count("203.0.113.9"); got != total {
		t.Errorf("%d lines counted as %d", total, got)
	}
	figures := u.view().Stats()
	u.eventually("files are followed", func() bool { figures = u.view().Stats(); return figures.Logs[0].Files > 0 })
	if len(figures.Logs) != 1 || figures.Logs[0].Name != filepath.Join(folder, "logs/*.log*") {
		t.Errorf("%+v", figures.Logs)
	}
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
