package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"edgeguard/detector"
	"edgeguard/loadtest/scenes"
)

// sparedLimits are the bounds that are measured of what a client is spared in a day.
var sparedLimits = []int{5, 10, 20, 40, 60, 80}

// sparedScenes are the outages in which nobody but one in a hundred may be blocked.
var sparedScenes = []string{"key-rotated", "deploy", "ingress", "crash-loop", "crash-loop-pages"}

// printGuard prints what the guard costs and spares.
func printGuard(ctx context.Context, out io.Writer, r ruleset, seeds int) error {
	if err := printPrice(ctx, out, r); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := printBeside(ctx, out, r); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return printSpared(ctx, out, r, seeds)
}

// printSpared prints whom a set of rules blocks in outages, by how many limits of failures a
// client is spared in a day: addresses stopped, and the share of their requests that is refused.
func printSpared(ctx context.Context, out io.Writer, r ruleset, seeds int) error {
	table(out, append([]string{"limits a day (" + r.name + ")"}, sparedScenes...)...)
	for _, most := range sparedLimits {
		r.spared = most
		fmt.Fprintf(out, "| %d%s |", most, map[int]string{detector.SparedLimits: ", as built"}[most])
		for _, name := range sparedScenes {
			v, err := visitorsOf(ctx, r, sceneOf(name), seeds)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, " %d of %d, %.2g %% |", v.stopped(), v.addresses, 100*float64(v.requests-v.letIn)/float64(v.requests))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// sceneOf returns a scene by its name.
func sceneOf(name string) scenes.Scene {
	all := scenes.Scenes()
	return all[slices.IndexFunc(all, func(s scenes.Scene) bool { return s.Name == name })]
}

// visitorsOf returns what a set of rules does to the visitors of a scene, of all seeds together.
func visitorsOf(ctx context.Context, r ruleset, scene scenes.Scene, seeds int) (group, error) {
	figures := sceneFigures{scene, group{rules: map[string]effect{}}, group{rules: map[string]effect{}}}
	for seed := range seeds {
		traffic := scene.Play(uint64(seed) + 1)
		events, err := parseScene(traffic.Log)
		if err != nil {
			return group{}, err
		}
		o, err := judge(ctx, r, &memory{events})
		if err != nil {
			return group{}, err
		}
		figures.count(o, traffic.Attackers)
	}
	return figures.visitors, nil
}
