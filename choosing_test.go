package sotto_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestTimeOfResumedRuns: the time that records may take is turned into work by the speed of
// the model. A run that was interrupted continues with the work it began with, though the model
// is slower by then.
func TestTimeOfResumedRuns(t *testing.T) {
	o := options(t)
	o.Request = sotto.Request{
		Task: task(), Size: 200, Epsilon: 4, Tokens: 3,
		Choosing: &sotto.ChooseRequest{First: 3, Next: 2, Rounds: 2, Records: 8},
	}
	o.Time = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Observe = func(e sotto.Progress) {
		if e.Kind == sotto.Chose {
			cancel()
		}
	}
	var stopped *sotto.InterruptedError
	if _, err := synthesize(ctx, o); !errors.As(err, &stopped) {
		t.Fatalf("it was not interrupted: %v", err)
	}
	if o.Request.Choosing.Work != 0 {
		t.Error("the caller's request was changed")
	}
	var begun plan.Plan
	data, err := os.ReadFile(filepath.Join(o.Out, "plan.json"))
	if err == nil {
		err = json.Unmarshal(data, &begun)
	}
	expect.NoError(t, err)
	if begun.Choose == nil {
		t.Fatalf("begun.Choose: got none")
	}
	expect.True(t, "begun.Choose.Work above 1", begun.Choose.Work > 1, begun.Choose.Work)
	o.Observe = nil
	if o.Trusted, err = lm.Trust(&toy{wait: 5 * time.Millisecond}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expect.True(t, "done.Resumed", done.Resumed)
	expect.True(t, "done.Prompt other than nil", done.Prompt != nil)
	expect.Equal(t, "done.Plan.Choose.Work", done.Plan.Choose.Work, begun.Choose.Work)
	// A run of its own is planned by the speed of now.
	seed := uint64(1)
	o.Out, o.Seed = o.Out+"-anew", &seed
	anew, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if anew.Plan.Choose.Work == begun.Choose.Work {
		t.Error("both models are as fast: nothing was tested")
	}
}
