package envoy

import (
	"encoding/binary"
	"strconv"
)

// The parts of gRPC that an answer to one message requires: the frame around a message, and
// the codes of an answer. A library would add megabytes for what net/http does already.

// mostMessage bounds a message in bytes. Envoy takes headers of up to 60 KiB by default, and
// sends a path twice: as such, and among the headers. Were the bound lower, a client could
// make its requests too long to be asked about, and an Envoy that fails open would let them
// through.
const mostMessage = 192 << 10

// FrameHeadSize is the length of what precedes a message: whether it is compressed, and its
// length.
const FrameHeadSize = 5

// Code is the outcome of a call, which Grpc-Status carries.
type Code uint8

// The codes that edgeguard answers with.
const (
	OK              Code = 0
	invalidArgument Code = 3  // the message cannot be read
	deadline        Code = 4  // the message did not arrive in time
	exhausted       Code = 8  // the message is too long, or too much is being read
	unimplemented   Code = 12 // the method or the compression is not known
	internal        Code = 13 // the message is not framed as gRPC says
)

// String returns the code as Grpc-Status has it.
func (c Code) String() string { return strconv.Itoa(int(c)) }

// readFrameHead reads what precedes a message, of FrameHeadSize bytes, and returns the length of the
// message. Any other code than OK refuses it.
func readFrameHead(head []byte) (size int, code Code) {
	if len(head) != FrameHeadSize || head[0] > 1 {
		return 0, internal
	}
	if head[0] == 1 {
		return 0, unimplemented
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > mostMessage {
		return 0, exhausted
	}
	return int(length), OK
}

// BeginFrame appends room for the head of a message that is appended next; [EndFrame] fills it in.
func BeginFrame(out []byte) []byte { return append(out, 0, 0, 0, 0, 0) }

// EndFrame fills in the head at start of the message that ends where out does.
func EndFrame(out []byte, start int) {
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-FrameHeadSize))
}

// isGRPC reports whether a content type is that of protobuf over gRPC.
func isGRPC(contentType string) bool {
	return contentType == "application/grpc" || contentType == "application/grpc+proto"
}
