package clients

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var action = regexp.MustCompile(`- (remote_address|request_headers|generic_key): \{(?:header_name: "?([^",]+)"?, )?(?:descriptor_key: "?([^",}]+)"?)?(?:, descriptor_value: "([^"]+)")?`)

// The recipes' check asks from 127.0.0.2, which is one of the proxies that are trusted by
// default. What the printed configuration has Envoy say of it names that client.
func TestRecipesCheck(t *testing.T) {
	n := start(t, tenAMinute)
	if out, err := exec.Command(program, "blocks", "add", "127.0.0.2", "--for", "5m", "--force", "--reason", "check", "--admin", "unix:"+filepath.Dir(n.socket[len("unix:"):])+"/admin.sock").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conn, err := grpc.NewClient(n.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for address, blocked := range map[string]bool{"127.0.0.2": true, "127.0.0.1": false} {
		// use_remote_address appends the client.
		headers := map[string]string{":path": "/", ":method": "GET", ":authority": "127.0.0.1", "user-agent": "curl", "x-forwarded-for": address}
		check, err := auth.NewAuthorizationClient(conn).Check(t.Context(), &auth.CheckRequest{Attributes: &auth.AttributeContext{Source: peer(address),
			Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{Method: "GET", Path: "/", Host: "127.0.0.1", Headers: headers}}}})
		if err != nil || check.GetDeniedResponse().GetStatus().GetCode() == 429 != blocked {
			t.Errorf("ext_authz, from %s: %v, %v", address, check, err)
		}
		printed, err := exec.Command(program, "snippets", "envoy-rls", "--file", "proxy", "--backend", "127.0.0.1:8080").Output()
		if err != nil {
			t.Fatal(err)
		}
		descriptor := &common.RateLimitDescriptor{}
		for _, a := range action.FindAllStringSubmatch(string(printed), -1) {
			entry := &common.RateLimitDescriptor_Entry{Key: a[3], Value: headers[a[2]]}
			switch a[1] {
			case "remote_address":
				entry = &common.RateLimitDescriptor_Entry{Key: a[1], Value: address}
			case "generic_key":
				entry.Value = a[4]
			}
			descriptor.Entries = append(descriptor.Entries, entry)
		}
		limit, err := rls.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "edgeguard", Descriptors: []*common.RateLimitDescriptor{descriptor}})
		if err != nil || limit.GetOverallCode() == rls.RateLimitResponse_OVER_LIMIT != blocked {
			t.Errorf("rate limit, from %s with %v: %v, %v", address, descriptor, limit, err)
		}
	}
}
