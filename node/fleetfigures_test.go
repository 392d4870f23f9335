package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/redistest"
)

// figuresOf returns the nodes of the fleet as the node's API has them.
func (u *underTest) figuresOf() map[string]admin.FleetNode {
	u.t.Helper()
	status, body := u.get("/api/v1/fleet")
	var detail admin.FleetDetail
	if status != 200 || json.Unmarshal([]byte(body), &detail) != nil {
		u.t.Fatalf("%d %s", status, body)
	}
	byName := make(map[string]admin.FleetNode)
	for _, n := range detail.Nodes {
		byName[n.Name] = n
	}
	return byName
}

// The API of one node has the figures of the other while somebody asks, with the rules
// that differ. Of a node that has ended it has none.
func TestFleetFigures(t *testing.T) {
	t.Parallel()
	other := strings.Replace(fleetOfTwo, "threshold: 20,", "threshold: 21,", 1) + "mode: monitor\n"
	server := redistest.Start(t, redistest.Options{})
	a, b := startFleetOf(t, server, fleetOfTwo, other)
	keys, err := server.Client().Keys(t.Context(), "*figures*").Result()
	if err != nil || len(keys) != 0 {
		t.Fatalf("before anybody asked: %v, %v", keys, err)
	}
	for i := range 3 {
		addr := fmt.Sprintf("203.0.113.%d", 40+i)
		for range 25 {
			a.request(addr)
		}
	}
	var nodes map[string]admin.FleetNode
	var seen *admin.FleetFigures
	a.eventually("the other node's figures, and its own blocks on both", func() bool {
		nodes, seen = a.figuresOf(), b.figuresOf()["edge-a"].Figures
		own, theirs := nodes["edge-a"].Figures, nodes["edge-b"].Figures
		return own != nil && theirs != nil && own.Blocks >= 3 && own.Refused > 0 && seen != nil && seen.Blocks >= 3 && seen.Refused > 0
	})
	own, theirs := nodes["edge-a"].Figures, nodes["edge-b"].Figures
	if own.Rules == theirs.Rules || own.Rules != seen.Rules || len(own.Rules) != 16 || len(theirs.Rules) != 16 || theirs.Blocks != 0 {
		t.Errorf("%+v, %+v", own, theirs)
	}
	if own.Memory <= 0 || own.Memory > 1 || own.Age != 0 || theirs.Age < 0 || !own.Signed || theirs.Signed || !nodes["edge-b"].Monitor {
		t.Errorf("%+v, %+v", own, theirs)
	}
	b.yaml = strings.Replace(b.yaml, "threshold: 21,", "threshold: 20,", 1)
	if err := b.Reload(); err != nil {
		t.Fatal(err)
	}
	a.eventually("equal rules after a reload", func() bool {
		f := a.figuresOf()["edge-b"].Figures
		return f != nil && f.Rules == own.Rules
	})
	b.stop()
	a.eventually("the other node is gone", func() bool {
		n := a.figuresOf()["edge-b"]
		return n.Name == "edge-b" && !n.Alive && n.Figures == nil
	})
	if err := server.Client().FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	if a.figuresOf()["edge-a"].Figures == nil {
		t.Error("the node does not know its own figures")
	}
}
