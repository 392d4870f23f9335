// Package evidence collects what each address did beside its count: whether it
// loads pages as browsers do, reads as crawlers do, is logged in, guesses
// passwords, or asks for what is not there. [Book.Judge] says what that is
// evidence of, and why, in words.
//
// It is collected in the pass that counts, from the events alone. Nothing of it
// decides about an address: it says which thresholds are worth proposing. Whoever
// writes a log's lines can imitate either side, so a judgement is never more than
// a reason to look.
//
// A [Book] is bounded: see [MaxRecords]. It is not safe for concurrent use.
package evidence
