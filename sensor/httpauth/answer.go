package httpauth

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/refusal"
)

// headerStatus is the status that nginx is to answer with.
const headerStatus = "X-Edgeguard-Status"

// answer is the server's handler.
func (s *Server) answer(ctx *fasthttp.RequestCtx) {
	if !ctx.Conn().(*conn).Asks(ctx.Time()) {
		return // it was closed for another: what is not answered is not counted
	}
	if s.conns.Draining() {
		ctx.SetConnectionClose()
	}
	p, rest := protocolOf(unsafetext.String(ctx.Request.Header.RequestURI()))
	if p == protocolNone {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("ask at " + pathNginx + ", " + pathForward + " or " + pathEnvoy + "/\n")
		return
	}
	q := newQuestion(&ctx.Request.Header)
	defer q.end()
	verdict := s.ask(q, ctx.Conn().(*conn).peer, p, rest)
	if verdict.Action != edgeguard.ActionDeny {
		s.asker.stats.passed.Add(1)
		return // fasthttp's empty 200
	}
	s.asker.stats.refused.Add(1)
	refused := refusal.Of(&verdict, s.asker.config.Policy)
	h := &ctx.Response.Header
	refused.Headers(func(name, value string) { h.SetCanonical([]byte(name), []byte(value)) })
	ctx.SetContentType(refusal.ContentType)
	if p == protocolNginx {
		ctx.SetStatusCode(fasthttp.StatusForbidden)
		h.SetCanonical([]byte(headerStatus), []byte("429"))
	} else {
		ctx.SetStatusCode(refusal.Status)
	}
	ctx.SetBody(refused.Body)
}

// ask returns the verdict on the request that a proxy asks for.
func (s *Server) ask(q *question, peer netip.Addr, p protocol, rest string) edgeguard.Verdict {
	a := s.asker
	if !a.config.Trust.Has(peer) {
		a.stats.strangers.Add(1)
		a.config.Alarm(alarmStranger, peer.String()+" is not trusted and is counted as a client itself: add it to trusted_proxies if it is a proxy")
		a.place(&q.event, peer, clientaddr.Client{Addr: peer})
		return a.decide(a.config.Now(), &q.event)
	}
	finder := a.finder
	if p == protocolNginx {
		finder = s.realIP
	}
	client := finder.Find(peer, q.values(finder.Header()))
	if !client.FromHeader() {
		return a.noClient("a request to " + p.String() + " without a good " + finder.Header())
	}
	a.place(&q.event, peer, client)
	q.describe(p, rest)
	return s.once(q, p, a.config.Now())
}

// once decides, unless nginx has asked for the same request before. Only the
// nginx protocol has ids: the other proxies ask once, and pass on a client's
// own X-Request-Id.
func (s *Server) once(q *question, p protocol, now time.Time) edgeguard.Verdict {
	if p != protocolNginx || s.asker.config.LookUp {
		return s.asker.decide(now, &q.event)
	}
	id, ok := q.value("X-Request-Id")
	if !ok || id == "" {
		return s.asker.decide(now, &q.event)
	}
	key := s.recent.key(id, &q.event)
	if verdict, found := s.recent.find(now, key); found {
		s.asker.stats.repeated.Add(1)
		return verdict
	}
	verdict := s.asker.decide(now, &q.event)
	s.recent.add(now, key, verdict)
	return verdict
}

// unreadable answers what is not a readable request: it is refused, with
// the one status that every proxy takes for a refusal. One with too long a header
// is counted where that can be done.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var broken *net.OpError
	if errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		ctx.SetStatusCode(fasthttp.StatusRequestTimeout) // it stopped in the middle: there is nothing to refuse
		return
	}
	s.asker.stats.unreadable.Add(1)
	status := "400"
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		status = "431"
		s.asker.config.Alarm(alarmUnreadable, fmt.Sprintf("a request with a header over %d bytes was refused: have the proxy refuse it, or send fewer of the client's headers",
			s.asker.config.HeaderLimit))
		s.countLong(ctx.Conn().(*conn))
	} else {
		s.asker.config.Alarm(alarmUnreadable, "a request that is not HTTP was refused: "+err.Error())
		s.asker.uncounted(netip.Addr{}, edgeguard.NotHTTP)
	}
	ctx.SetStatusCode(fasthttp.StatusForbidden)
	ctx.Response.Header.SetCanonical([]byte(headerStatus), []byte(status))
}
