package admin

import (
	"slices"
	"strings"

	"edgeguard/admin/serve"
)

// Routes returns all routes, each as its method and its pattern.
func (s *Server) Routes() []string {
	all := []string{"GET /metrics", "GET /"}
	for path, m := range s.resources(nil) {
		for method := range m {
			all = append(all, method+" "+path)
		}
	}
	for pattern := range serve.Profiles {
		all = append(all, pattern)
	}
	slices.SortFunc(all, strings.Compare)
	return all
}
