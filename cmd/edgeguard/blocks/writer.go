package blocks

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
)

// fileWriter writes a file of blocks, of which [readFile] reads the same entries; without their
// ends, owners and reasons where the format is Plain.
type fileWriter struct {
	to    *bufio.Writer
	table *csv.Writer
	json  *json.Encoder
}

// newFileWriter returns a writer of a format. Its errors are those of Close.
func newFileWriter(to io.Writer, format fileFormat) *fileWriter {
	w := &fileWriter{to: bufio.NewWriter(to)}
	switch format {
	case csvFile:
		w.table = csv.NewWriter(w.to)
		_ = w.table.Write(writtenColumns)
	case jsonFile:
		w.json = json.NewEncoder(w.to)
	}
	return w
}

// Write adds an entry.
func (w *fileWriter) Write(e fileEntry) error {
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
func (w *fileWriter) Close() error {
	if w.table != nil {
		w.table.Flush()
		if err := w.table.Error(); err != nil {
			return err
		}
	}
	return w.to.Flush()
}
