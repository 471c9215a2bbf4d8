package run

import (
	"context"
	"errors"
)

var errCounting = errors.New("this version cannot count records or discover labels: declare sizes, and give a public list of labels")

func (r *runner) count(context.Context) error {
	if r.Plan.Count != nil {
		return errCounting
	}
	return nil
}

func (r *runner) discover(context.Context) error {
	if r.Plan.Discover != nil {
		return errCounting
	}
	return nil
}
