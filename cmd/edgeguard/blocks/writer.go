package blocks

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
)

// Writer writes a file of blocks, of which [Read] reads the same entries; without their
// ends, owners and reasons where the format is Plain.
type Writer struct {
	to    *bufio.Writer
	table *csv.Writer
	json  *json.Encoder
}

// newWriter returns a writer of a format. Its errors are those of Close.
func newWriter(to io.Writer, format Format) *Writer {
	w := &Writer{to: bufio.NewWriter(to)}
	switch format {
	case CSV:
		w.table = csv.NewWriter(w.to)
		_ = w.table.Write(written)
	case JSON:
		w.json = json.NewEncoder(w.to)
	}
	return w
}

// Write adds an entry.
func (w *Writer) Write(e Entry) error {
	switch {
	case w.table != nil:
		return w.table.Write(e.cells())
	case w.json != nil:
		return w.json.Encode(e)
	}
	_, err := w.to.WriteString(e.Prefix + "\n")
	return err
}

// Close writes the rest.
func (w *Writer) Close() error {
	if w.table != nil {
		w.table.Flush()
		if err := w.table.Error(); err != nil {
			return err
		}
	}
	return w.to.Flush()
}
