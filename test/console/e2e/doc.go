// Package e2e opens the console of real nodes in a real browser. It is a module of
// its own, so that the product does not depend on a browser's driver.
package e2e
