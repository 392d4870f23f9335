package doctor

import (
	"fmt"
	"os/user"
)

// Report is what doctor found. Its JSON is printed by `doctor --json`.
type Report struct {
	As       As        `json:"as"`
	Findings []Finding `json:"findings"`
	OK       int       `json:"ok"`
	Doubt    int       `json:"doubt"`
	Wrong    int       `json:"wrong"`
}

// As is as whom the host was checked.
type As struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	Unit   string   `json:"unit,omitempty"` // whose user and groups these are
}

func newReport(as As, findings []Finding) *Report {
	r := &Report{As: as, Findings: findings}
	for _, f := range findings {
		switch f.Severity {
		case OK:
			r.OK++
		case doubt:
			r.Doubt++
		case wrong:
			r.Wrong++
		}
	}
	return r
}

var severities = map[Severity]string{OK: "ok", doubt: "doubt", wrong: "wrong"}

// String returns the word of a severity.
func (s Severity) String() string { return severities[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(severities[s]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	for severity, word := range severities {
		if word == string(text) {
			*s = severity
			return nil
		}
	}
	return fmt.Errorf("%q is no severity", text)
}

// userName returns the name of the user of this process, or its number.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
