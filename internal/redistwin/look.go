package redistwin

// Evict removes one key, as a Redis that is full does.
func (r *Redis) Evict(key string) { delete(r.suspects, key) }

// Stored returns what is stored of a node's counts of a key in the slots from
// first to last.
func (r *Redis) Stored(key string, node [8]byte, first, last uint32) uint32 {
	s := r.suspects[key]
	if s == nil || s.nodes[string(node[:])] == nil {
		return 0
	}
	return s.nodes[string(node[:])].sum(int64(first), int64(last))
}
