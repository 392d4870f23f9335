package packet

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/realdata"
)

// labelled is one capture and what its folder's SOURCE.txt says of it.
type labelled struct {
	file                       string
	ip, packets, distinct, six int
	peaks                      map[int]int // threshold: addresses whose peak reaches it
}

// readLabels reads the statistics in a SOURCE.txt, which tcpdump made.
func readLabels(t *testing.T, folder string) []labelled {
	text, err := os.ReadFile(filepath.Join(folder, "SOURCE.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "--- "); ok {
			out = append(out, labelled{file: strings.TrimSpace(name), peaks: map[int]int{}})
			continue
		}
		if len(out) == 0 {
			continue
		}
		last := &out[len(out)-1]
		fmt.Sscanf(line, "IP packets: %d (of %d", &last.ip, &last.packets)
		fmt.Sscanf(line, "distinct IPs: %d  (IPv6: %d)", &last.distinct, &last.six)
		if _, rest, ok := strings.Cut(line, "count reaches: "); ok {
			for pair := range strings.SplitSeq(strings.TrimSpace(rest), ", ") {
				var threshold, n int
				if _, err := fmt.Sscanf(pair, ">=%d: %d", &threshold, &n); err != nil {
					t.Fatal(pair, err)
				}
				last.peaks[threshold] = n
			}
		}
	}
	return out
}

// find returns the file, which may have been gzipped for storing.
func (l labelled) find(t *testing.T, folder string) string {
	path := filepath.Join(folder, l.file)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return path + ".gz"
}

// tally counts events the slow way.
type tally struct {
	slots map[netip.Addr]map[int64]int
}

func (c *tally) peak(a netip.Addr) int {
	best := 0
	for slot := range c.slots[a] {
		sum := 0
		for s, n := range c.slots[a] {
			if s > slot-60 && s <= slot {
				sum += n
			}
		}
		best = max(best, sum)
	}
	return best
}

func readAll(t testing.TB, path string, o Options) (Stats, *tally) {
	t.Helper()
	r, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &tally{slots: map[netip.Addr]map[int64]int{}}
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return r.Stats(), c
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			ev := &batch[i]
			if c.slots[ev.Addr] == nil {
				c.slots[ev.Addr] = map[int64]int{}
			}
			c.slots[ev.Addr][ev.Time.Unix()/5]++
		}
	}
}

func TestLabelledCaptures(t *testing.T) {
	folders := []string{
		"pcap-ddos-stopddos", "pcap-ipv6-dos-suricata", "pcap-ppa-sanders", "pcap-scans-esnet",
		"pcap-scans-nmap-types", "pcap-slow-and-flood-doup123", "pcap-web-ndpi", "pcap-zeek-bruteforce",
	}
	for _, folder := range folders {
		path := realdata.Path(t, folder)
		labels := readLabels(t, path)
		if len(labels) < 3 {
			t.Errorf("%s: only %d files are labelled", folder, len(labels))
		}
		for _, l := range labels {
			t.Run(folder+"/"+l.file, func(t *testing.T) {
				if l.file == "nmap_ip_protocol_scan.pcap" {
					l.ip += 2 // tcpdump prints no addresses for a cut-off SCTP and a cut-off DCCP packet
				}
				stats, c := readAll(t, l.find(t, path), Options{Kinds: allKinds})
				if stats.Truncated != "" || int(stats.Packets) != l.packets || int(stats.IP) != l.ip || stats.Events != stats.IP {
					t.Errorf("got %+v, want %d packets, %d of them IP", stats, l.packets, l.ip)
				}
				six := 0
				reached := map[int]int{}
				for a := range c.slots {
					if a.Is6() {
						six++
					}
					peak := c.peak(a)
					for threshold := range l.peaks {
						if peak >= threshold {
							reached[threshold]++
						}
					}
				}
				if len(c.slots) != l.distinct || six != l.six {
					t.Errorf("got %d addresses, %d of IPv6, want %d and %d", len(c.slots), six, l.distinct, l.six)
				}
				for threshold, want := range l.peaks {
					if reached[threshold] != want {
						t.Errorf("%d addresses reach %d, want %d", reached[threshold], threshold, want)
					}
				}
			})
		}
	}
}

// TestExpectedPackets reads every file of which libpcap's count is known.
func TestExpectedPackets(t *testing.T) {
	for _, folder := range []string{"pcap-malformed-tcpdump", "pcap-format-gopacket"} {
		path := realdata.Path(t, folder)
		table, err := os.ReadFile(filepath.Join(path, "expected_packets.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if strings.HasPrefix(line, "#") || f[3] == "" {
				continue
			}
			t.Run(folder+"/"+f[0], func(t *testing.T) {
				files := []string{filepath.Join(path, f[0])}
				if _, err := os.Stat(files[0]); err != nil {
					files = []string{filepath.Join(path, "be", f[0]), filepath.Join(path, "le", f[0])}
				}
				for _, file := range files {
					if _, err := os.Stat(file); err != nil {
						continue // test300 and test301 are there in one byte order only
					}
					stats, _ := readAll(t, file, Options{Kinds: allKinds})
					if f[4] == "0" && fmt.Sprint(stats.Packets) != f[3] {
						t.Errorf("%s: %+v, want %s packets", file, stats, f[3])
					}
				}
			})
		}
	}
}
