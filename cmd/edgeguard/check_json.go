package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/crawlers/lookup"
)

// report is what check --json prints. A config with problems has no Rules.
type report struct {
	File     string    `json:"file,omitempty"` // none where there is no config
	OK       bool      `json:"ok"`
	Problems []problem `json:"problems"`
	Warnings []problem `json:"warnings"`
	Rules    []rule    `json:"rules,omitempty"`
	// Crawlers and Overlay are what the text has on standard error.
	Crawlers []string `json:"crawlers,omitempty"`
	Overlay  []string `json:"overlay,omitempty"`
}

// problem is one thing that is wrong, or worth a warning. Line and Column are from 1, and
// left out where a setting or the file as a whole is meant.
type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// rule is a rule as it is in effect, without what operators changed while the node ran.
type rule struct {
	Name      string `json:"name"`
	Threshold uint32 `json:"threshold"`
	Guard     string `json:"guard"`
	Limit     uint32 `json:"limit"`
	Window    int    `json:"window_seconds"`
	Action    string `json:"action"`
	BlockFor  int    `json:"block_for_seconds,omitempty"` // of the first block
}

// printJSON prints one object. It ends with the exit code of the text.
func printJSON(e *command.Env, file string) error {
	name, err := command.FindConfig(file)
	if err != nil {
		return err
	}
	r := report{File: name, Problems: []problem{}, Warnings: []problem{}}
	c := config.Default()
	if name != "" {
		c, err = load(name)
	}
	if err == nil {
		err = r.describe(c)
	}
	r.Problems = append(r.Problems, problemsOf(cmp.Or(name, command.DefaultConfig), err)...)
	r.OK = err == nil
	if err := json.NewEncoder(e.Stdout).Encode(r); err != nil || r.OK {
		return err
	}
	return command.Ended{Code: 1}
}

// describe fills in what a config without errors comes to.
func (r *report) describe(c *config.Config) (err error) {
	r.Warnings = append(r.Warnings, placed(c.Warnings)...)
	for _, text := range doctor.OpenSecrets(c) {
		r.Warnings = append(r.Warnings, problem{File: r.File, Message: text})
	}
	for i := range c.Rules.Rules {
		one := &c.Rules.Rules[i]
		shown := rule{
			Name: one.Name, Threshold: one.Threshold, Guard: one.Guard.String(), Limit: one.Limit, Action: one.Action.String(),
			Window: seconds(c.Rules.Meters[one.Meter].Window),
		}
		if one.Action == edgeguard.ActionBlock {
			shown.BlockFor = seconds(one.BlockFor)
		}
		r.Rules = append(r.Rules, shown)
	}
	r.Overlay = overlaidOn(c)
	r.Crawlers, err = lookup.Describe(c.Crawlers)
	return err
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// problemsOf returns each problem that an error consists of.
func problemsOf(file string, err error) []problem {
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
	var found []problem
	for _, one := range all {
		found = append(found, problem{File: file, Message: one.Error()})
	}
	return found
}

func placed(problems []yaml.Fault) []problem {
	var all []problem
	for _, p := range problems {
		all = append(all, problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Text, Fix: p.Fix})
	}
	return all
}
