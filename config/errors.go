package config

import (
	"fmt"
	"strings"

	"edgeguard/config/yaml"
)

// maxShown is how many problems Error writes out.
const maxShown = 100

// Errors is all that is wrong with a file, in the order of its lines.
type Errors struct {
	Problems []yaml.Fault
}

// Error returns a line for each problem, up to a hundred.
func (e *Errors) Error() string {
	var lines []string
	for i, p := range e.Problems {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-maxShown))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}
