package packet_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"edgeguard/sensor/packet"
)

// A capture of one SYN, as tcpdump -w writes it.
const oneSYN = `
	d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000
	00f15365 40e20100 36000000 36000000
	0200000000010200000000020800
	4500002800000000 40060000 cb007107 c0000201
	9c40 0050 000003e8 00000000 5002 0400 0000 0000`

func Example() {
	file, err := hex.DecodeString(strings.Join(strings.Fields(oneSYN), ""))
	if err != nil {
		panic(err)
	}
	r, err := packet.New(bytes.NewReader(file), "example", packet.Options{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	for {
		batch, err := r.Next() // the events hold until the next call
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		for _, ev := range batch {
			fmt.Println(ev.Time.Format("15:04:05.000"), ev.Addr, ev.Kind, "port", ev.Port, "verified:", ev.Verified != 0)
		}
	}
	stats := r.Stats()
	fmt.Printf("%d packets, %d events, cut off: %q\n", stats.Packets, stats.Events, stats.Truncated)
	// Output:
	// 22:13:20.123 203.0.113.7 packet+syn port 80 verified: false
	// 1 packets, 1 events, cut off: ""
}
