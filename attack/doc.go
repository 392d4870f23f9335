// Package attack makes attacks out of crossings: what an operator sees as one thing, and acts on
// as one.
//
// A crossing is a rule, a network (a /24 or /48) and a time. The attacks, which are rows, are a
// function of the set of crossings alone, so that all nodes that know the same ones have the same
// rows, in whatever order they came and how often:
//
//  1. A crossing reaches as far as a quarter of an hour. Of a block it reaches that much beyond the
//     block's end, which counts for an hour at most. A crossing of the same rule and network within
//     the reach of those before belongs to the same run.
//  2. Where the runs of ten networks begin within ten minutes by one rule, they are a group. Runs of
//     the rule that begin within the reach of the group's join it.
//  3. A network's other runs, of all rules, are a row of it as long as each begins within the reach
//     of those before.
//  4. What has gone on for half a day at midnight UTC ends there, and what goes on begins another:
//     so no attack hides behind one that is kept alive, and the crossings of [Memory] are enough to know
//     the rows of now.
//  5. A key without an address has runs of its own, each of which is a row: it joins nothing.
//
// An ID is the rule, network and time of the first crossing. That of a run that became part of
// another row leads to that row, and so does another node's.
//
// What was refused is added to the rows and decides nothing of them, since each node has refused
// something else.
package attack
