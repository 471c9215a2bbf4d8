package run

import (
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	p := newPlace(t, 20)
	start := time.Now()
	pl := clippedPlan(t)
	t.Log("plan", time.Since(start), pl.Event())
	o := p.options(t, pl, newHashModel())
	o.Observe = func(e Event) { t.Logf("%v %+v", time.Since(start), e) }
	res, err := Do(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", res)
}
