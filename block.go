package edgeguard

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Action is what is done about an event. A verdict is ActionPass, ActionShadow
// or ActionDeny; a rule's is ActionShadow, ActionDeny or ActionBlock; a
// crossing's is any but ActionPass.
type Action uint8

// The actions, from the mildest to the strongest.
const (
	ActionPass   Action = iota // let through
	ActionAlarm                // only report: the evidence can be forged
	ActionShadow               // only report: the rule or the mode says so
	ActionDeny                 // refuse the events that match, while the count is over
	ActionBlock                // refuse the whole prefix for a while
)

var actionNames = [...]string{"pass", "alarm", "shadow", "deny", "block"}

// String returns the word used in the config, in JSON and in the log.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Verdict is the answer to one event.
type Verdict struct {
	// Action is Pass, Shadow or Deny.
	Action Action
	// Unenforced says that it is Shadow only because mode monitor refuses nothing.
	Unenforced bool
	// Rule is the name of the rule that decided, empty for a pass.
	Rule string
	// Reason says in a few words why ("over limit", "blocked", "allowlist").
	Reason string
	// Count is the key's cost in the window, this event included; Limit what
	// it was compared with. Both are 0 where no count decided.
	Count, Limit uint32
	// RetryAfter is how long until one more such event would pass, if nothing
	// else came: until the count has fallen far enough and the block has ended,
	// whichever is later. It is 0 for a pass, and less exact in a batch.
	RetryAfter time.Duration
}

// Decider answers one event at the instant now. Inline sensors pass its verdict
// to their client.
type Decider func(now time.Time, event *Event) Verdict

// The widest prefixes, in bits, that are blocked or allowed without force.
const (
	WidestV4 = 16
	WidestV6 = 32
)

// Forever is the Until of a record that lasts until it is taken back: the last
// year whose nanoseconds since 1970 fit into 63 bits, as the fleet's records need.
var Forever = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// ManualRule is the Rule of blocks and allowances by operators. No rule may have
// this name.
const ManualRule = "manual"

// Block is a prefix that is denied until a time, or that may not be denied
// (Allow). One record serves for both, so that a prefix is only one of them and
// the later change wins on every node.
type Block struct {
	Prefix netip.Prefix
	// Rule is the rule that made it, [ManualRule] for an operator's, and for another
	// program's what [OwnerRule] returns.
	Rule   string
	Reason string
	Origin string // the node that made it
	// Count and Limit are those of the crossing.
	Count, Limit uint32
	// Since is when it began; of a tombstone, the moment of the lift.
	Since, Until time.Time
	// Proxied says that the prefix was learned from behind a trusted proxy: the
	// kernel never sees it as a source, so no kernel enforcer may block it.
	Proxied bool
	// Allow says that this is an allowance: no address in the prefix is blocked
	// while it is in force.
	Allow bool
	// Lifted marks a tombstone: the block or allowance was taken back, and older
	// records must not bring it back.
	Lifted bool
	// Batch is the change of many that made it, 0 if none did; Count and Limit are 0 then, or it is.
	Batch BatchID
	// Version orders changes of one prefix between nodes: the greater wins.
	Version uint64
}

// Crossing is the moment at which a key's count passed a rule's limit, with
// what came of it.
type Crossing struct {
	Time time.Time
	Node string
	Rule string
	Key  Key
	// Action is Block, Deny or Shadow as the rule says, or Alarm where the
	// evidence can be forged. It is Deny, and not Block, where Stands is set.
	Action                  Action
	Count, Limit, Threshold uint32
	// Fleet says that Count is what several nodes counted, added up.
	Fleet bool
	// Wide is 56 or 48 where Key.Prefix is an IPv6 network of that size around
	// keys of the rule, and Limit what the rule allows such a network; else 0.
	Wide uint8
	// Until is when the block ends; zero unless Action is Block or Stands is set.
	Until time.Time
	// Excused says that nothing came of it because the site failed at that moment: Count is
	// what the key would have counted. Action is Shadow.
	Excused bool
	// Again says that a key without an address was told to be over the limit, and still is.
	Again bool
	// FrontDoor says whose address the key is if nothing came of it because that stands before the
	// site: "private", or a CDN's name. Action is Alarm then.
	FrontDoor string
	// Stands is the rule of a block that was in force already and stays, because
	// it is as long or an operator's; otherwise empty.
	Stands string
}

// Evidence is what a key had counted when a rule blocked it. The counts move on,
// so that later nothing else shows why.
type Evidence struct {
	Prefix netip.Prefix // of the block
	// With is the key's attributes as shown to people; a client wrote some of it.
	With         string
	Rule, Node   string    // the node is the one that made the block
	Since, Until time.Time // of the block
	// Count, Limit and Threshold are those of the crossing; Fleet says that Count
	// is what several nodes counted, added up.
	Count, Limit, Threshold uint32
	Fleet                   bool
	// MayBeCustomer says that the address was served some pages of the site before, and that the rule is
	// of logins.
	MayBeCustomer bool
	// Slots is what this node counted in the window that ended at Since, the
	// oldest first; Width is the length of a slot in seconds.
	Slots [Slots]uint16
	Width uint32
	// Split says which node counted how much of Count, the greatest first, where
	// the fleet counted and the nodes' counts could be read.
	Split []Part
}

// Part is one node's part of a count.
type Part struct {
	Node  string
	Count uint32
}

// Alarm is something an operator should look at.
type Alarm struct {
	Time       time.Time
	Kind, Text string
	About      string // of what kind it is one: a log, a listener
	// Lasts says that it has an end, Again that it was told since it began, Same that it then said the
	// same, and Over that it has ended.
	Lasts, Again, Same, Over bool
}

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

// SiteFailed is the reason of the tombstones by which a node takes back what its failing
// site made.
const SiteFailed = "the site failed"

// Pardons reports whether a record that forgets does so for the counts alone of rules that
// go by the status: a node whose site fails knows nothing of the others.
func (b *Block) Pardons() bool {
	return b.Forgets() && b.Rule != ManualRule && b.Reason == SiteFailed
}
