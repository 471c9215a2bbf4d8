package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// fillChoosing sets what was left open and checks the rest.
func (r *Request) fillChoosing(c *ChooseRequest) error {
	t := r.Task.WithDefaults()
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 {
		return about("Epsilon", "an ε above 0 is needed to choose by the records, such as 1, not %v; without any record there is the method public", r.Epsilon)
	}
	if !(c.Writing < 1) {
		return wrong("the share of ε for writing is to be below 1, so that some is left for choosing, not %v", c.Writing)
	}
	if !(c.Measuring < 1-max(0, c.Writing)) {
		return wrong("the shares of ε for writing (%v) and measuring (%v) leave nothing for choosing", max(0, c.Writing), c.Measuring)
	}
	if r.Sampler == scheme.Disjoint {
		return about("Sampler", "each round of choosing has a draw of its own: use poisson draws, or fixed-size ones")
	}
	if err := r.checkPoolSettings(); err != nil {
		return err
	}
	if err := r.fillEvidence(c); err != nil {
		return err
	}
	if err := r.fillNearest(c); err != nil {
		return err
	}
	setDefault(&c.Utility, defaultUtility(t))
	if err := choose.Suits(c.Utility, t); err != nil {
		return wrong("%v", err)
	}
	if err := checkForm(c.Form, c.Utility, c.Reading); err != nil {
		return wrong("%v", err)
	}
	shots := cmp.Or(r.Shots, t.Limits.Shots)
	if t.Kind == prompt.Generate { // inputs are long, and one example can be enough
		setDefault(&c.MaxShots, max(2*shots, c.Shots))
		shots = 1
	}
	setDefault(&c.Shots, shots)
	setDefault(&c.MaxShots, max(maxShots, 2*c.Shots, len(t.Labels)+2))
	setDefault(&c.Pool, max(DefaultPool, 3*len(t.Labels), min(c.MaxShots, 32)))
	setDefault(&c.ExplorationRounds, 1)
	setDefault(&c.Work, DefaultWork)
	switch {
	case c.Pool < 1 || c.Shots < 1 || c.MaxShots < c.Shots || c.First < 0 || c.Next < 0 || c.Next == 1 || c.ExplorationRounds < 1 || c.Rounds < 0 || c.Records < 0 || !(c.Work > 0):
		return wrong("choosing needs a pool, sets of at least one example, and two to choose from: pool %d, shots %d, at most %d, sets %d and %d", c.Pool, c.Shots, c.MaxShots, c.First, c.Next)
	case c.Reading != "" && c.Reading != search.Raw && c.Reading != search.Calibrated:
		return wrong("labels are read off %s or %s, or either way, not %q", search.Raw, search.Calibrated, c.Reading)
	case c.NoGeneration && (c.Writing > 0 || r.Discover || r.Ending):
		return wrong("no texts are to be written, and a share of ε is for writing them: leave one out")
	case c.NoGeneration && len(c.Examples)+len(c.Made.texts()) == 0:
		return wrong("a pool without texts of this run needs examples of your own")
	}
	if err := checkExamples(c.Examples, t); err != nil {
		return wrong("%v", err)
	}
	if err := c.Made.check(t, c.Vary); err != nil {
		return wrong("%v", err)
	}
	return nil
}

// check finds what is wrong with a last round.
func (l *Last) check(c Choose) error {
	if l == nil {
		return nil
	}
	if err := l.Choice.Check(); err != nil {
		return fmt.Errorf("the last round: %w", err)
	}
	if l.Rounds != 1 || l.Finalists < 1 || c.Rounds < 2 || l.Utility != c.Utility || l.Draw.Adjacency() != c.Draw.Adjacency() {
		return fmt.Errorf("the last round is one, between winners of others, with the utility and the adjacency of those")
	}
	return nil
}

// checkForm finds what cannot be read off answers in a form.
func checkForm(f prompt.Form, u choose.Utility, r search.Reading) error {
	switch {
	case f != "" && f != prompt.TextForm && f != prompt.ChatForm:
		return fmt.Errorf("prompts are chosen in the form %s or %s, not %q", prompt.ChatForm, prompt.TextForm, f)
	case f.Turns() && r == search.Calibrated:
		return fmt.Errorf("in the form %s labels are read off what the model writes, which cannot be calibrated: use the form %s for that", f, prompt.TextForm)
	}
	return choose.Reads(u, f)
}

// checkExamples finds examples of the user's own that a task has no use for.
func checkExamples(list []prompt.Example, t prompt.Task) error {
	for i, e := range list {
		if err := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(t); err != nil {
			return fmt.Errorf("your own example %d: %w", i+1, err)
		}
	}
	return nil
}

// checkMeasure finds what is wrong with the number in the end.
func (p Plan) checkMeasure(m *measure.Measure) error {
	if m == nil {
		return nil
	}
	if err := m.Check(); err != nil {
		return err
	}
	maxPrompts := 1
	if p.Choose != nil && p.Evidence != nil {
		maxPrompts = 2
	}
	if m.Prompts < 1 || m.Prompts > maxPrompts || m.Draw.Adjacency() != p.Adjacency {
		return fmt.Errorf("the chosen prompt is measured in the end, and evidence alone where there is any, under the adjacency of the plan")
	}
	if m.Labels > 0 && (!labelled(p.Task) || m.Labels != len(p.Task.Labels)) {
		return fmt.Errorf("records are counted by %d labels in the end, and the task has no such list", m.Labels)
	}
	return measure.Suits(m.Grade, p.Task)
}

// defaultUtility is what records say about a prompt, by default.
func defaultUtility(t prompt.Task) choose.Utility {
	if t.Kind == prompt.Generate {
		return choose.Rouge
	}
	return choose.Hard
}

// checkChoose finds what is wrong with choosing.
func (p Plan) checkChoose() error {
	c := p.Choose
	if c == nil {
		return nil
	}
	if err := c.Check(); err != nil {
		return err
	}
	if err := choose.Suits(c.Utility, p.Task); err != nil {
		return err
	}
	if err := checkForm(c.Form, c.Utility, c.Reading); err != nil {
		return err
	}
	if err := p.checkMeasure(c.Measure); err != nil {
		return err
	}
	if c.Own != nil {
		if c.Own.Texts < 1 || p.Shots < 1 {
			return fmt.Errorf("model-generated texts are at least one, beside others")
		}
		if err := c.Own.Method.Check(); err != nil {
			return err
		}
	}
	if c.Draw.Adjacency() != p.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its records choose under %s", p.Adjacency, c.Draw.Adjacency())
	}
	if err := c.Nearest.check(p); err != nil {
		return err
	}
	if err := c.Last.check(*c); err != nil {
		return err
	}
	if err := checkExamples(c.Examples, p.Task); err != nil {
		return err
	}
	if err := c.Made.check(p.Task, c.Vary); err != nil {
		return err
	}
	for _, set := range c.Given {
		if slices.ContainsFunc(set, func(i int) bool { return i < 0 || i >= len(c.Examples) }) {
			return fmt.Errorf("a ready-made set names an example that there is not")
		}
	}
	if c.First < 1 || c.Next < 2 || c.Shots < 1 || c.MaxShots < c.Shots {
		return fmt.Errorf("choosing needs sets of examples to choose from")
	}
	if _, real := p.Parts[0].Method.Method.(*decode.Real); real || !p.Private() {
		return fmt.Errorf("a pool has to protect the records: the method %s does not", p.Parts[0].Method.Name())
	}
	return nil
}
