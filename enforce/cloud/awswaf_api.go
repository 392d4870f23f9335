package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"edgeguard/internal/outbound"
)

// target begins the name of each operation, by the service's model of 2019-07-29.
const target = "AWSWAF_20190729."

// skewed is a difference between two clocks that AWS refuses: it is 5 minutes.
const skewed = 4 * time.Minute

// ipSet is what GetIPSet says of a set.
type ipSet struct {
	Description string
	Version     string `json:"IPAddressVersion"`
	Addresses   []string
	lock        string
}

// awswafAPI is the service in one region.
type awswafAPI struct {
	config   AWSWAFConfig
	endpoint string
	client   *Client
}

func newAWSWAFAPI(c AWSWAFConfig) *awswafAPI {
	host := "https://wafv2." + c.Region + ".amazonaws.com"
	if strings.HasPrefix(c.Region, "cn-") {
		host += ".cn"
	}
	return &awswafAPI{config: c, endpoint: cmp.Or(c.Endpoint, host), client: newClient()}
}

func (a *awswafAPI) getIPSet(ctx context.Context, s AWSWAFSet) (ipSet, error) {
	var said struct {
		IPSet     *ipSet
		LockToken string
	}
	err := a.call(ctx, "GetIPSet", map[string]any{"Name": s.Name, "Id": s.ID, "Scope": a.config.Scope}, &said)
	switch {
	case err != nil:
		return ipSet{}, err
	case said.IPSet == nil || said.IPSet.Addresses == nil || said.LockToken == "": // AWS writes an empty list as []
		return ipSet{}, errors.New("the answer has no set, no list of addresses or no LockToken: it is not AWS WAF's")
	}
	said.IPSet.lock = said.LockToken
	return *said.IPSet, nil
}

func (a *awswafAPI) update(ctx context.Context, s AWSWAFSet, description, lock string, want []netip.Prefix) error {
	addresses := make([]string, len(want)) // an empty list, and not null
	for i, p := range want {
		addresses[i] = p.String()
	}
	return a.call(ctx, "UpdateIPSet", map[string]any{
		"Name": s.Name, "Id": s.ID, "Scope": a.config.Scope, "Description": description, "Addresses": addresses, "LockToken": lock,
	}, &struct{}{})
}

// call makes one signed call.
func (a *awswafAPI) call(ctx context.Context, operation string, in map[string]any, out any) error {
	credentials, err := readCredentials(a.config.File, a.config.Profile)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	where, err := url.Parse(a.endpoint)
	if err != nil {
		return err
	}
	fields := []signedField{{Name: "Content-Type", Value: "application/x-amz-json-1.1"}, {Name: "X-Amz-Target", Value: target + operation}}
	r := signedRequest{Method: http.MethodPost, Header: append([]signedField{{Name: "Host", Value: where.Host}}, fields...), Body: body}
	header := make(http.Header)
	for _, f := range append(fields, signV4(r, credentials, a.config.Region, "wafv2", time.Now())...) {
		header.Set(f.Name, f.Value)
	}
	answer, err := a.client.SendRequest(ctx, http.MethodPost, a.endpoint+"/", header, body, credentials.Secret, credentials.Token)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if answer.Status != http.StatusOK {
		err := fmt.Errorf("%s: %w", operation, failure(answer, a.config.File))
		if awsErrorName(err) == "WAFNonexistentItemException" {
			err = &Gone{Err: err}
		}
		return err
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return fmt.Errorf("%s: %w", operation, answer.NotJSON())
	}
	return nil
}

// awswafError is what AWS says is wrong.
type awswafError struct {
	kind   string
	status int
	text   string
	fix    string
}

func (e *awswafError) Error() string {
	said := fmt.Sprintf("AWS says %s", e.kind)
	if e.text != "" {
		said += ": " + e.text
	}
	if e.fix != "" {
		said += ": " + e.fix
	}
	return said
}

// awsErrorName returns the name of an error of AWS; empty for another.
func awsErrorName(err error) string {
	var said *awswafError
	if errors.As(err, &said) {
		return said.kind
	}
	return ""
}

// later reports whether the same call may work in a moment.
func (e *awswafError) later() bool {
	switch e.kind {
	case "ThrottlingException", "Throttling", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException",
		"WAFInternalErrorException", "InternalFailure", "ServiceUnavailable", "WAFUnavailableEntityException":
		return true
	}
	return e.status == http.StatusTooManyRequests || e.status >= 500
}

// failure returns what an answer says is wrong, with the fix.
func failure(a *Answer, file string) error {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Upper   string `json:"Message"`
	}
	if err := json.Unmarshal(a.Body, &said); err != nil && a.Header.Get("X-Amzn-Errortype") == "" {
		if a.Status >= 500 || a.Status == http.StatusTooManyRequests {
			return &awswafError{kind: fmt.Sprintf("status %d", a.Status), status: a.Status, text: outbound.Shown(string(a.Body))}
		}
		return a.NotJSON()
	}
	e := &awswafError{kind: name(cmp.Or(a.Header.Get("X-Amzn-Errortype"), said.Type, "nothing of what is wrong")), status: a.Status, text: outbound.Shown(cmp.Or(said.Message, said.Upper))}
	e.fix = fixOf(e, a.Header.Get("Date"), time.Now(), cmp.Or(file, "the environment"))
	return e
}

// name returns an error's name without what may be around it:
// "com.amazonaws.wafv2#Name", "Name:http://…".
func name(kind string) string {
	kind, _, _ = strings.Cut(kind, ":")
	return outbound.Shown(kind[strings.LastIndexByte(kind, '#')+1:])
}

// fixOf returns what to do about an error; date is the answer's, and source says where
// the credentials are from.
func fixOf(e *awswafError, date string, now time.Time, source string) string {
	if at, err := http.ParseTime(date); err == nil && now.Sub(at).Abs() > skewed {
		return fmt.Sprintf("this host's clock is off by %v against AWS's: set it right", now.Sub(at).Round(time.Minute))
	}
	switch e.kind {
	case "RequestTimeTooSkewed", "RequestExpired":
		return "set this host's clock right"
	case "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignatureException":
		return "the secret access key in " + source + " is not that of its key ID, or a program in between changes requests"
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken":
		return "AWS does not know the access key in " + source
	case "ExpiredTokenException", "ExpiredToken":
		return "the session in " + source + " has ended: renew it; the file is read again each time"
	case "AccessDeniedException", "AccessDenied":
		return "allow wafv2:GetIPSet and wafv2:UpdateIPSet on the set's ARN"
	case "WAFNonexistentItemException":
		return "compare name, id, scope and region with the set's ARN; it may have been deleted"
	case "WAFLimitsExceededException":
		return "set most lower"
	case "WAFOptimisticLockException":
		return "another program writes this set as often: let one of them write it"
	}
	return ""
}
