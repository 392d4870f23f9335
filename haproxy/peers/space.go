package peers

import "sync/atomic"

// space is for how many more keys all tables together have room.
type space struct{ left atomic.Int64 }

// takeKey takes the room of a key, if there is any. A table with few keys is given it in
// any case.
func (s *space) takeKey(few bool) bool {
	if s.left.Add(-1) >= 0 || few {
		return true
	}
	s.left.Add(1)
	return false
}

// giveBackTables gives back the room of tables that are forgotten.
func (s *space) giveBackTables(tables map[string]*countTable) {
	for _, t := range tables {
		s.left.Add(int64(len(t.entries)))
	}
}
