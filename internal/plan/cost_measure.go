package plan

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// What [Measure] runs.
const (
	measuredPrefill    = 256 // tokens of a prompt
	measuredLength     = 128 // tokens that sequences have when they are extended
	measuredBatch      = 17  // sequences of an ensemble
	measuredSteps      = 4
	measuredCandidates = 100
)

// OwnAtOnce is how many texts are written at once for which no record is read, by a model that repeats
// itself: one short sequence each.
const OwnAtOnce = 16

// Measure finds out how fast a model is, within a second or two on the default one: how
// it reads, and how it extends one sequence and several, whole vocabulary for the first
// and candidates for the rest, as the methods ask for. No record is involved.
func Measure(ctx context.Context, model lm.Scorer) (Speed, error) {
	return timed(ctx, model, measuredPrefill, measuredLength, false)
}

// MeasureSlowest is [Measure] for an upper bound: the slowest of three, for prompts of so many
// tokens, from each of which the scores of all tokens are asked for.
func MeasureSlowest(ctx context.Context, model lm.Scorer, prompt int) (Speed, error) {
	var slowest Speed
	for range 3 {
		v, err := timed(ctx, model, prompt, prompt, true)
		if err != nil {
			return Speed{}, err
		}
		if slowest.Prefill == 0 || v.Prefill < slowest.Prefill {
			slowest.Prefill = v.Prefill
		}
		slowest.Step, slowest.Each = max(slowest.Step, v.Step), max(slowest.Each, v.Each)
	}
	return slowest, nil
}

// timed reads a prompt, and extends sequences that have a length.
func timed(ctx context.Context, model lm.Scorer, prompt, extended int, whole bool) (Speed, error) {
	info := model.Info()
	if !info.Can.Candidates {
		return timedWriting(ctx, model, prompt)
	}
	session, err := model.Open(ctx)
	if err != nil {
		return Speed{}, err
	}
	defer session.Close()
	m := &stopwatch{session: session, info: info, extended: extended, whole: whole}
	// A first step pays for what is set up once.
	if _, err := m.prefill(ctx, 16); err != nil {
		return Speed{}, err
	}
	length := min(prompt, info.Context/2)
	if length < 16 {
		return Speed{}, fmt.Errorf("%s takes %d tokens, too few to measure its speed", info.Name, info.Context)
	}
	seconds, err := m.prefill(ctx, length)
	if err != nil {
		return Speed{}, err
	}
	one, err := m.decode(ctx, 1)
	if err != nil {
		return Speed{}, err
	}
	many, err := m.decode(ctx, measuredBatch)
	if err != nil {
		return Speed{}, err
	}
	out := Speed{Prefill: float64(length) / seconds, Step: one, Each: max(0, many-one) / (measuredBatch - 1), Served: !info.BatchInvariant}
	if info.Deterministic {
		out.Texts = OwnAtOnce
	}
	return out, nil
}

// timedWriting is that for a model that only writes: how long it takes to answer a short message and
// a long one. What it says of tokens is as rough as its tokeniser.
func timedWriting(ctx context.Context, model lm.Scorer, prompt int) (Speed, error) {
	if limit := model.Info().Context; limit > 0 {
		prompt = min(prompt, limit/2)
	}
	var seconds [2]float64
	for i, words := range []int{1, prompt} {
		text := strconv.FormatInt(time.Now().UnixNano(), 36) + strings.Repeat(" word", max(1, words)) // in no cache
		began := time.Now()
		if _, err := model.Generate(ctx, []lm.Prompt{{Messages: []lm.Message{{Role: lm.User, Content: text}}}}, lm.GenerateOptions{MaxTokens: 1}); err != nil {
			return Speed{}, err
		}
		seconds[i] = time.Since(began).Seconds()
	}
	return Speed{Prefill: float64(prompt) / max(seconds[1], 1e-9), Step: seconds[0], Served: true}, nil
}

type stopwatch struct {
	session lm.Session
	info    lm.Info
	drawn   uint32
	// extended is the length of sequences that are extended; whole asks each of them for the
	// scores of all tokens.
	extended int
	whole    bool
}

// tokens are such as no cache has seen: what they say does not change the time.
func (m *stopwatch) tokens(n int) []lm.Token {
	list := make([]lm.Token, n)
	for i := range list {
		m.drawn = m.drawn*1664525 + 1013904223
		list[i] = lm.Token(uint64(m.drawn>>4) % uint64(m.info.Vocabulary))
	}
	return list
}

func (m *stopwatch) prefill(ctx context.Context, n int) (float64, error) {
	sequence, err := m.session.New()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := m.session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: m.tokens(n), Ask: lm.Ask{Top: 1}}}); err != nil {
		return 0, err
	}
	return time.Since(began).Seconds(), m.session.Drop(sequence)
}

// decode is the time of a step in which n sequences get a token.
func (m *stopwatch) decode(ctx context.Context, n int) (float64, error) {
	root, err := m.session.New()
	if err != nil {
		return 0, err
	}
	shared := min(m.extended, m.info.Context/2)
	if _, err := m.session.Step(ctx, []lm.Step{{Sequence: root, Tokens: m.tokens(shared)}}); err != nil {
		return 0, err
	}
	forks := make([]lm.Sequence, n)
	for i := range forks {
		if forks[i], err = m.session.Fork(root); err != nil {
			return 0, err
		}
	}
	var took time.Duration
	for i := range measuredSteps + 1 {
		steps := make([]lm.Step, n)
		for k, fork := range forks {
			steps[k] = lm.Step{Sequence: fork, Tokens: m.tokens(1), Ask: m.ask(k)}
		}
		began := time.Now()
		if _, err := m.session.Step(ctx, steps); err != nil {
			return 0, err
		}
		if i > 0 { // the first warms up
			took += time.Since(began)
		}
	}
	for _, q := range append(forks, root) {
		if err := m.session.Drop(q); err != nil {
			return 0, err
		}
	}
	return took.Seconds() / measuredSteps, nil
}

// ask is for the public prompt, or a private one.
func (m *stopwatch) ask(k int) lm.Ask {
	if k == 0 || m.whole {
		if m.info.Can.All {
			return lm.Ask{All: true}
		}
		return lm.Ask{Top: max(1, m.info.Top)}
	}
	list := make([]lm.Token, min(measuredCandidates, m.info.Vocabulary))
	for i := range list {
		list[i] = lm.Token(i * (m.info.Vocabulary / len(list)))
	}
	return lm.Ask{Candidates: list}
}
