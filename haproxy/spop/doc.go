// Package spop hides the frames of SPOP 2.0, the protocol in which HAProxy asks an agent about
// a request while the request waits.
//
// HAProxy connects and says HELLO, the agent answers with its own. From then on each
// NOTIFY holds the arguments of one request's messages, and each ACK the variables
// that HAProxy is to set. ACKs may be written in any order, on the connection of
// their NOTIFY.
//
//	Next ─Frame─▶ ReadHello          AppendHello
//	            ▶ ReadNotify ─args─▶ BeginAck, Ack.SetUint, Ack.FrameBytes
//	            ▶ ReadDisconnect     AppendDisconnect
//
// What is read points into the buffer that it was read from, and nothing is
// allocated. A frame is bounded by its reader, and frames in fragments are an
// error: an agent receives them only if its HELLO allows it.
//
// The protocol is described in HAProxy's doc/SPOE.txt.
package spop
