package clients

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"edgeguard/sensor/envoy"
)

// chance makes random messages.
type chance struct{ *rand.Rand }

func (c chance) text() string {
	return []string{"", "a", "x-forwarded-for", "192.0.2.7", "/path?q=1", "GET", "é", "site.example"}[c.IntN(8)]
}

func (c chance) maybe() bool { return c.IntN(3) > 0 }

func (c chance) address() *core.Address {
	switch c.IntN(4) {
	case 0:
		return nil
	case 1:
		return &core.Address{Address: &core.Address_Pipe{Pipe: &core.Pipe{Path: c.text()}}}
	case 2:
		return &core.Address{Address: &core.Address_EnvoyInternalAddress{EnvoyInternalAddress: &core.EnvoyInternalAddress{}}}
	}
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address: c.text(), PortSpecifier: &core.SocketAddress_PortValue{PortValue: c.Uint32()}, ResolverName: c.text(),
	}}}
}

func (c chance) check() *auth.CheckRequest {
	r := &auth.CheckRequest{}
	if !c.maybe() {
		return r
	}
	r.Attributes = &auth.AttributeContext{ContextExtensions: map[string]string{c.text(): c.text()}}
	if c.maybe() {
		r.Attributes.Source = &auth.AttributeContext_Peer{Address: c.address(), Principal: c.text()}
	}
	if c.maybe() {
		r.Attributes.Destination = &auth.AttributeContext_Peer{Address: c.address()}
	}
	if c.maybe() {
		h := &auth.AttributeContext_HttpRequest{
			Id: c.text(), Method: c.text(), Path: c.text(), Host: c.text(), Scheme: c.text(), Size: c.Int64(), Protocol: c.text(), Body: c.text(), RawBody: []byte(c.text()),
		}
		for range c.IntN(4) {
			if h.Headers == nil {
				h.Headers = map[string]string{}
			}
			h.Headers[c.text()] = c.text()
		}
		for range c.IntN(4) {
			if h.HeaderMap == nil {
				h.HeaderMap = &core.HeaderMap{}
			}
			h.HeaderMap.Headers = append(h.HeaderMap.Headers, &core.HeaderValue{Key: c.text(), Value: c.text(), RawValue: []byte(c.text())})
		}
		r.Attributes.Request = &auth.AttributeContext_Request{Http: h}
	}
	return r
}

func (c chance) limit() *rls.RateLimitRequest {
	r := &rls.RateLimitRequest{Domain: c.text(), HitsAddend: uint32(c.IntN(3))}
	for range c.IntN(4) {
		d := &common.RateLimitDescriptor{}
		for range c.IntN(3) {
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: c.text(), Value: c.text()})
		}
		if c.maybe() {
			d.HitsAddend = wrapperspb.UInt64(c.Uint64() >> c.IntN(64))
		}
		if c.maybe() {
			d.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: c.Uint32()}
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	return r
}

// bytes returns the message, sometimes with others of its kind after it, which are then one,
// sometimes with unknown fields, and sometimes damaged.
func (c chance) bytes(t *testing.T, make func() proto.Message) []byte {
	var out []byte
	for range 1 + c.IntN(3) {
		part, err := proto.Marshal(make())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, part...)
		switch c.IntN(4) {
		case 0:
			out = protowire.AppendString(protowire.AppendTag(out, 99, protowire.BytesType), "unknown")
		case 1:
			out = protowire.AppendVarint(protowire.AppendTag(out, 1, protowire.VarintType), 7) // of another type
		case 2:
			out = protowire.AppendGroup(protowire.AppendTag(out, 5, protowire.StartGroupType), 5, []byte{8, 1})
		}
	}
	if len(out) > 0 && c.IntN(4) == 0 {
		out[c.IntN(len(out))] ^= byte(1 << c.IntN(8))
	}
	return out
}

// TestCheckRequests compares what is read of random messages with what protobuf's own library
// reads.
func TestCheckRequests(t *testing.T) {
	c := chance{rand.New(rand.NewPCG(1, 2))}
	read := 0
	for range 30_000 {
		message := c.bytes(t, func() proto.Message { return c.check() })
		var want auth.CheckRequest
		if proto.Unmarshal(message, &want) != nil {
			continue // it also refuses texts that are not UTF-8, and what edgeguard does not look at
		}
		read++
		var got envoy.CheckRequest
		if !got.Read(message) {
			t.Fatalf("%x is not read", message)
		}
		h := want.GetAttributes().GetRequest().GetHttp()
		source := want.GetAttributes().GetSource().GetAddress().GetSocketAddress().GetAddress()
		if got.Source != source || got.Method != h.GetMethod() || got.Path != h.GetPath() || got.Host != h.GetHost() {
			t.Fatalf("%x\n%+v\n%v", message, got, &want)
		}
		if len(got.Lines) != len(h.GetHeaderMap().GetHeaders()) {
			t.Fatalf("%x\n%+v\n%v", message, got.Lines, &want)
		}
		for i, line := range h.GetHeaderMap().GetHeaders() {
			value := line.GetValue()
			if len(line.GetRawValue()) > 0 {
				value = string(line.GetRawValue())
			}
			if got.Lines[i] != (envoy.CheckHeader{Name: line.GetKey(), Value: value}) {
				t.Fatalf("%x\n%+v\n%v", message, got.Lines, &want)
			}
		}
		headers := map[string]string{} // of a name that comes twice, the last one holds
		for _, one := range got.Headers {
			headers[one.Name] = one.Value
		}
		if !maps.Equal(headers, h.GetHeaders()) {
			t.Fatalf("%x\n%q\n%v", message, got.Headers, &want)
		}
	}
	if read < 10_000 {
		t.Errorf("only %d messages are good", read)
	}
}

