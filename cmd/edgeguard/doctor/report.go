package doctor

import (
	"fmt"
	"os/user"
)

// report is what doctor found. Its JSON is printed by `doctor --json`.
type report struct {
	As       account   `json:"as"`
	Findings []finding `json:"findings"`
	OK       int       `json:"ok"`
	Doubt    int       `json:"doubt"`
	Wrong    int       `json:"wrong"`
}

// account is the user that checked the host.
type account struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	Unit   string   `json:"unit,omitempty"` // whose user and groups these are
}

func newReport(as account, findings []finding) *report {
	r := &report{As: as, Findings: findings}
	for _, f := range findings {
		switch f.Severity {
		case fine:
			r.OK++
		case doubt:
			r.Doubt++
		case wrong:
			r.Wrong++
		}
	}
	return r
}

var severities = map[severity]string{fine: "ok", doubt: "doubt", wrong: "wrong"}

// String returns the word of a severity.
func (s severity) String() string { return severities[s] }

// MarshalText implements encoding.TextMarshaler.
func (s severity) MarshalText() ([]byte, error) { return []byte(severities[s]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *severity) UnmarshalText(text []byte) error {
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
