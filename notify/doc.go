// Package notify posts to people what a node tells of itself. A [Desk] has the messages of a
// webhook, [AlertBook] those of an Alertmanager, and a [Sender] delivers them.
package notify
