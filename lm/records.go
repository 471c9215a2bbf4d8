package lm

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// RecordScorer is a scorer whose back-end does not promise independent answers, but can answer
// all prompts of one call as a batch of their own: sent at once, nothing else running, and
// nothing used that was computed for another call.
//
// Where each call is about one record, its answers depend on that record and on public things,
// which is all that choosing and measuring need: a record's grades on many prompts are computed
// at once.
type RecordScorer interface {
	Scorer
	// ByRecord returns the same model in that mode, in which one call of Generate, and one Step
	// of a session, is such a batch, and how it is ensured that nobody else's sequence is
	// computed beside it. A prompt that the server refuses is no error of Generate, but an empty
	// text with [FinishRefused]. A *[NotIsolatedError] reports what is missing.
	ByRecord(context.Context) (Scorer, Isolation, error)
}

// IsolateRecords ensures that what is asked about a record depends on that record and on public
// things alone, where every call of Generate and every Step is about one record. Call it as
// [Isolate], for what records judge. A model that only writes will do.
//
// A model in this process that promises independence of every prompt is believed, and its calls
// may hold any number of records. Any other is tried out on made-up records
// ([CompareRecords]). An error is a *[NotIsolatedError] unless the model failed.
func IsolateRecords(ctx context.Context, t TrustedScorer) (IsolatedScorer, error) {
	if !t.Valid() {
		return IsolatedScorer{}, fmt.Errorf("records may only be shown to a trusted model, and there is none")
	}
	if t.constructed() {
		return IsolatedScorer{t, ByConstruction}, nil
	}
	info := t.Info()
	s, can := t.scorer.(RecordScorer)
	if !can {
		return IsolatedScorer{}, &NotIsolatedError{Backend: info.Backend, Why: "it cannot answer the prompts of one record by themselves", Do: "use the embedded engine"}
	}
	apart, how, err := s.ByRecord(ctx)
	if err != nil {
		return IsolatedScorer{}, err
	}
	c, err := CompareRecords(ctx, apart)
	if err != nil {
		return IsolatedScorer{}, fmt.Errorf("try out whether answers depend on their record alone: %w", err)
	}
	if c.Different > 0 {
		return IsolatedScorer{}, &NotIsolatedError{
			Backend: info.Backend,
			Why:     fmt.Sprintf("though each record was asked about by itself, %d of %d answers came out otherwise after another record than after their own, every time", c.Different, c.Answers),
			Do:      "start the server with settings that docs/models.md lists as passing, or use the embedded engine",
		}
	}
	return IsolatedScorer{TrustedScorer{apart, t.basis}, how}, nil
}

// RecordComparison reports how answers about made-up records came out.
type RecordComparison struct {
	// Answers counts the questions; Different those whose answer was always the same after the
	// same record, and another one after another; Varying those that had several answers
	// after the same record, which is noise of the server's own.
	Answers, Different, Varying int
}

const (
	// comparedRecords is the number of made-up records, comparedPrompts that of the prompts
	// that each is asked about at once.
	comparedRecords, comparedPrompts = 3, 4
	// comparedTimes is how often each record is asked about after each, and again while an answer
	// looks as if it depended on the one before, up to comparedMost times. An answer that is one
	// of two by chance, with probability 1/2 each time, is taken for a dependence with a
	// probability of 6/2³⁶, and 1e-9 for a dozen of them.
	comparedTimes, maxCompared = 3, 12
	// comparedTokens is the length of the answers.
	comparedTokens = 4
)

