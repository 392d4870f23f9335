package cloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"edgeguard/internal/smallfile"
)

// mostFile is the most bytes of a file with credentials.
const mostFile = 64 << 10

// readCredentials returns the credentials of a file, as they are now; without a file,
// those of the environment. No error has a part of them.
func readCredentials(file, profile string) (awsCredentials, error) {
	if file == "" {
		c := awsCredentials{KeyID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Token: os.Getenv("AWS_SESSION_TOKEN")}
		return c, check(c, "the environment")
	}
	text, err := smallfile.Read(file, mostFile)
	if err != nil {
		return awsCredentials{}, err
	}
	c, err := parseCredentials(string(text), cmp.Or(profile, "default"), time.Now())
	if err != nil {
		return awsCredentials{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, check(c, file)
}

// check returns what is wrong with credentials: nothing in them may end a header.
func check(c awsCredentials, source string) error {
	if c.KeyID == "" || c.Secret == "" {
		return fmt.Errorf("%s has no access key: set credentials_file to a file with aws_access_key_id and aws_secret_access_key", source)
	}
	for _, text := range []string{c.KeyID, c.Secret, c.Token} {
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("%s has an access key with characters that no key has", source)
		}
	}
	return nil
}

// parseCredentials reads the text of AWS' credentials file, or the JSON that
// "aws configure export-credentials" writes.
func parseCredentials(text, profile string, now time.Time) (c awsCredentials, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return parseExported(text, now)
	}
	in, found := profile == "default", false // lines before the first profile are of the default
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if head, is := strings.CutPrefix(line, "["); is {
			name, _, _ := strings.Cut(head, "]")
			in = strings.TrimSpace(name) == profile
			found = found || in
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); !in {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "aws_access_key_id":
			c.KeyID = value
		case "aws_secret_access_key":
			c.Secret = value
		case "aws_session_token":
			c.Token = value
		}
	}
	if !found && c.KeyID == "" {
		return c, fmt.Errorf("no profile [%s] with an access key", profile)
	}
	return c, nil
}

// parseExported reads credentials as JSON.
func parseExported(text string, now time.Time) (c awsCredentials, err error) {
	var said struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      time.Time
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return c, fmt.Errorf("it begins as JSON and is none, or has an invalid Expiration")
	}
	if !said.Expiration.IsZero() && !now.Before(said.Expiration) {
		return c, fmt.Errorf("the credentials ended at %s: renew the file, which is read again each time", said.Expiration.UTC().Format(time.RFC3339))
	}
	return awsCredentials{KeyID: said.AccessKeyID, Secret: said.SecretAccessKey, Token: said.SessionToken}, nil
}
