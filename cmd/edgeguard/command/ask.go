package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrNoAnswer is that nobody answered a question: there was no terminal, or its end.
var ErrNoAnswer = errors.New("no answer")

// Ask asks a question that is answered by yes or no, and by no if by nothing.
func Ask(out io.Writer, answers *bufio.Reader, question string) (yes bool, err error) {
	fmt.Fprintf(out, "%s [y/N] ", question)
	answer, err := answers.ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(out)
		return false, ErrNoAnswer
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), nil
}

// Agreed asks for a yes on the terminal before something is changed. Where there is no terminal, a
// flag has to say it.
func (e *Env) Agreed(question string) error {
	yes, err := false, ErrNoAnswer
	if e.Raw != nil && !e.JSON {
		yes, err = Ask(e.Stdout, bufio.NewReader(e.Stdin), question)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w, so nothing was changed: --yes does it without a question", err)
	case !yes:
		return errors.New("nothing was changed")
	}
	return nil
}