// CompareRecords asks about made-up records in an order in which each comes after each
// several times, itself included, each with several prompts in one call: for texts, and for
// scores where the model gives them. It counts the answers that depend on which record came
// before. Answers may vary with the batch that their record is in, since that holds nothing
// else, and with chance. No private text is involved.
func CompareRecords(ctx context.Context, model Scorer) (RecordComparison, error) {
	var total RecordComparison
	info := model.Info()
	asks := []func(context.Context, Scorer, int) ([]string, error){}
	if info.Can.Chat || info.Can.Generate {
		asks = append(asks, writtenOf)
	}
	if info.Can.Candidates {
		asks = append(asks, scoresOf)
	}
	for _, ask := range asks {
		c, err := compareRecords(ctx, model, ask)
		total.Answers += c.Answers
		total.Different += c.Different
		total.Varying += c.Varying
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func compareRecords(ctx context.Context, model Scorer, ask func(context.Context, Scorer, int) ([]string, error)) (c RecordComparison, err error) {
	// seen[record][before] are the answers, one list for each time.
	var seen [comparedRecords][comparedRecords][][]string
	before := everyPair[0]
	if _, err := ask(ctx, model, before); err != nil {
		return c, err
	}
	for times := 1; times <= maxCompared; times++ {
		for i := range everyPair {
			record := everyPair[(i+1)%len(everyPair)]
			answers, err := ask(ctx, model, record)
			if err != nil {
				return c, err
			}
			seen[record][before] = append(seen[record][before], answers)
			before = record
		}
		if times < comparedTimes {
			continue
		}
		if c = countAnswers(seen); c.Different == 0 {
			break
		}
	}
	return c, nil
}

// countAnswers counts the answers that depend on the record before, and those that vary.
func countAnswers(seen [comparedRecords][comparedRecords][][]string) (c RecordComparison) {
	for _, after := range seen {
		for i := range after[0][0] {
			c.Answers++
			switch repeats, depends := answersAfter(after, i); {
			case !repeats:
				c.Varying++
			case depends:
				c.Different++
			}
		}
	}
	return c
}

// answersAfter reports whether an answer repeats itself after each record, and whether it then
// depends on which.
func answersAfter(after [comparedRecords][][]string, i int) (repeats, depends bool) {
	for _, lists := range after {
		for _, list := range lists {
			if list[i] != lists[0][i] {
				return false, false
			}
		}
		depends = depends || lists[0][i] != after[0][0][i]
	}
	return true, depends
}

// everyPair, read in a circle, has each record after each, itself included, once.
var everyPair = [comparedRecords * comparedRecords]int{0, 0, 1, 0, 2, 1, 1, 2, 2}

// madeUp are records of [CompareRecords]: a question each, of different lengths, and beginnings
// that are shared as those of candidates are.
var madeUp = [comparedRecords]string{
	"the parcel came late and one of the two cups was broken; I would like a new one, or 12.50 back",
	"can I change the address of order 40417 before it is sent?",
	"the lamp hums, gets warm after an hour, and then goes out by itself until the next morning. The shop that sold it has closed, and its telephone is answered by a bakery that knows nothing of lamps",
}

// madeUpPrompt is one of the prompts with a record.
func madeUpPrompt(record, i int) string {
	shown := []string{"thank you, all is well now. Label: praise", "where is my invoice? Label: question", "the box was empty. Label: complaint"}
	var b strings.Builder
	b.WriteString("Label the message.\n")
	for _, s := range shown[:min(i, len(shown))] {
		b.WriteString("Message: " + s + "\n")
	}
	b.WriteString("Message: " + madeUp[record] + ". Label:")
	return b.String()
}

// writtenOf returns what a model writes about a record.
func writtenOf(ctx context.Context, model Scorer, record int) ([]string, error) {
	prompts := make([]Prompt, comparedPrompts)
	for i := range prompts {
		text := madeUpPrompt(record, i)
		if model.Info().Can.Chat {
			prompts[i] = Prompt{Messages: []Message{{Role: User, Content: text}}}
		} else {
			prompts[i] = Prompt{Text: text}
		}
	}
	texts, err := model.Generate(ctx, prompts, GenerateOptions{MaxTokens: comparedTokens})
	if err != nil {
		return nil, err
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		if out[i] = string(t.Finish) + " " + t.Text; t.Finish == FinishRefused {
			return nil, fmt.Errorf("the server refuses a prompt of some hundred letters: is its context long enough?")
		}
	}
	return out, nil
}

// scoresOf returns the scores of some tokens after a record's prompts, to the bit.
func scoresOf(ctx context.Context, model Scorer, record int) ([]string, error) {
	session, err := model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	info := model.Info()
	ask := Ask{Candidates: spread(min(compared, info.Vocabulary), info.Vocabulary)}
	if info.Can.Top {
		ask = Ask{Top: min(compared, info.Vocabulary)}
		if info.Top > 0 {
			ask.Top = min(ask.Top, info.Top)
		}
	}
	steps := make([]Step, comparedPrompts)
	for i := range steps {
		tokens, err := Prompt{Text: madeUpPrompt(record, i)}.Encode(ctx, model)
		if err != nil {
			return nil, err
		}
		q, err := session.New()
		if err != nil {
			return nil, err
		}
		if info.Context > 0 {
			tokens = tokens[max(0, len(tokens)-info.Context/2):]
		}
		steps[i] = Step{Sequence: q, Tokens: tokens, Ask: ask}
	}
	scores, err := session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(scores))
	for i, s := range scores {
		if err := CheckScores(info, ask, s); err != nil {
			return nil, err
		}
		var b strings.Builder
		for j, p := range s.LogProbs {
			b.WriteString(strconv.Itoa(int(s.Tokens[j])) + ":" + strconv.FormatUint(math.Float64bits(p), 16) + " ")
		}
		out[i] = b.String()
	}
	return out, nil
}

func spread(n, vocabulary int) (list []Token) {
	for i := range n {
		list = append(list, Token(i*(vocabulary/n)))
	}
	return list
}
