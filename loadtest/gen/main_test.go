package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		args  string
		form  string // a pattern that the output begins with
		wrong string // part of the error, empty for none
	}{
		{"log -lines 3 -addresses 2 -seed 4", `\d+\.\d+\.\d+\.\d+ - - \[`, ""},
		{"log --lines 3", `.+ - - \[`, ""},
		{"pcap -packets 2", `\xd4\xc3\xb2\xa1`, ""},
		{"", "", "usage"},
		{"sing", "", `"sing" is none of log, pcap`},
		{"log -packets 3", "", "not defined: -packets"},
		{"log file", "", `"file" is not a flag`},
		{"log -lines 0", "", "-lines is 0, it must be at least 1"},
		{"pcap -sources -1", "", "-sources is -1"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var out bytes.Buffer
			err := run(strings.Fields(tt.args), &out, io.Discard)
			if tt.wrong == "" {
				if err != nil || !regexp.MustCompile("^"+tt.form).Match(latin1(out.Bytes())) {
					t.Fatalf("wrote %.40q, error %v", out.Bytes(), err)
				}
				return
			}
			if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("error %v, want one about usage that says %q", err, tt.wrong)
			}
			if out.Len() > 0 {
				t.Errorf("wrote %d bytes all the same", out.Len())
			}
		})
	}
}

// latin1 returns each byte as the character of that number, so that a pattern
// can name bytes that are no UTF-8.
func latin1(text []byte) []byte {
	var runes []rune
	for _, b := range text {
		runes = append(runes, rune(b))
	}
	return []byte(string(runes))
}
