// Package haproxy holds what an edgeguard beside a HAProxy shares with it, whichever protocol
// they speak: who may connect ([Door]), which rules HAProxy counts ([Column]), which keys of
// its stick tables a block becomes ([BlockPlan]), how an integer is written ([AppendVarint]).
// Packages peers and spop have the protocols.
package haproxy
