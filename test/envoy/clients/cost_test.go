package clients

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// cpuTime returns the user and system time of a process's threads.
func cpuTime(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || threads == nil {
		b.Skip("no /proc/PID/task/TID/schedstat")
	}
	for _, t := range threads {
		data, err := os.ReadFile(t)
		if err != nil {
			b.Fatal(err) // Go ends no thread here
		}
		var ran int64
		if _, err := fmt.Sscan(string(data), &ran); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ran)
	}
	return sum
}

// BenchmarkAnswer prints edgeguard's processor time for an answer, and (nethttp) that of a
// handler of net/http that decides nothing, over a unix socket. Sixteen callers of a
// thousand addresses share one connection, and their requests have the headers of a browser.
func BenchmarkAnswer(b *testing.B) {
	headers := map[string]string{
		":authority": "www.site.example", ":path": "/shop/item?id=12345", ":method": "GET", ":scheme": "https", "x-forwarded-for": "203.0.113.9", "x-request-id": "0b2b1c3e-8c0e-4d9c-9c3a-2a6a0c1f0b9a",
		"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"accept-language": "en-US,en;q=0.5", "accept-encoding": "gzip, deflate, br, zstd", "cookie": "session=0123456789abcdef0123456789abcdef", "referer": "https://www.site.example/shop",
		"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "x-forwarded-proto": "https",
	}
	ask := map[string]func(context.Context, *grpc.ClientConn, string) error{
		"ext_authz": func(ctx context.Context, c *grpc.ClientConn, addr string) error {
			answer, err := auth.NewAuthorizationClient(c).Check(ctx, &auth.CheckRequest{Attributes: &auth.AttributeContext{Source: peer(addr), Request: &auth.AttributeContext_Request{
				Http: &auth.AttributeContext_HttpRequest{Method: "GET", Path: headers[":path"], Host: headers[":authority"], Headers: headers},
			}}})
			if err == nil && answer.GetStatus().GetCode() != 0 {
				err = fmt.Errorf("%v", answer)
			}
			return err
		},
		"rate_limit": func(ctx context.Context, c *grpc.ClientConn, addr string) error {
			entry := func(key, value string) *common.RateLimitDescriptor_Entry {
				return &common.RateLimitDescriptor_Entry{Key: key, Value: value}
			}
			answer, err := rls.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, &rls.RateLimitRequest{Domain: "edgeguard", Descriptors: []*common.RateLimitDescriptor{{
				Entries: []*common.RateLimitDescriptor_Entry{entry("remote_address", addr), entry("path", headers[":path"]), entry("method", "GET"), entry("edgeguard_rule", "site")},
			}}})
			if err == nil && answer.GetOverallCode() != rls.RateLimitResponse_OK {
				err = fmt.Errorf("%v", answer)
			}
			return err
		},
	}
	const node = `[{name: site, threshold: 60000}, {name: login, threshold: 20, match: {method: [POST], path: [/login]}}]`
	for name, call := range ask {
		for _, over := range []string{"tcp", "unix", "nethttp"} {
			if over == "nethttp" && name != "ext_authz" {
				continue // it answers without a look
			}
			b.Run(name+"/"+over, func(b *testing.B) {
				var n running
				if over == "nethttp" {
					n = floor(b)
				} else {
					n = start(b, node)
				}
				target := n.socket
				if over == "tcp" {
					target = n.address
				}
				conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				var next atomic.Uint32
				one := func() error {
					i := next.Add(1) % 1000
					return call(context.Background(), conn, fmt.Sprintf("198.51.%d.%d", i/250, 1+i%250))
				}
				for range 2000 { // warm
					if err := one(); err != nil {
						b.Fatal(err)
					}
				}
				before := cpuTime(b, n.pid)
				b.SetParallelism(8) // of two processors: sixteen callers
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := one(); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.StopTimer()
				b.ReportMetric(float64((cpuTime(b, n.pid)-before).Microseconds())/float64(b.N), "server-µs/answer")
			})
		}
	}
}
