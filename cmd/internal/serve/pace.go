package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
)

// Pace measures the model, for some seconds, and returns how long an answer of a route takes at
// most, except for one of [plan.DrawChance] draws and for machines that get slower. No record is
// read.
func (b *Builder) Pace(ctx context.Context, spec store.AnswerSpec) (time.Duration, error) {
	var p plan.Answers
	if err := json.Unmarshal(spec.Plan, &p); err != nil {
		return 0, fmt.Errorf("its plan cannot be read: %w", err)
	}
	records, err := b.Records(ctx)
	if err != nil {
		return 0, err
	}
	encoder, err := records.encoderOf(p)
	if err != nil {
		return 0, err
	}
	if err := records.Turns.Take(ctx, ""); err != nil {
		return 0, err
	}
	defer records.Turns.Give()
	// As fast as it is in the mode that records are read in.
	model, err := lm.Isolate(ctx, records.Model)
	if err != nil {
		return 0, err
	}
	measured, err := p.MeasurePacing(ctx, model.Model().Public(), encoder)
	if err != nil {
		return 0, fmt.Errorf("measure the model: %w", err)
	}
	needed, unit := p.Longest(measured), 100*time.Millisecond
	if needed > 10*time.Second {
		unit = time.Second
	}
	return needed.Truncate(unit) + unit, nil
}

// Hurried says what a pace shows that is shorter than answers may need; "" if it is not.
func Hurried(pace, needed time.Duration) string {
	if pace <= 0 || pace >= needed {
		return ""
	}
	return fmt.Sprintf("answers may take up to %v to write on this machine, and the pace is %v: how many paces one takes would show something of how many records were drawn. Make the route again with --latency-quantum %v, or without --latency-quantum", needed, pace, needed)
}

// checkPace warns of a pace that is too short for this machine.
func (b *Builder) checkPace(ctx context.Context, r store.Route) {
	if r.Spec.Answers == nil || r.Spec.Answers.Pace <= 0 || b.Log == nil {
		return
	}
	needed, err := b.Pace(ctx, *r.Spec.Answers)
	if err != nil {
		b.Log.Warn("it cannot be found out whether the pace of a route is long enough", "route", r.Name, "error", err.Error())
		return
	}
	if hurried := Hurried(r.Spec.Answers.Pace, needed); hurried != "" {
		b.Log.Warn(hurried, "route", r.Name)
	}
}
