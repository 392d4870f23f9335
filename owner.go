package edgeguard

import "strings"

// ownerMark begins the Rule of a block that another program owns. It ends in a
// space, so that no rule can have such a name. The owner is in the Rule and not in a
// field of its own: so these blocks are kept, bounded and sent on like a rule's.
const ownerMark = "owner "

// MaxOwner is the longest name of an owner, in bytes.
const MaxOwner = 32

// OwnerRule returns the Rule of the blocks of an owner.
func OwnerRule(owner string) string { return ownerMark + owner }

// Owner returns the owner whose blocks have this Rule, empty for a rule's or an
// operator's.
func Owner(rule string) string {
	owner, _ := strings.CutPrefix(rule, ownerMark)
	if owner == rule {
		return ""
	}
	return owner
}

// ValidOwner reports whether a text is a name of an owner: letters, digits, dots,
// hyphens and underscores of ASCII.
func ValidOwner(text string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	return text != "" && len(text) <= MaxOwner && !strings.ContainsFunc(text, odd)
}

// Forgets reports whether the counts of the prefix begin again with this record: an
// operator's unblock does that. The end of an allowance does not, nor does an owner
// that takes back its own block.
func (b *Block) Forgets() bool { return b.Lifted && !b.Allow && Owner(b.Rule) == "" }
