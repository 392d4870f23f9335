package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard/config"
	"edgeguard/config/yaml"
)

// trialFlags are those of `serve` that make a trial: a node that reads no file and has no
// state folder, so that it shares nothing with another one of the host. The zero value
// makes none.
type trialFlags struct {
	listen, admin []string
	threshold     uint32
}

// given reports whether a flag was given.
func (f *trialFlags) given() bool { return len(f.listen) > 0 || len(f.admin) > 0 || f.threshold > 0 }

// config returns the built-in config with these flags on top, and without a state
// folder. They are checked as the same lines of a file.
func (f *trialFlags) config() (*config.Config, error) {
	for _, address := range slices.Concat(f.listen, f.admin) {
		if strings.HasSuffix(address, ":0") {
			return nil, fmt.Errorf("%.60q has no port: choose one that is free, such as 127.0.0.1:9181", address)
		}
	}
	text := "mode: enforce\n" // as without flags; a text without a key would be an error
	if len(f.listen)+len(f.admin) > 0 {
		text = "listen: {" + listenersYAML("auth", f.listen) + listenersYAML("admin", f.admin) + "}\n"
	}
	if f.threshold > 0 {
		text += fmt.Sprintf("rules: [{name: default, threshold: %d}]\n", f.threshold)
	}
	c, err := config.Parse("flags", []byte(text))
	if err != nil {
		return nil, nameFlags(err)
	}
	c.State = ""
	return c, nil
}

// listenersYAML writes a section's field; nothing for the default.
func listenersYAML(name string, addresses []string) string {
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = yaml.EscapeVariables(address) // the shell has expanded it
	}
	if len(texts) == 0 {
		return ""
	}
	return name + ": " + yaml.Flow(texts) + ", "
}

// nameFlags names the flag in place of a line of a file.
func nameFlags(err error) error {
	var all *config.Errors
	if !errors.As(err, &all) {
		return err
	}
	var texts []error
	for _, p := range all.Problems {
		flag := "--threshold"
		switch {
		case strings.HasPrefix(p.Path, "listen.auth"):
			flag = "--listen"
		case strings.HasPrefix(p.Path, "listen.admin"):
			flag = "--admin"
		}
		texts = append(texts, fmt.Errorf("%s: %s; %s", flag, p.Text, p.Fix))
	}
	return errors.Join(texts...)
}
