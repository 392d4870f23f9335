package notify

import (
	"strings"

	"edgeguard/internal/safetext"
)

// MostText is the longest text of a message, in bytes.
const MostText = 700

// harmful are the characters by which a chat mentions people or shows a link under
// another name, each with one that looks like it. Slack and Mattermost read <!channel>
// and <http://a|b>; Discord @everyone, <@&1> and [a](http://b); Matrix @room.
var harmful = strings.NewReplacer(
	"<", "‹", ">", "›", "@", "＠", "](", "] (",
	"://", ":\u2215\u2215", // no chat makes a link of it, and people read it
	"`", "'",
)

// harmless returns a text for people as any chat may show it: cut, without control
// characters, and with nothing that mentions anybody or is a link. Clients write parts
// of alarms, such as a key's host, and other programs the reasons of blocks. Escaping by
// each chat's rules was rejected: a template that forgets it would have every client
// wake all readers of a channel.
func harmless(text string) string {
	if len(text) > MostText {
		text = safetext.Cut(text, MostText-len("…"))
	}
	return harmful.Replace(safetext.Strip(text))
}
