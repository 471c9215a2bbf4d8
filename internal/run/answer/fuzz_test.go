package answer

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/plan"
)

// FuzzQuestion: any bytes are answered, or refused with a reason before anything is drawn;
// what is streamed and answered is text.
func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{"", "Ann: where?", " \n", "\xff\xfe", "a\x00b", "é\xc3", "{input}", "Summarize: "} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	p := newPlace(f)
	p.open(f)
	f.Fuzz(func(t *testing.T, input string, cut bool) {
		q := p.fresh(t)
		o := q.options(t, planFor(clipped()), newToy())
		seed := uint64(1)
		o.Env.Seed, o.Cut = &seed, cut
		s := q.session(t, o)
		a, err := s.Answer(t.Context(), input, func(soFar string) {
			if !utf8.ValidString(soFar) {
				t.Errorf("streamed %q", soFar)
			}
		})
		var wrong *plan.InputError
		if err != nil && !errors.As(err, &wrong) {
			t.Errorf("%q: %v", input, err)
		}
		if err == nil && (!utf8.ValidString(a.Text) || len(a.Input) > 40) {
			t.Errorf("%q gives %+v", input, a)
		}
	})
}
