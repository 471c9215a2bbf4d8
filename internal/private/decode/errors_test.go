package decode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// marked are records that nobody may read about. Every text is longer than its limit.
func marked(n int) pool {
	p := make(pool, 2)
	for part := range p {
		for i := range n {
			p[part] = append(p[part], seal.NewRecord(int64(part*n+i+1), "QUAGGAlabel", fmt.Sprintf("QUAGGA%dtext QUAGGA and again QUAGGA and more", i)))
		}
	}
	return p
}

// clean fails the test if an error reveals anything of a record.
func clean(t *testing.T, what string, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
		if s := fmt.Sprintf(format, err); strings.Contains(strings.ToUpper(s), "QUAGGA") || strings.Contains(s, "again") {
			t.Errorf("%s: the error shows what is in a record: %s", what, s)
		}
	}
}

var errInjected = errors.New("it broke")

// TestErrorsHaveNoContent breaks everything that the loop calls, each time that it calls
// it, for every method: the error comes out, without a word of the records, and no text
// is released after it.
func TestErrorsHaveNoContent(t *testing.T) {
	const n = 10
	for name, m := range methodsOn(n) {
		t.Run(name, func(t *testing.T) {
			for _, what := range []string{"open", "new", "fork", "step", "encode", "decode", "drop"} {
				for at := 0; broken(t, m, what, at, false); at += 1 + at/2 {
				}
				for at := 0; name == "clipped" && what != "fork" && broken(t, m, what, at, true); at += 1 + at/2 {
				}
			}
		})
	}
}

// broken runs a method with one failure, and reports whether it came to that.
func broken(t *testing.T, m decode.Method, what string, at int, published bool) bool {
	t.Helper()
	model := newToy()
	failed := false
	model.fail = func(w string, times int) error {
		if w != what || times != at {
			return nil
		}
		failed = true
		return errInjected
	}
	o := optionsFor(t, model, marked(10), noise.KeyFromSeed(9))
	o.Published, o.Parallel, o.Tokens = published, 2, 3
	w, err := decode.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), jobsOf(m, o.Task.Labels)[:3], func(decode.Job, seal.Output) error {
		if failed {
			t.Errorf("%s %d failed, and a text is released", what, at)
		}
		return nil
	})
	clean(t, what, err)
	if failed && !errors.Is(err, errInjected) {
		t.Errorf("%s %d failed, and the error is %v", what, at, err)
	}
	if !failed && at == 0 && (m.Name() != "real" || what != "step" && what != "drop") {
		t.Errorf("%s never happens", what)
	}
	return failed
}

// brokenPool is a pool whose files break.
type brokenPool struct {
	pool
	choose, fetch error
}

func init() { seal.Admit[brokenPool]() }

func (p brokenPool) Choose(part, unit int, s *noise.Stream) (seal.Ref, error) {
	if p.choose != nil {
		return seal.Ref{}, p.choose
	}
	return p.pool.Choose(part, unit, s)
}

func (p brokenPool) Fetch(ctx context.Context, refs []seal.Ref) ([]seal.Record, error) {
	if p.fetch != nil {
		return nil, p.fetch
	}
	return p.pool.Fetch(ctx, refs)
}

func TestOtherErrors(t *testing.T) {
	const n = 10
	clipped := methodsOn(n)["clipped"]
	attempt := func(change func(*toy, *decode.Options, []decode.Job), done func(decode.Job, seal.Output) error) error {
		model := newToy()
		o := optionsFor(t, model, marked(n), noise.KeyFromSeed(9))
		jobs := jobsOf(clipped, o.Task.Labels)
		change(model, &o, jobs)
		w, err := decode.NewWriter(o)
		if err != nil {
			return err
		}
		if done == nil {
			done = func(decode.Job, seal.Output) error { return nil }
		}
		return w.Write(t.Context(), jobs, done)
	}
	var tooLong *lm.ContextError
	for what, c := range map[string]struct {
		change func(*toy, *decode.Options, []decode.Job)
		done   func(decode.Job, seal.Output) error
		is     func(error) bool
	}{
		"a context that is too short for the public prompt": {
			change: func(m *toy, o *decode.Options, _ []decode.Job) {
				m.context = 1 + len(o.Task.GenerationPrefix()) + len(o.Task.GenerationHead("Business")) + 2
			},
			is: func(err error) bool { return errors.As(err, &tooLong) },
		},
		"a record that cannot be found": {
			change: func(_ *toy, o *decode.Options, _ []decode.Job) {
				o.Pool = brokenPool{pool: marked(n), choose: errInjected}
			},
			is: func(err error) bool { return errors.Is(err, errInjected) },
		},
		"records that cannot be read": {
			change: func(_ *toy, o *decode.Options, _ []decode.Job) {
				o.Pool = brokenPool{pool: marked(n), fetch: errInjected}
			},
			is: func(err error) bool { return errors.Is(err, errInjected) },
		},
		"a disk that is full": {
			change: func(*toy, *decode.Options, []decode.Job) {},
			done:   func(decode.Job, seal.Output) error { return errInjected },
			is:     func(err error) bool { return errors.Is(err, errInjected) },
		},
		"another size than was declared": {
			change: func(_ *toy, _ *decode.Options, jobs []decode.Job) {
				jobs[0].Method = &decode.Clipped{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 4, Of: n + 1}, Expected: 4, Range: 3, Temperature: 1, Candidates: 5}
			},
			is: func(err error) bool { return errors.Is(err, draw.ErrSize) },
		},
		"settings that are wrong": {
			change: func(_ *toy, _ *decode.Options, jobs []decode.Job) { jobs[3].Method = &decode.Gaussian{} },
			is:     func(err error) bool { return err != nil },
		},
		"no token left": {
			change: func(_ *toy, o *decode.Options, _ []decode.Job) {
				// Every token ends a text, and none may yet.
				o.Task.Stop = nil
				for b := range 256 {
					o.Task.Stop = append(o.Task.Stop, string([]byte{byte(b)}))
				}
			},
			is: func(err error) bool { return err != nil && strings.Contains(err.Error(), "no token is left") },
		},
		"no model": {
			change: func(_ *toy, o *decode.Options, _ []decode.Job) { o.Model = lm.TrustedScorer{} },
			is:     func(err error) bool { return err != nil && strings.Contains(err.Error(), "trusted") },
		},
	} {
		err := attempt(c.change, c.done)
		clean(t, what, err)
		if !c.is(err) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}

// TestEndedContext: a run that is interrupted stops.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := newToy()
	model.fail = func(what string, times int) error {
		if what == "step" && times == 3 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	o := optionsFor(t, model, marked(10), noise.KeyFromSeed(9))
	w, err := decode.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(ctx, jobsOf(methodsOn(10)["gaussian"], o.Task.Labels), func(decode.Job, seal.Output) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted run says %v", err)
	}
}
