// Package smallfile reads files that operators write for edgeguard, such as secrets, within a
// bound. What is no file is refused: a pipe would be waited for, also by whoever waits for
// the reader to end.
package smallfile

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// mostWord is the most bytes of a file with one word.
const mostWord = 64 << 10

// Read returns what a file has. The error says that it is not a file, or has more than most
// bytes; otherwise it is that of os.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return content, err
}

// Word returns the secret that a file has: one word of visible ASCII characters, as a header
// may have it. White space around it does not count. No error has any of it.
func Word(path string) (string, error) {
	content, err := Read(path, mostWord)
	if err != nil {
		return "", err
	}
	word := strings.TrimSpace(string(content))
	switch {
	case word == "":
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s is not one secret: it has more than one word, or characters that no secret has", path)
	}
	return word, nil
}
