package sotto

import "github.com/sotto-dp/sotto/internal/plan"

// Internal is the request that plans are made of.
func (r Request) Internal() plan.Request { return r.internal() }
