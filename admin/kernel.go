package admin

import (
	"context"
	"net/netip"
	"time"

	"edgeguard/admin/call"
)

// Whether the kernel's packet filter drops what is blocked, as
// operators see and change it by the API: a trial that ends by itself unless it is
// confirmed, a pause, and the end of both.

// The states of the packet filter.
const (
	KernelInForce = "in force"
	KernelTrial   = "trial"
	KernelPaused  = "paused"
)

const (
	// LeastTrial and Longest bound a trial, and DefaultFor is how long it lasts by default.
	LeastTrial, DefaultTrial, LongestTrial = 10 * time.Second, 5 * time.Minute, time.Hour
	// MostSpared bounds the addresses that a request spares.
	MostSpared = 1024
)

// KernelState is what the packet filter does.
type KernelState struct {
	Table string `json:"table"` // the name of the table in the kernel
	// State is "in force"; "trial": in force until Until unless it is confirmed;
	// "paused": it drops nothing until an operator resumes it. Why says why it is
	// paused.
	State string    `json:"state"`
	Until time.Time `json:"until,omitzero"`
	Left  float64   `json:"left_seconds,omitempty"` // of a trial
	Why   string    `json:"why,omitempty"`
	// Spared are addresses never dropped during a trial: the clients of ssh, and what
	// the request named. SparedMore says that there are more ssh connections,
	// which are not spared.
	Spared     []string `json:"spared,omitempty"`
	SparedMore bool     `json:"spared_more,omitempty"`
	// Intended blocks are to be in the kernel, and Installed were at the last update.
	// Withheld were learned behind a proxy, and never are.
	Intended  int `json:"intended"`
	Installed int `json:"installed"`
	Withheld  int `json:"withheld"`
	// Error is why the last update failed, empty where it did not.
	Error  string `json:"error,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// TrialRequest begins a trial.
type TrialRequest struct {
	// For is how long it lasts, 5m if it is empty.
	For string `json:"for,omitempty"`
	// Spare are addresses that are not dropped meanwhile, beside those of ssh
	// connections.
	Spare []string `json:"spare,omitempty"`
}

// KernelOperator is what operators change of a node's packet filter. Package node
// implements it.
type KernelOperator interface {
	// Kernel returns the state, and a problem where the config has no such enforcer.
	Kernel() (KernelState, *call.Problem)

	// TryKernel has it drop what is blocked for a time, and then nothing, unless
	// ConfirmKernel is called before. It never drops these addresses meanwhile.
	TryKernel(ctx context.Context, lasts time.Duration, spare []netip.Addr) (KernelState, *call.Problem)

	// ConfirmKernel keeps in force what a trial put in force.
	ConfirmKernel() (KernelState, *call.Problem)

	// PauseKernel empties it, until ResumeKernel or a confirmed trial. why is shown.
	PauseKernel(ctx context.Context, why string) (KernelState, *call.Problem)

	// ResumeKernel ends a pause.
	ResumeKernel() (KernelState, *call.Problem)
}
