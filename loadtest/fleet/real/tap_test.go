package real

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"testing"
)

// What passes is unchanged, and counted by kind.
func TestTap(t *testing.T) {
	push := appendWords(appendHead(nil, 9), "fcall", "edgeguard1_push", "3", "clock", "a", "b", "header", "12345678\x00\x01", "12345678\x00\x00")
	read := appendWords(appendHead(nil, 2), "XREAD", "s")
	split := appendWords(appendHead(nil, 5), "fcall_ro", "edgeguard1_split", "1", "a", "7")
	answers := []string{"$4\r\nab\r\n\r\n", "*-1\r\n", "*2\r\n$1\r\nx\r\n*1\r\n:3\r\n", "-EDGEGUARD no\r\n"}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var sent []byte
	for _, c := range [][]byte{push, read, split, push} {
		sent = append(sent, c...)
	}
	got := make(chan []byte, 1)
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		all := make([]byte, len(sent))
		_, _ = io.ReadFull(c, all)
		for _, a := range answers {
			_, _ = io.WriteString(c, a)
		}
		got <- all
	}()
	socket := filepath.Join(t.TempDir(), "s")
	var l ledger
	tap, err := newTap(socket, server.Addr().String(), &l)
	if err != nil {
		t.Fatal(err)
	}
	defer tap.end()
	client, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write(sent); err != nil {
		t.Fatal(err)
	}
	back, _ := io.ReadAll(client)
	if all := <-got; !bytes.Equal(all, sent) {
		t.Errorf("sent %q, arrived %q", sent, all)
	}
	var want int
	for _, a := range answers {
		want += len(a)
	}
	if len(back) != want {
		t.Errorf("%d bytes of answers came of %d: %q", len(back), want, back)
	}
	counts := map[string]Count{
		"push":  {Calls: 2, Keys: 4, Compared: 2, In: uint64(2 * len(push)), Out: uint64(len(answers[0]) + len(answers[3]))},
		"xread": {Calls: 1, In: uint64(len(read)), Out: uint64(len(answers[1]))},
		"split": {Calls: 1, Keys: 1, In: uint64(len(split)), Out: uint64(len(answers[2]))},
	}
	if all := l.since(nil); !reflect.DeepEqual(all, counts) {
		t.Errorf("counted %+v, want %+v", all, counts)
	}
}

// Whatever is read, what is passed on is what came, and its end is an error.
func FuzzTap(f *testing.F) {
	f.Add([]byte("*2\r\n$5\r\nfcall\r\n$1\r\na\r\n"))
	f.Add([]byte("*3\r\n$5\r\nfcall\r\n$2\r\n_s\r\n$2\r\n-1\r\n"))
	f.Add([]byte("*-1\r\n$-1\r\n:7\r\n+OK\r\n-no\r\n"))
	f.Add([]byte("*9999999999\r\n$99999999999\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func(*bufio.Reader, []byte) ([]byte, error){
			readAnswer,
			func(r *bufio.Reader, raw []byte) ([]byte, error) {
				words, raw, err := readCommand(r, raw)
				if err == nil {
					_, _ = judge(words)
				}
				return raw, err
			},
		} {
			var raw []byte
			var err error
			for r := bufio.NewReader(bytes.NewReader(text)); err == nil; {
				raw, err = read(r, raw)
				if err == nil && !bytes.HasPrefix(text, raw) {
					t.Fatalf("%q passes on %q", text, raw)
				}
			}
		}
	})
}
