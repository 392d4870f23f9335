package yaml

import (
	"bytes"
	"slices"
	"strings"
)

// TopSection returns the lines of a top-level key, and nothing where no line begins with
// it. It needs no valid text around them.
func TopSection(data []byte, key string) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	begin := slices.IndexFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte(key+":")) })
	if begin < 0 {
		return nil
	}
	end := begin + 1
	for end < len(lines) && (len(lines[end]) == 0 || strings.IndexByte(" \t\r\n#]}", lines[end][0]) >= 0) {
		end++
	}
	return bytes.Join(lines[begin:end], nil)
}
