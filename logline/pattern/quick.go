package pattern

import (
	"edgeguard/logline/scan"
)

// quickSteps reports how many of a program's first steps quickHead does at
// once: those of
//
//	%h %l %u %t "%r"␠ and $remote_addr - $remote_user [$time_local] "$request"␠
//
// with which nearly every log begins, or 0.
func quickSteps(p *program) int {
	var apache = []step{
		{what: scan.PartAddr, how: howShape, lit: " "},
		{what: scan.PartNone, how: howToken, lit: " "},
		{what: scan.PartNone, how: howFree, lit: " ["},
		{what: whatCLF, how: howShape, lit: `] "`},
		{what: scan.PartRequest, how: howHard, lit: `" `},
	}
	nginx := append([]step{{what: scan.PartAddr, how: howShape, lit: " - "}}, apache[2:]...)
	for _, want := range [][]step{apache, nginx} {
		if p.prefix == "" && beginsWith(p.steps, want) {
			return len(want)
		}
	}
	return 0
}

func beginsWith(steps, want []step) bool {
	if len(steps) < len(want) {
		return false
	}
	for i, w := range want {
		if s := &steps[i]; s.what != w.what || s.how != w.how || s.lit != w.lit || s.again {
			return false
		}
	}
	return true
}

// quickHead does the steps that quickSteps found, for a line whose ident is a
// dash and whose user has no blank in it. Where it fails nothing is lost: the
// steps are then done one by one. Together they take half as long as apart.
func (p *parser) quickHead(line []byte) (pos int, ok bool) {
	addr, pos, ok := scan.IPv4At(line)
	if !ok || !scan.HasPrefix(line[pos:], " - ") {
		return 0, false
	}
	pos += 3
	for pos < len(line) && line[pos] != ' ' {
		if line[pos] == '"' {
			return 0, false
		}
		pos++
	}
	if !scan.HasPrefix(line[pos:], " [") {
		return 0, false
	}
	at, n, ok := p.Clock.CLF(line[pos+2:])
	if pos += 2 + n; !ok || !scan.HasPrefix(line[pos:], `] "`) {
		return 0, false
	}
	pos += 3
	end := scan.QuoteEnd(line, pos)
	if end < 0 || end+1 >= len(line) || line[end+1] != ' ' {
		return 0, false
	}
	p.f.Addr, p.f.At, p.f.Request = addr, at, line[pos:end]
	return end + 2, true
}

// isQuickTail reports whether quickTail reads the whole program: that of combinedTail.
func isQuickTail(p *program) bool {
	return p.prefix == " " && len(p.steps) == 3 && beginsWith(p.steps, []step{
		{what: scan.PartNone, how: howToken, lit: ` "`},
		{what: scan.PartReferer, how: howHard, lit: `" "`},
		{what: scan.PartAgent, how: howHard, lit: `"`},
	})
}

// quickTail reads the size, referer and agent of combinedTail together. Where it fails
// nothing is lost.
func (p *parser) quickTail(line []byte) (pos int, ok bool) {
	size := indexShort(line[1:min(len(line), maxToken)], " ")
	if size < 0 || !scan.HasPrefix(line[1+size:], ` "`) {
		return 0, false
	}
	referer := size + 3
	end := scan.QuoteEnd(line, referer)
	if end < 0 || !scan.HasPrefix(line[end:], `" "`) {
		return 0, false
	}
	if pos = scan.QuoteEnd(line, end+3); pos < 0 {
		return 0, false
	}
	p.f.SetReferer(line[referer:end])
	p.f.SetAgent(line[end+3 : pos])
	return pos + 1, true
}
