package cloud

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"
)

// Requests to AWS are signed by Signature Version 4.
//
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
// says what a canonical request is; the tests hold AWS's own examples.

const (
	algorithm = "AWS4-HMAC-SHA256"
	instant   = "20060102T150405Z"
	day       = "20060102"
)

// signedField is a header, or a parameter of a query, neither of them escaped.
type signedField struct{ Name, Value string }

// awsCredentials are who signs. Token is empty for those that do not end.
type awsCredentials struct{ KeyID, Secret, Token string }

// signedRequest is what is signed: all of it. Headers has at least Host.
type signedRequest struct {
	Method string
	Path   string // empty is "/"
	Query  []signedField
	Header []signedField
	Body   []byte
}

// signV4 returns the headers to add to a request for a service in a region, signed at a
// time: X-Amz-Date, X-Amz-Security-Token where the credentials have one, and
// Authorization.
func signV4(r signedRequest, c awsCredentials, region, service string, at time.Time) []signedField {
	at = at.UTC()
	added := []signedField{{"X-Amz-Date", at.Format(instant)}}
	if c.Token != "" {
		added = append(added, signedField{"X-Amz-Security-Token", c.Token})
	}
	r.Header = slices.Concat(r.Header, added)
	headers, names := canonicalHeaders(r.Header)
	canonical := strings.Join([]string{r.Method, canonicalPath(r.Path), canonicalQuery(r.Query), headers, names, hash(r.Body)}, "\n")
	scope := strings.Join([]string{at.Format(day), region, service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, at.Format(instant), scope, hash([]byte(canonical))}, "\n")
	key := []byte("AWS4" + c.Secret)
	for _, part := range []string{at.Format(day), region, service, "aws4_request"} {
		key = sum(key, part)
	}
	return append(added, signedField{"Authorization", algorithm + " Credential=" + c.KeyID + "/" + scope +
		", SignedHeaders=" + names + ", Signature=" + hex.EncodeToString(sum(key, text))})
}

// canonicalPath returns the path without dots and repeated slashes, escaped.
func canonicalPath(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return escape(clean, "/")
}

// canonicalQuery returns the parameters in the order of their escaped names and values.
func canonicalQuery(query []signedField) string {
	escaped := make([]signedField, len(query))
	for i, f := range query {
		escaped[i] = signedField{escape(f.Name, ""), escape(f.Value, "")}
	}
	slices.SortFunc(escaped, func(a, b signedField) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	parts := make([]string, len(escaped))
	for i, f := range escaped {
		parts[i] = f.Name + "=" + f.Value
	}
	return strings.Join(parts, "&")
}

// canonicalHeaders returns the headers by their names in small letters, one line each,
// and the names. Values of one name keep their order.
func canonicalHeaders(header []signedField) (lines, names string) {
	values := make(map[string][]string)
	var all []string
	for _, f := range header {
		name := strings.ToLower(f.Name)
		if values[name] == nil {
			all = append(all, name)
		}
		values[name] = append(values[name], strings.Join(strings.Fields(f.Value), " "))
	}
	slices.Sort(all)
	for _, name := range all {
		lines += name + ":" + strings.Join(values[name], ",") + "\n"
	}
	return lines, strings.Join(all, ";")
}

// escape escapes every byte but the unreserved ones of RFC 3986 and those of kept.
func escape(text, kept string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		switch b := text[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', strings.IndexByte("-._~"+kept, b) >= 0:
			out.WriteByte(b)
		default:
			out.Write([]byte{'%', digits[b>>4], digits[b&15]})
		}
	}
	return out.String()
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
