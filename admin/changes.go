package admin

import (
	"context"
	"fmt"
	"net/http"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// Changes is what operators change by hand, for the API and for pages. Each method
// checks that the caller is an operator, and records the change and its end. It
// is safe for concurrent use. Make one with [NewChanges].
type Changes struct {
	view     *View // with what operators wrote
	operator Operator
	log      func(Audit)
	lifted   liftings // what RestoreMany can put back
}

// NewChanges returns the changes of the node that a view shows. log is called on
// every manual action.
func NewChanges(view *View, o Operator, log func(Audit)) *Changes {
	return &Changes{view: view, operator: o, log: log}
}

// rule returns a rule as it is now.
func (c *Changes) rule(name string) (none Rule) {
	for _, r := range c.view.reader.Rules() {
		if r.Name == name {
			return r
		}
	}
	return none
}

// Audited makes a change if the caller may, and records it with its detail and its
// end.
func (c *Changes) Audited(by access.Caller, action, target string, change func(detail *string) *call.Problem) *call.Problem {
	return c.audited(by, Audit{Action: action, Target: target}, func(record *Audit) *call.Problem { return change(&record.Detail) })
}

// audited makes a change if the caller may, and records it and its end.
func (c *Changes) audited(by access.Caller, record Audit, change func(*Audit) *call.Problem) *call.Problem {
	p := mayChange(by)
	if p == nil {
		p = change(&record)
	}
	record.Result = "ok"
	if p != nil {
		record.Result = p.Error()
	}
	c.record(by, record)
	return p
}

// record keeps and logs what somebody did.
func (c *Changes) record(by access.Caller, a Audit) {
	a.Time, a.Who, a.User, a.Role, a.Way = c.view.reader.Now(), by.Who, by.User, by.Role.String(), by.Way
	if a.Result == "ok" {
		a.Undo = undoOf(&a)
	}
	c.view.events.Change(a)
	c.log(a)
}

// Login records a login, a logout, or that somebody showed too many wrong tokens.
func (c *Changes) Login(by access.Caller, action, result string) {
	c.record(by, Audit{Action: action, Result: result})
}

// mayChange refuses callers that are no operators, should the policy of the routes
// have let one pass.
func mayChange(by access.Caller) *call.Problem {
	if by.Role >= access.Operator {
		return nil
	}
	return call.NewProblem(http.StatusForbidden, "", "this requires the role operator", "log in as an operator, or use the unix socket")
}

// Reload has the config read again.
func (c *Changes) Reload(ctx context.Context, by access.Caller) *call.Problem {
	return c.audited(by, Audit{Action: "reload"}, func(*Audit) *call.Problem {
		if err := c.operator.Reload(ctx); err != nil {
			return call.NewProblem(http.StatusUnprocessableEntity, "", err.Error(), "the previous config stays in use; fix the file and reload")
		}
		return nil
	})
}

// SignRequest asks a node to sign all records on its list. Unless Yes is set,
// it is only asked how many these are.
type SignRequest struct {
	Yes bool `json:"yes,omitempty"`
}

// Signed is how many records the node's list has: blocks, allowances and what is
// remembered of others. Unsigned of them had no signature before.
type Signed struct {
	Records  int `json:"records"`
	Unsigned int `json:"unsigned"` // of these, records that had no signature before
}

// Sign has the node sign what is on its list. What is only counted is not recorded.
func (c *Changes) Sign(by access.Caller, request SignRequest) (signed Signed, p *call.Problem) {
	sign := func(record *Audit) *call.Problem {
		records, unsigned, err := c.operator.Sign(request.Yes)
		signed, record.Detail = Signed{records, unsigned}, fmt.Sprintf("%d records, %d of them unsigned", records, unsigned)
		if err != nil {
			return call.NewProblem(http.StatusConflict, "", err.Error(), "set fleet.key_file on every node: `edgeguard fleet key` prints a key")
		}
		return nil
	}
	if request.Yes {
		p = c.audited(by, Audit{Action: "sign"}, sign)
	} else if p = mayChange(by); p == nil {
		p = sign(new(Audit))
	}
	return signed, p
}
