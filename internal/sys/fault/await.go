package fault

import "context"

// Await runs a computation that knows nothing of contexts, and stops waiting for
// it when the context ends.
func Await[T any](ctx context.Context, compute func() (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		defer Watch()
		v, err := compute()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}
