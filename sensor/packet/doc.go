// Package packet reads captures, and listens to interfaces, as one [edgeguard.Event] for each IP packet. A
// capture is pcap or pcapng, also gzipped.
//
// The path of a packet, which is also the order of the files:
//
//	file ▸ window ──▶ pcap | pcapng ──record──▶ link ▸ header ▸ flows ▸ request ──▶ batch ──▶ Reader.Next
//	interface ▸ ring ▸ block ────┘
//	      (its own goroutine, up to the batch)                                            (the caller's)
//
// It is not a traffic analyser: it reads the headers up to TCP, UDP and ICMP,
// and the first line and headers of a cleartext HTTP/1 request. Tunnels are
// counted under their outer addresses, and streams are not reassembled: a
// second request in one segment, or one whose first line begins inside a
// segment, is not seen.
//
// # Evidence
//
// A packet's source address is whatever its sender wrote. Only two kinds are
// verified: a handshake, whose ACK repeats the sequence number of a SYN-ACK that
// was itself seen going to that address, and a request on the flow that such a
// handshake opened. Both rest on the network refusing packets from outside
// that claim an inside source, since a forged SYN-ACK looks like a true one. On
// an interface without [Options.Local] the SYN-ACK must be one that this host sent.
//
// # Failure
//
// A damaged or cut-off capture is read as far as it goes, and [Stats] says
// where and why it ended. Nothing that a file claims is allocated on its word.
//
// One goroutine at a time may use a [Reader], except for Stats and Close,
// which are always safe.
package packet
