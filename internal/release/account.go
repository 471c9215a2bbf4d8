package release

import "slices"

// Account is how the ledger stood when a run was charged. It has what users of the ledger wrote
// there, and no charge, run or fingerprint by which a reader could find another release.
type Account struct {
	// Dataset is the name of the data set; "" if it has none.
	Dataset string `json:"dataset,omitempty"`
	// Budgets that the charge counts toward, the global one first.
	Budgets []Balance `json:"budgets,omitempty"`
	// Others are uses by other runs, in the order of their first charges.
	Others []Use `json:"others,omitempty"`
}

// Balance is a budget after the charge.
type Balance struct {
	Name string `json:"name"`
	// Epsilon and Delta are the allowance. Spent includes the charge, and Left is what remains.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Spent   float64 `json:"spent"`
	Left    float64 `json:"left"`
	// Own is what the run takes of it; 0 where charges are not added up one by one.
	Own float64 `json:"own,omitempty"`
}

// Use is what other runs of one purpose have taken.
type Use struct {
	// Name and Labels are as the ledger has them.
	Name   string `json:"name"`
	Labels string `json:"labels,omitempty"`
	// Times is how many charges there are, Last the day of the last one.
	Times int    `json:"times"`
	Last  string `json:"last"`
	// Epsilon of the global budget; 0 where charges are not added up one by one.
	Epsilon float64 `json:"epsilon,omitempty"`
}

// Add adds one charge of another run.
func (a *Account) Add(u Use) {
	at := slices.IndexFunc(a.Others, func(o Use) bool { return o.Name == u.Name && o.Labels == u.Labels })
	if at < 0 {
		at, a.Others = len(a.Others), append(a.Others, Use{Name: u.Name, Labels: u.Labels})
	}
	o := &a.Others[at]
	o.Times, o.Last, o.Epsilon = o.Times+1, u.Last, o.Epsilon+u.Epsilon
}
