package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// outageScene is 70 minutes of a site that fails for three, with a scanner, somebody who
// guesses passwords and 60 bots.
type outageScene struct {
	r        *rand.Rand
	visitors int
	// asks returns what a visitor asks for at a time, and its answer while the site works.
	// fails turns that into what it answers while it fails.
	asks  func(r *rand.Rand) (request string, status int)
	fails func(request string, status int) (answer int, then []string)
	every time.Duration // how often a visitor asks

	lines []sceneLine
}

type sceneLine struct {
	at   time.Duration
	text string
}

const (
	sceneEnds   = 70 * time.Minute
	outageBegin = 45 * time.Minute
	outageEnd   = 48 * time.Minute
)

func (s *outageScene) line(at time.Duration, addr, request string, status int) {
	when := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC).Add(at).Format("02/Jan/2006:15:04:05 -0700")
	s.lines = append(s.lines, sceneLine{at, fmt.Sprintf(`%s - - [%s] "%s HTTP/1.1" %d 13 "-" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/128.0"`, addr, when, request, status)})
}

// visitor is one that no other shares a /24 with.
func visitor(i int) string { return fmt.Sprintf("100.%d.%d.%d", 64+i/200, i%200, 10+i%100) }

// attackers are who must be caught: all begin before or during the outage and go on after it.
func (s *outageScene) attackers() (all []string) {
	attack := func(addr string, every time.Duration, request string, status int) {
		begin := 30*time.Minute + time.Duration(s.r.Int64N(int64(18*time.Minute)))
		for at, n := begin, 0; at < sceneEnds; at, n = at+every, n+1 {
			s.line(at, addr, strings.ReplaceAll(request, "%d", fmt.Sprint(n)), status)
		}
		all = append(all, addr)
	}
	attack("203.0.113.7", time.Second, "GET /old%d.php", 404)
	attack("203.0.113.77", 2*time.Second, "POST /login", 401)
	for i := range 60 {
		attack(fmt.Sprintf("198.18.%d.9", i), time.Duration(3+i%5)*time.Second, "GET /a%d.php", 404)
	}
	return all
}

// write makes the log.
func (s *outageScene) write(t *testing.T) (log string) {
	t.Helper()
	for i := range s.visitors {
		for at := time.Duration(s.r.Int64N(int64(s.every))); at < sceneEnds; at += s.every/2 + time.Duration(s.r.Int64N(int64(s.every))) {
			request, status := s.asks(s.r)
			if at < outageBegin || at >= outageEnd {
				s.line(at, visitor(i), request, status)
				continue
			}
			answer, then := s.fails(request, status)
			s.line(at, visitor(i), request, answer)
			for k, again := range then {
				answer, _ = s.fails(again, 200)
				s.line(at+time.Duration(k+1)*300*time.Millisecond, visitor(i), again, answer)
			}
		}
	}
	slices.SortStableFunc(s.lines, func(a, b sceneLine) int { return cmp.Compare(a.at, b.at) })
	log = filepath.Join(t.TempDir(), "access.log")
	var text strings.Builder
	for _, l := range s.lines {
		text.WriteString(l.text + "\n")
	}
	if err := os.WriteFile(log, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return log
}

func pages(r *rand.Rand) (string, int) {
	return []string{"GET /", "GET /index.php", "GET /news.php?id=4", "GET /a.css", "GET /shop/cart.php", "GET /img/1.png", "POST /cart.php"}[r.IntN(7)], 200
}

func items(*rand.Rand) (string, int) { return "GET /api/items", 200 }

// unauthorized answers all with 401; the client asks for a new token, in vain.
func unauthorized(request string, _ int) (int, []string) {
	if request == "GET /api/items" {
		return 401, []string{"POST /oauth/token"}
	}
	return 401, nil
}

var outageScenes = map[string]outageScene{
	"a key was rotated":                    {visitors: 43, every: 15 * time.Second, asks: items, fails: unauthorized},
	"a key was rotated, impatient clients": {visitors: 43, every: 4 * time.Second, asks: items, fails: unauthorized},
	"a deploy without PHP": {
		visitors: 300, every: 12 * time.Second,
		asks: pages,
		fails: func(request string, status int) (int, []string) {
			if strings.Contains(request, ".php") || request == "GET /" {
				return 404, nil
			}
			return status, nil
		},
	},
	"an ingress without a backend": {
		visitors: 31, every: 3 * time.Second,
		asks:  pages,
		fails: func(string, int) (int, []string) { return 404, nil },
	},
}

// TestReplayOutages: while the site fails nobody is blocked for it, and who attacks is.
func TestReplayOutages(t *testing.T) {
	if testing.Short() {
		t.Skip("only computes: the same on every machine")
	}
	t.Parallel()
	for name, scene := range outageScenes {
		s := scene
		s.r = rand.New(rand.NewPCG(7, 7))
		attackers := s.attackers()
		log := s.write(t)
		conf := filepath.Join(t.TempDir(), "a.yaml")
		text := fmt.Sprintf("state: %s\nown_hosts: [example.org]\npresets: [web@1, login@1]\n", t.TempDir())
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs := replaySaid(t, "replay", "--config", conf, "--format", "combined", "--json", log)
		blocked, kinds := map[string]bool{}, map[string]int{}
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			var l struct{ Type, Key string }
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			switch kinds[l.Type]++; l.Type {
			case "block":
				blocked[l.Key] = true
			case "lifted":
				delete(blocked, l.Key)
			}
		}
		caught, benign := 0, 0
		for _, a := range attackers {
			if blocked[a] {
				caught++
			}
		}
		for i := range s.visitors {
			if blocked[visitor(i)] {
				benign++
			}
		}
		t.Logf("%s: %d of %d visitors blocked, %d of %d attackers; %v", name, benign, s.visitors, caught, len(attackers), kinds)
		if benign*10 > s.visitors || caught*100 < len(attackers)*95 || kinds["outage"] == 0 || kinds["held"] == 0 {
			t.Errorf("%s: %d of %d visitors blocked, %d of %d attackers; %v\n%s", name, benign, s.visitors, caught, len(attackers), kinds, errs)
		}
		if name != "an ingress without a backend" { // what people read of an outage does not depend on its cause
			continue
		}
		said, errs := replaySaid(t, "replay", "--config", conf, "--format", "combined", log)
		for _, want := range []string{"THE SITE FAILED from 2026-03-02 08:4", "did not count failures then", "would have been over the limit"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in %s\n%s", name, want, said, errs)
			}
		}
		said, errs = replaySaid(t, "tune", "--config", conf, "--format", "combined", log)
		if want := "the site failed 1 time: what clients' failures count then is left out, up to "; !strings.Contains(said, want) {
			t.Errorf("%s: no %q in %s\n%s", name, want, said, errs)
		}
	}
}
