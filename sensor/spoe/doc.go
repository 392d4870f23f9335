// Package spoe answers HAProxy while a request waits. It is the agent of HAProxy's stream
// processing offload engine (SPOE), for rules on host, path and User-Agent as a client sends
// them.
//
// A request's path, which is also the list of files:
//
//	server ─▶ conn ─▶ question ─Event─▶ Decide ─Verdict─▶ answer ─▶ conn
//
// One [Server] serves one listener. HAProxy keeps a few connections and sends many
// requests over each without waiting for answers. All that has arrived is answered,
// and the answers are written together: that makes SPOE cheaper than a question over
// HTTP.
//
// The arguments of HAProxy's message have fixed names: src, host, method, path, agent,
// referer, fetch_site, and header:NAME. One that is not sent is a field that is not
// known. The answer sets the variables action (0 to let the request through, 1 to
// refuse it), and for a refusal retry_after (in seconds) and rule. It always sets
// action, because HAProxy 3.1 waits for its time-out after an answer without any
// variable.
//
// SPOP has no authentication, and whoever may ask can count against any address and
// read verdicts. So what [New] is given says who may, before a byte is read.
//
// It fails open where the fault is ours: without a client's address, and when Decide
// panics, the request passes and an alarm says so. What happens while edgeguard does
// not answer is HAProxy's configuration; the tested one is in package snippets.
//
// It reads the clock for deadlines only; the time of an event comes from
// [inline.Config.Now].
package spoe
