package redistest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/program"
)

// CPU is the time that the server has spent on a processor so far, user and
// system, in steps of 10 ms. It asks the kernel and not the server, which
// would have to work to answer.
func (s *Server) CPU() time.Duration {
	s.t.Helper()
	spent, err := program.CPU(s.PID())
	if err != nil {
		s.t.Fatalf("redistest: CPU of redis-server: %v", err)
	}
	return spent
}

// Memory is the bytes that the server says it has allocated, without what it
// holds for its clients' connections, which comes and goes with their pipelines.
func (s *Server) Memory() int64 {
	s.t.Helper()
	info, err := s.Client().Info(context.Background(), "memory").Result()
	if err != nil {
		s.t.Fatalf("redistest: memory of redis-server: %v", err)
	}
	used, err1 := strconv.ParseInt(field(info, "used_memory:"), 10, 64)
	clients, err2 := strconv.ParseInt(field(info, "mem_clients_normal:"), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		s.t.Fatalf("redistest: memory of redis-server: %v", err)
	}
	return used - clients
}

// field is what comes after name in a text of lines, "" where it is not.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
