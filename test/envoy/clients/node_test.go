package clients

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The clients of others, at fixed versions. Each is built with the modules that it names
// itself.
const (
	grpcurl = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"
	limiter = "github.com/envoyproxy/ratelimit/src/client_cmd@v1.4.1-0.20260122083618-3fb702589d36"
)

// program is edgeguard, built once, and tools are the clients' folder.
var program, tools string

func TestMain(m *testing.M) {
	if at := os.Getenv(floorAt); at != "" {
		fmt.Fprintln(os.Stderr, serveFloor(at))
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "envoy-clients")
	if err != nil {
		panic(err)
	}
	program, tools = filepath.Join(dir, "edgeguard"), filepath.Join(dir, "tools")
	build := exec.Command("go", "build", "-o", program, "./cmd/edgeguard")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// tool returns the path of a client, or skips the test where it cannot be had.
func tool(t *testing.T, module string) string {
	t.Helper()
	install := exec.Command("go", "install", module)
	install.Env = append(os.Environ(), "GOBIN="+tools, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%s cannot be built: %v: %s", module, err, out)
	}
	name, _, _ := strings.Cut(module, "@")
	return filepath.Join(tools, filepath.Base(name))
}

// node runs edgeguard until the test ends, and returns where Envoy is to ask.
func node(t testing.TB, rules string) (address string) {
	t.Helper()
	return start(t, rules).address
}

// running is an edgeguard that runs.
type running struct {
	address, socket string // where Envoy asks
	pid             int
}

func start(t testing.TB, rules string) running {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") // the path of a socket may have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	file := filepath.Join(dir, "edgeguard.yaml")
	config := fmt.Sprintf(`listen: {auth: [], admin: ["unix:%s/admin.sock"], envoy: ["%s", "unix:%s/envoy.sock"]}
state: %s/state
memory: 64MiB
rules: %s
`, dir, address, dir, dir, rules)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	var log bytes.Buffer
	run := exec.Command(program, "serve", "--config", file)
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		if err := run.Wait(); err != nil || t.Failed() {
			t.Errorf("edgeguard: %v\n%s", err, &log)
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return running{address, "unix:" + dir + "/envoy.sock", run.Process.Pid}
		}
		if time.Now().After(deadline) {
			t.Fatalf("edgeguard does not listen: %v\n%s", err, &log)
		}
	}
}

const tenAMinute = `[{name: site, threshold: 10, guard: 1, window: 1m}]`

// protoset writes what grpcurl has to know of a service.
func protoset(t *testing.T, file protoreflect.FileDescriptor) string {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(file)
	data, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// grpcurl asks both services by their names, and reads the answers as JSON.
func TestGrpcurl(t *testing.T) {
	curl, address := tool(t, grpcurl), node(t, tenAMinute)
	ask := func(set, data, method string) string {
		t.Helper()
		out, err := exec.Command(curl, "-plaintext", "-max-time", "10", "-protoset", set, "-d", data, address, method).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	checks, limits := protoset(t, auth.File_envoy_service_auth_v3_external_auth_proto), protoset(t, rls.File_envoy_service_ratelimit_v3_rls_proto)
	check := `{"attributes": {"source": {"address": {"socketAddress": {"address": "203.0.113.9", "portValue": 1}}},
		"request": {"http": {"method": "GET", "path": "/a?b", "host": "site.example", "headers": {"user-agent": "curl"}}}}}`
	for i := range 8 {
		if got := ask(checks, check, "envoy.service.auth.v3.Authorization/Check"); got != `{ "status": {}, "okResponse": {} }` {
			t.Fatalf("%d: %s", i, got)
		}
	}
	limit := `{"domain": "edgeguard", "descriptors": [{"entries": [{"key": "remote_address", "value": "203.0.113.9"}, {"key": "edgeguard_rule", "value": "site"}]},
		{"entries": [{"key": "generic_key", "value": "other"}]}]}`
	got := ask(limits, limit, "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
	want := `{ "overallCode": "OK", "statuses": [ { "code": "OK", "currentLimit": { "requestsPerUnit": 10, "unit": "MINUTE", "name": "site" }, "limitRemaining": 1, "durationUntilReset": "60s" }, { "code": "OK" } ] }`
	if got != want {
		t.Errorf("%s", got)
	}
	ask(checks, check, "envoy.service.auth.v3.Authorization/Check")
	got = ask(checks, check, "envoy.service.auth.v3.Authorization/Check")
	for _, want := range []string{`"status": { "code": 7 }`, `"code": "TooManyRequests"`, `"key": "Retry-After"`, `"appendAction": "OVERWRITE_IF_EXISTS_OR_ADD"`, "abnormal-usage-detected", `"rule": "site"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	got = ask(limits, limit, "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
	for _, want := range []string{`"overallCode": "OVER_LIMIT"`, `{ "code": "OVER_LIMIT", "currentLimit": { "requestsPerUnit": 10, "unit": "MINUTE", "name": "site" }, "durationUntilReset": "600s" }`, `{ "code": "OK" } ]`, `"key": "retry-after"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	out, err := exec.Command(curl, "-plaintext", "-max-time", "10", "-protoset", limits, "-d", "{}", address, "envoy.service.ratelimit.v3.RateLimitService/Other").CombinedOutput()
	if err == nil {
		t.Errorf("an unknown method: %s", out)
	}
}

// The client of Envoy's own rate limit service reads the answers as that service's.
func TestRatelimitClient(t *testing.T) {
	client, address := tool(t, limiter), node(t, `[{name: site, threshold: 3, guard: 1, window: 1h}]`)
	ask := func() string {
		t.Helper()
		out, err := exec.Command(client, "-dial_string", address, "-domain", "edgeguard", "-descriptors", "remote_address=203.0.113.9,edgeguard_rule=site", "-descriptors", "path=/a").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	for i := range 4 {
		got, want := ask(), "overall_code:OK"
		if i == 3 {
			want = "overall_code:OVER_LIMIT"
		}
		if !strings.Contains(got, want) || !strings.Contains(got, "unit:HOUR") {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// gRPC's own library asks with 16 callers on one connection, and with headers that it may
// compress, over TCP and over a unix socket.
func TestLibrary(t *testing.T) {
	address := node(t, `[{name: site, threshold: 50000, guard: 1}]`)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := auth.NewAuthorizationClient(conn)
	const callers, each = 16, 500
	failed := make(chan error, callers)
	for i := range callers {
		go func() {
			request := &auth.CheckRequest{Attributes: &auth.AttributeContext{Source: peer(fmt.Sprintf("203.0.113.%d", i)), Request: &auth.AttributeContext_Request{
				Http: &auth.AttributeContext_HttpRequest{Method: "GET", Path: "/", Host: "h", Headers: map[string]string{"user-agent": "a"}},
			}}}
			for range each {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				answer, err := client.Check(ctx, request)
				cancel()
				if err != nil || answer.GetStatus().GetCode() != 0 || answer.GetOkResponse() == nil {
					failed <- fmt.Errorf("%v, %v", answer, err)
					return
				}
			}
			failed <- nil
		}()
	}
	for range callers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if _, err := client.Check(context.Background(), &auth.CheckRequest{}, grpc.UseCompressor("gzip")); err == nil {
		t.Error("a compressed message is read")
	}
	health, err := conn.NewStream(context.Background(), &grpc.StreamDesc{}, "/grpc.health.v1.Health/Watch")
	if err == nil {
		err = health.RecvMsg(&auth.CheckResponse{})
	}
	if err == nil {
		t.Error("a method that is none is answered")
	}
}
