package recipes

// This file runs what `edgeguard snippets` prints: a real node with the printed
// lines of its config, the real server or packet filter with the printed lines of its
// own, and the commands of the printed units.
