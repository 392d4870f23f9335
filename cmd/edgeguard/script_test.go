package main

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/program"
)

// TestMain makes the scripts' command edgeguard this very program.
func TestMain(m *testing.M) {
	testscript.Main(cleaned{m}, map[string]func(){
		"edgeguard": func() { os.Exit(run(context.Background(), environment(), os.Args[1:])) },
		"stranger":  stranger,
		"knock":     knock,
	})
}

// cleaned removes, after the tests, the program that these built.
type cleaned struct{ *testing.M }

func (c cleaned) Run() int {
	defer program.Clean()
	return c.M.Run()
}

// TestScripts runs the command as its users do: each script in testdata is a
// session at the prompt.
func TestScripts(t *testing.T) {
	sample, err := filepath.Abs("../../docs/sample/attack.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("SAMPLE", sample)
			return writeCaptures(e.WorkDir)
		},
		RequireExplicitExec: true,
		// configured holds on a host that has a config of its own.
		Condition: func(name string) (bool, error) {
			found, err := command.FindConfig("")
			return name == "configured" && found != "", err
		},
	})
}

// writeCaptures writes flood.pcap, five UDP packets from 192.0.2.1 to
// 198.51.100.1 within five seconds, and cut.pcap, the same without its last
// ten bytes.
func writeCaptures(dir string) error {
	le := binary.LittleEndian
	pcap := le.AppendUint32(nil, 0xa1b2c3d4)
	pcap = append(pcap, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	pcap = le.AppendUint32(pcap, 65535)
	pcap = le.AppendUint32(pcap, 101) // raw IP
	packet := []byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1, 0x30, 0x39, 0, 53, 0, 8, 0, 0}
	for i := range uint32(5) {
		pcap = le.AppendUint32(pcap, 1_700_000_000+i)
		pcap = le.AppendUint32(pcap, 0)
		pcap = le.AppendUint32(pcap, uint32(len(packet)))
		pcap = le.AppendUint32(pcap, uint32(len(packet)))
		pcap = append(pcap, packet...)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "flood.pcap"), pcap, 0o644),
		os.WriteFile(filepath.Join(dir, "cut.pcap"), pcap[:len(pcap)-10], 0o644))
}