func TestLimitRequests(t *testing.T) {
	c := chance{rand.New(rand.NewPCG(3, 4))}
	read := 0
	for range 30_000 {
		message := c.bytes(t, func() proto.Message { return c.limit() })
		var want rls.RateLimitRequest
		if proto.Unmarshal(message, &want) != nil {
			continue
		}
		read++
		var got envoy.LimitRequest
		if !got.Read(message) {
			t.Fatalf("%x is not read", message)
		}
		if got.Domain != want.Domain || got.Hits != uint64(want.HitsAddend) || len(got.Descriptors) != len(want.Descriptors) {
			t.Fatalf("%x\n%+v\n%v", message, got, &want)
		}
		for i, d := range want.Descriptors {
			var entries []envoy.Entry
			for _, e := range d.Entries {
				entries = append(entries, envoy.Entry{Key: e.Key, Value: e.Value})
			}
			own := got.Descriptors[i]
			if !slices.Equal(entries, got.Of(own)) || own.Counts != (d.HitsAddend != nil) || own.Hits != d.HitsAddend.GetValue() || own.Returns != d.IsNegativeHits {
				t.Fatalf("%x\n%+v\n%v", message, got, &want)
			}
		}
	}
	if read < 10_000 {
		t.Errorf("only %d messages are good", read)
	}
}

// TestAnswers reads what edgeguard writes with protobuf's own library.
func TestAnswers(t *testing.T) {
	a := envoy.CheckAnswer{
		Denied: true, Status: 429, Headers: []envoy.CheckHeader{{Name: "Retry-After", Value: "42"}}, Body: []byte("{}"), Metadata: []envoy.CheckHeader{{Name: "rule", Value: "site"}},
	}
	var check auth.CheckResponse
	if err := proto.Unmarshal(a.Append(nil), &check); err != nil {
		t.Fatal(err)
	}
	denied := check.GetDeniedResponse()
	if check.GetStatus().GetCode() != 7 || denied.GetStatus().GetCode() != 429 || denied.GetBody() != "{}" || len(denied.GetHeaders()) != 1 ||
		denied.Headers[0].GetHeader().GetKey() != "Retry-After" || denied.Headers[0].GetHeader().GetValue() != "42" ||
		denied.Headers[0].GetAppendAction() != core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD ||
		check.GetDynamicMetadata().GetFields()["rule"].GetStringValue() != "site" {
		t.Errorf("%v", &check)
	}
	var pass auth.CheckResponse
	if err := proto.Unmarshal((&envoy.CheckAnswer{}).Append(nil), &pass); err != nil || pass.GetStatus() == nil || pass.GetStatus().GetCode() != 0 || pass.GetOkResponse() == nil {
		t.Errorf("%v, %v", &pass, err)
	}
	r := envoy.LimitAnswer{Over: true, Statuses: []envoy.LimitStatus{
		{Over: true, Limit: &envoy.Limit{Rule: "site", Events: 10, Window: time.Hour}, Left: 3, Reset: 90 * time.Second}, {},
	}, Headers: []envoy.Entry{{Key: "retry-after", Value: "90"}}, Body: []byte("{}")}
	var limit rls.RateLimitResponse
	if err := proto.Unmarshal(r.Append(nil), &limit); err != nil {
		t.Fatal(err)
	}
	s := limit.GetStatuses()
	if limit.GetOverallCode() != rls.RateLimitResponse_OVER_LIMIT || len(s) != 2 || s[0].GetCode() != rls.RateLimitResponse_OVER_LIMIT ||
		s[0].GetCurrentLimit().GetName() != "site" || s[0].GetCurrentLimit().GetRequestsPerUnit() != 10 || s[0].GetCurrentLimit().GetUnit() != rls.RateLimitResponse_RateLimit_HOUR ||
		s[0].GetLimitRemaining() != 3 || s[0].GetDurationUntilReset().GetSeconds() != 90 || s[1].GetCode() != rls.RateLimitResponse_OK || s[1].GetCurrentLimit() != nil ||
		limit.GetResponseHeadersToAdd()[0].GetKey() != "retry-after" || string(limit.GetRawBody()) != "{}" {
		t.Errorf("%v", &limit)
	}
}
