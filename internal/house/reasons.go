package main

// reasons says, for each package of more than a thousand lines, why it is one.
var reasons = map[string]string{}
