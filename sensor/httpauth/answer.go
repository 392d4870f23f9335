package httpauth

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
)

// answer is the server's handler.
func (s *Server) answer(ctx *fasthttp.RequestCtx) {
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
	p, rest := protocolOf(text(ctx.Request.Header.RequestURI()))
	if p == protocolNone {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("ask at " + pathNginx + ", " + pathForward + " or " + pathEnvoy + "/\n")
		return
	}
	verdict := s.ask(ctx, p, rest)
	if verdict.Action != edgeguard.ActionDeny {
		s.asker.stats.passed.Add(1)
		return // fasthttp's empty 200
	}
	s.asker.stats.refused.Add(1)
	refused := s.asker.refusal(&verdict)
	h := &ctx.Response.Header
	refused.headers(func(name, value string) { h.SetCanonical([]byte(name), []byte(value)) })
	ctx.SetContentType(problemJSON)
	if p == protocolNginx {
		ctx.SetStatusCode(fasthttp.StatusForbidden)
		h.SetCanonical([]byte(headerStatus), []byte("429"))
	} else {
		ctx.SetStatusCode(statusRefused)
	}
	ctx.SetBody(refused.body)
}

// ask gives the verdict on the request that a proxy asks for.
func (s *Server) ask(ctx *fasthttp.RequestCtx, p protocol, rest string) edgeguard.Verdict {
	q := questions.Get().(*question)
	q.header = &ctx.Request.Header
	defer func() {
		q.event, q.header = edgeguard.Event{}, nil
		questions.Put(q)
	}()
	a, peer := s.asker, ctx.Conn().(*conn).peer
	if !a.config.Trust.Has(peer) {
		a.stats.strangers.Add(1)
		a.config.Alarm(AlarmStranger, peer.String()+" asks without being trusted and is counted as a client itself: add it to trusted_proxies if it is a proxy")
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

// unreadable answers what is no request that can be read: it is refused, with
// the one status that every proxy takes for a refusal.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var broken *net.OpError
	if errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		ctx.SetStatusCode(fasthttp.StatusRequestTimeout) // it stopped in the middle: there is nothing to refuse
		return
	}
	s.asker.stats.unreadable.Add(1)
	status, text := "400", "a request that is not HTTP was refused: "+err.Error()
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		status, text = "431", "a request with a header over the limit was refused: raise HeaderLimit, or let the proxy send less of the client's header"
	}
	s.asker.config.Alarm(AlarmUnreadable, text)
	ctx.SetStatusCode(fasthttp.StatusForbidden)
	ctx.Response.Header.SetCanonical([]byte(headerStatus), []byte(status))
}
