package report

import (
	"fmt"
	"io"

	"edgeguard/loadtest/traffic"
)

const capturePackets = 2_000_000

func captureGroup() group {
	return group{
		name:  "capture",
		title: "Replay of a capture",
		note:  fmt.Sprintf("A pcap of %d packets (`go run ./loadtest/gen pcap`) of up to 100,000 sources, in the page cache; one rule. tcpdump copies the records and looks at none.", capturePackets),
		lines: []figure{
			{what: "against `tcpdump -r FILE -w /dev/null`", goal: atLeast(1, "×"), command: "edgeguard replay --threshold 2000 --json flood.pcap", measure: raceTcpdump},
		},
	}
}

func raceTcpdump(r *runner) (reading, error) {
	if err := installed("tcpdump"); err != nil {
		return reading{}, err
	}
	program, err := r.program()
	if err != nil {
		return reading{}, err
	}
	file, err := r.file("flood.pcap", func(w io.Writer) error {
		return traffic.Capture{Packets: capturePackets, Seed: 1}.Write(w)
	})
	if err != nil {
		return reading{}, err
	}
	outcome, err := r.race("replay against tcpdump",
		contender{[]string{program, "replay", "--threshold", "2000", "--json", file}, capturePackets, sawAll(capturePackets)},
		contender{args: []string{"tcpdump", "-r", file, "-w", "/dev/null"}, units: capturePackets})
	if err != nil {
		return reading{}, err
	}
	return outcome.speed("packets"), nil
}
