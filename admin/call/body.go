package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
)

const (
	maxBody = 64 << 10 // bytes
	// MaxReason is the longest note, in bytes.
	MaxReason = 256
	// DefaultFor is how long a manual block lasts by default.
	DefaultFor = time.Hour
	// MaxFor is the longest that a block may last: ten years.
	MaxFor = 10 * 365 * 24 * time.Hour
)

// ReadBody reads a request's JSON into a struct, and refuses fields that it
// does not have.
func ReadBody(w http.ResponseWriter, r *http.Request, into any) *Problem {
	return ReadLarge(w, r, maxBody, "send one block per request", into)
}

// ReadLarge reads a request's JSON of at most so many bytes, as ReadBody does. fix is what
// who sends more can do.
func ReadLarge(w http.ResponseWriter, r *http.Request, most int64, fix string, into any) *Problem {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return NewProblem(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body is larger than %d KiB", most>>10), fix)
	}
	if err != nil {
		return NewProblem(http.StatusBadRequest, "", "the body is incomplete: "+err.Error(), "")
	}
	return ParseBody(content, into)
}

func ParseBody(content []byte, into any) *Problem {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return NewProblem(http.StatusBadRequest, "", "the body continues after the JSON object", "send one object")
	}
	return nil
}

// badJSON names the field where encoding/json does.
func badJSON(err error) *Problem {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return NewProblem(http.StatusBadRequest, wrongType.Field, "expected a "+wrongType.Type.String()+", got a "+wrongType.Value, "see docs/api.md")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		return NewProblem(http.StatusBadRequest, Clip(name), "unknown field", "see docs/api.md")
	}
	return NewProblem(http.StatusBadRequest, "", "the body is not a JSON object: "+Clip(err.Error()), "see docs/api.md")
}

// Until returns the end of a block that lasts for a span or until a time. The
// default is used if neither is set; 0 means that one is required.
func Until(now time.Time, span string, until time.Time, byDefault time.Duration) (time.Time, *Problem) {
	bad := func(field, detail, fix string) (time.Time, *Problem) {
		return time.Time{}, NewProblem(http.StatusBadRequest, field, detail, fix)
	}
	switch {
	case span != "" && !until.IsZero():
		return bad("until", "for and until are both set", "set one of them")
	case span != "":
		lasts, err := ParseSpan(span)
		if err != nil {
			return bad("for", strconv.Quote(Clip(span))+" is not a duration", "use 90s, 10m, 24h or 30d")
		}
		if lasts <= 0 || lasts > MaxFor {
			return bad("for", Clip(span)+" is not between 0 and 3650d", "use 90s, 10m, 24h or 30d")
		}
		return now.Add(lasts), nil
	case !until.IsZero():
		if !until.After(now) || until.After(now.Add(MaxFor)) {
			return bad("until", until.Format(time.RFC3339)+" is not in the next ten years", "the node's time is "+now.UTC().Format(time.RFC3339))
		}
		return until, nil
	case byDefault == 0:
		return bad("for", "neither for nor until is set", "set for to a duration such as 1h")
	}
	return now.Add(byDefault), nil
}

// ParseSpan reads a duration; days alone are written 30d.
func ParseSpan(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	return time.Duration(n) * 24 * time.Hour, err
}

// CheckReason refuses what would garble a log or a list, and what is not seen there.
func CheckReason(reason string) *Problem {
	if len(reason) > MaxReason || !safetext.Plain(reason) {
		return NewProblem(http.StatusBadRequest, "reason", "is longer than 256 bytes or has control characters or characters that are not seen", "use one short line")
	}
	return nil
}
