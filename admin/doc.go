// Package admin is what a running node says to those who run it.
//
// It has the types of the API's JSON, by which the command reads them again too;
// [View], which makes the pages of it for the API and the console; [Changes], which is what
// operators change by hand; and [Events], the last things that happened.
// docs/api.md is the API's reference.
//
// It decides nothing and keeps nothing but the last events: all it knows comes
// from a [Reader], and what it changes goes through an [Operator]; package node
// implements both. Package server answers by it.
package admin
