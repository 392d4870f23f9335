package access

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func secret(i int) (s Secret) {
	binary.BigEndian.PutUint64(s[:], uint64(i))
	return s
}

// model is what the store is compared with: a list, looked through each time.
type model struct{ open []opened }

type opened struct {
	secret      int
	operator    bool
	by          [32]byte
	began, used time.Time
	ended       bool
}

func (m *model) live(o *opened, now time.Time) bool {
	return !o.ended && now.Sub(o.used) < SessionIdle && now.Sub(o.began) < Longest
}

func (m *model) find(secret int, now time.Time) *opened {
	for i := range m.open {
		if o := &m.open[i]; o.secret == secret && m.live(o, now) {
			return o
		}
	}
	return nil
}

func (m *model) begin(o opened, now time.Time) {
	live := 0
	var oldest *opened
	for i := range m.open {
		if one := &m.open[i]; m.live(one, now) && one.operator == o.operator {
			if live++; oldest == nil || one.used.Before(oldest.used) {
				oldest = one
			}
		}
	}
	if live >= mostSessions {
		oldest.ended = true
	}
	m.open = append(m.open, o)
}

// The store agrees with the model after every one of many random steps.
func TestStoreAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		store, m, now := newSessionStore(), &model{}, start
		made := 0
		pace := []time.Duration{4 * time.Minute, time.Second}[seed%2] // sessions end by time, or for room
		for step := range 4000 {
			now = now.Add(time.Duration(1 + random.Int64N(int64(pace)))) // no two at one time
			some := random.IntN(max(made, 1))
			by := [32]byte{byte(random.IntN(3))}
			switch random.IntN(20) {
			default:
				operator := random.IntN(4) == 0
				store.Open(secret(made), operator, by, now)
				m.begin(opened{secret: made, operator: operator, by: by, began: now, used: now}, now)
				made++
			case 0, 1, 2, 3, 4, 5, 6, 7, 8:
				got, ok := store.Find(secret(some), now)
				want := m.find(some, now)
				if ok != (want != nil) || ok && (got.Operator != want.operator || got.By != want.by || got.Opened != want.began) {
					t.Fatalf("seed %d, step %d: found %t %+v, want %+v", seed, step, ok, got, want)
				}
				if want != nil {
					want.used = now
				}
			case 9:
				store.Close(secret(some))
				if o := m.find(some, now); o != nil {
					o.ended = true
				}
			case 10:
				if random.IntN(50) == 0 {
					store.CloseOf(by)
					for i := range m.open {
						if m.open[i].by == by {
							m.open[i].ended = true
						}
					}
				}
			}
			if len(store.open) > 2*mostSessions {
				t.Fatalf("%d sessions are kept", len(store.open))
			}
		}
	}
}

// What goes on for a session ends with it, whatever ends it.
func TestWhile(t *testing.T) {
	for name, end := range map[string]func(*SessionStore){
		"logout": func(s *SessionStore) { s.Close(secret(1)) },
		"token":  func(s *SessionStore) { s.CloseOf([32]byte{7}) },
		"all": func(s *SessionStore) {
			if n := s.CloseAll(); n != 1 {
				t.Errorf("%d sessions ended", n)
			}
		},
		"room": func(s *SessionStore) {
			for i := range mostSessions {
				s.Open(secret(100+i), true, [32]byte{}, start.Add(time.Second))
			}
		},
		"time": func(s *SessionStore) { s.Find(secret(1), start.Add(SessionIdle)) },
	} {
		s, ended, released := newSessionStore(), 0, 0
		s.Open(secret(1), true, [32]byte{7}, start)
		s.While(secret(1), func() { ended++ })
		s.While(secret(1), func() { released++ })()
		end(s)
		s.While(secret(1), func() { ended++ })
		if ended != 2 || released != 0 {
			t.Errorf("%s: ended %d, released %d", name, ended, released)
		}
	}
}

// A session that nobody uses lasts for so long, one that is used for so long in all,
// and what goes on for it ends with the last look.
func TestLeft(t *testing.T) {
	s, ended := newSessionStore(), 0
	s.Open(secret(1), true, [32]byte{}, start)
	s.While(secret(1), func() { ended++ })
	left := func(after, want time.Duration) {
		t.Helper()
		if got := s.Left(secret(1), start.Add(after)); got != want || ended > 0 {
			t.Fatalf("after %v %v are left, want %v; %d have ended", after, got, want, ended)
		}
	}
	left(0, SessionIdle)
	left(SessionIdle-1, 1)
	left(time.Hour, SessionIdle-time.Hour) // to look is not to use it
	for after := SessionIdle / 2; after < Longest; after += SessionIdle / 2 {
		s.Find(secret(1), start.Add(after))
		left(after, min(SessionIdle, Longest-after))
	}
	if s.Left(secret(1), start.Add(Longest)) != 0 || ended != 1 || s.Left(secret(1), start) != 0 {
		t.Errorf("%d have ended", ended)
	}
}

// Readers push out readers only.
func TestRolesHaveTheirOwnRoom(t *testing.T) {
	s := newSessionStore()
	s.Open(secret(0), true, [32]byte{}, start)
	for i := range 2 * mostSessions {
		s.Open(secret(1+i), false, [32]byte{}, start.Add(time.Duration(i)))
	}
	if _, ok := s.Find(secret(0), start.Add(time.Minute)); !ok || len(s.open) != mostSessions+1 {
		t.Errorf("the operator's session %t, %d in all", ok, len(s.open))
	}
}

func TestLinksWorkOnceAndBriefly(t *testing.T) {
	l := newLinkStore()
	l.Add(secret(1), start)
	if !l.Use(secret(1), start.Add(time.Second)) {
		t.Error("a fresh link does not work")
	}
	if l.Use(secret(1), start.Add(time.Second)) {
		t.Error("a link works twice")
	}
	l.Add(secret(2), start)
	if l.Use(secret(2), start.Add(LinkLasts)) {
		t.Error("an old link works")
	}
	l.Add(secret(3), start)
	l.Clear()
	if l.Use(secret(3), start) {
		t.Error("a cleared link works")
	}
	for i := range 3 * mostLinks {
		l.Add(secret(10+i), start.Add(time.Duration(i)))
	}
	if !l.Use(secret(10+3*mostLinks-1), start.Add(time.Second)) || len(l.made) > mostLinks {
		t.Errorf("the newest link does not work, or %d are kept", len(l.made))
	}
}
