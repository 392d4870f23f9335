package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/crawlers/lookup"
)

// checkReport is what check --json prints. A config with problems has no Rules.
type checkReport struct {
	File     string         `json:"file,omitempty"` // none where there is no config
	OK       bool           `json:"ok"`
	Pieces   []config.Piece `json:"pieces,omitempty"`
	Problems []checkProblem `json:"problems"`
	Warnings []checkProblem `json:"warnings"`
	Rules    []checkRule    `json:"rules,omitempty"`
	// Crawlers and Overlay are what the text has on standard error.
	Crawlers []string `json:"crawlers,omitempty"`
	Overlay  []string `json:"overlay,omitempty"`
	// Mode is what it does, and what refuses.
	Mode string `json:"mode,omitempty"`
}

// checkProblem is one thing that is wrong, or worth a warning. Line and Column are from 1, and
// left out where a setting or the file as a whole is meant.
type checkProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// checkRule is a rule as it is in effect, without what operators changed while the node ran.
type checkRule struct {
	Name      string `json:"name"`
	Threshold uint32 `json:"threshold"`
	Learned   bool   `json:"learned,omitempty"` // by each node: these are the greatest
	Guard     string `json:"guard"`
	Limit     uint32 `json:"limit"`
	Window    int    `json:"window_seconds"`
	Action    string `json:"action"`
	BlockFor  int    `json:"block_for_seconds,omitempty"` // of the first block
}

// printCheckJSON prints one object. It ends with the exit code of the text.
func printCheckJSON(ctx context.Context, e *command.Env, file string) error {
	name, err := command.FindConfig(file)
	if err != nil {
		return err
	}
	r := checkReport{File: name, Problems: []checkProblem{}, Warnings: []checkProblem{}}
	c := config.Default()
	if name != "" {
		c, err = loadChecked(name)
	}
	if err == nil {
		err = r.describe(ctx, c)
	}
	r.Problems = append(r.Problems, problemsOf(cmp.Or(name, command.DefaultConfig), err)...)
	r.OK = err == nil
	if err := e.PrintJSON(r); err != nil || r.OK {
		return err
	}
	return command.Ended{Code: 1}
}

// describe fills in what a config without errors comes to.
func (r *checkReport) describe(ctx context.Context, c *config.Config) (err error) {
	r.Warnings = append(r.Warnings, placed(c.Warnings)...)
	for _, text := range slices.Concat(doctor.OpenSecrets(c), doctor.OldHosts(ctx, c), doctor.FrontDoors(c)) {
		r.Warnings = append(r.Warnings, checkProblem{File: r.File, Message: text})
	}
	for i := range c.Rules.Rules {
		one := &c.Rules.Rules[i]
		shown := checkRule{
			Name: one.Name, Threshold: one.Threshold, Guard: one.Guard.String(), Limit: one.Limit, Action: one.Action.String(),
			Window: inSeconds(c.Rules.Meters[one.Meter].Window), Learned: one.Learned,
		}
		if one.Pending {
			shown.Limit = one.Guard.Limit(one.Threshold) // the greatest that it can learn
		}
		if one.Action == edgeguard.ActionBlock {
			shown.BlockFor = inSeconds(one.BlockFor)
		}
		r.Rules = append(r.Rules, shown)
	}
	r.Pieces, r.Mode, r.Overlay = c.Pieces, c.Refuses(), overlaidOn(c)
	r.Crawlers, err = lookup.Describe(c.Crawlers)
	return err
}

func inSeconds(d time.Duration) int { return int(d / time.Second) }

// problemsOf returns each problem that an error consists of.
func problemsOf(file string, err error) []checkProblem {
	if err == nil {
		return nil
	}
	if of := new(config.Errors); errors.As(err, &of) {
		return placed(of.Problems)
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var found []checkProblem
	for _, one := range all {
		found = append(found, checkProblem{File: file, Message: one.Error()})
	}
	return found
}

func placed(problems []yaml.Fault) []checkProblem {
	var all []checkProblem
	for _, p := range problems {
		all = append(all, checkProblem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Text, Fix: p.Fix})
	}
	return all
}
