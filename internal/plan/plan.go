package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Plan fixes a run except for its randomness and its data. It is public.
type Plan struct {
	Task prompt.Task `json:"task"`
	// Epsilon and Delta that were asked for; the plan's own cost is at most that.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Adjacency and Unit are what the guarantee is about.
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	// Shots is the number of texts, Tokens the most that one has.
	Shots  int          `json:"shots"`
	Tokens int          `json:"tokens"`
	Rules  decode.Rules `json:"rules"`
	// Parts of the data that texts are written from, one for each label of a closed
	// list, or one for all records.
	Parts []Part `json:"parts"`
	// Conditions of texts where labels are open: a public list. Empty if they are to be
	// discovered.
	Conditions []string `json:"conditions,omitempty"`
	// Count and Discover are paid for from the same budget, if set.
	Count    *Count    `json:"count,omitempty"`
	Discover *Discover `json:"discover,omitempty"`
	// Ending is too.
	Ending *Ending `json:"ending,omitempty"`
	// Evidence adds all records up, if set: for prompts that they choose from, or by itself, as a classifier
	// that needs no language model. Measure says for how many records that is right, if set.
	Evidence *Evidence        `json:"evidence,omitempty"`
	Measure  *measure.Measure `json:"measure,omitempty"`
	// Choose has the records choose a prompt that is made from the texts, if set.
	Choose *Choose `json:"choose,omitempty"`
}

// Part is a part of the data, with how texts are written from it.
type Part struct {
	// Label of a closed list; "" for all records.
	Label string `json:"label,omitempty"`
	// Size is the declared number of units; with Count, the least that a rate is made
	// from.
	Size int64 `json:"size"`
	// Texts at most.
	Texts int64 `json:"texts"`
	// Method with its settings.
	Method decode.Settings `json:"method"`
}

// Count says that the sizes of the parts are counted with noise before anything is
// drawn.
type Count struct {
	// Epsilon of the count.
	Epsilon float64 `json:"epsilon"`
	// MinSize is the size that is assumed when the count is smaller.
	MinSize int64 `json:"min_size"`
}

// Discover says that the labels of an open task are those that enough units have.
type Discover struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// MaxLabels is how many labels are kept at most.
	MaxLabels int `json:"max_labels"`
}

// Event is all that the run may do to the data.
func (p Plan) Event() privacy.Event {
	var all []privacy.Event
	if p.Count != nil {
		all = append(all, privacy.Laplace{B: 1 / p.Count.Epsilon})
	}
	if p.Discover != nil {
		all = append(all, privacy.Approx{Epsilon: p.Discover.Epsilon, Delta: p.Discover.Delta})
	}
	if p.Ending != nil {
		all = append(all, privacy.Approx{Epsilon: p.Ending.Epsilon, Delta: p.Ending.Delta})
	}
	all = append(all, p.together())
	if p.Evidence != nil {
		all = append(all, p.Evidence.Event())
	}
	if p.Choose != nil {
		all = append(all, p.Choose.Event())
	}
	if m := p.Measured(); m != nil {
		all = append(all, m.Event())
	}
	return privacy.Canonical(privacy.Compose{Events: all})
}

// together runs all parts. A unit is in one of them, so that under add-remove adjacency
// parts with equal events cost what one of them does.
func (p Plan) together() privacy.Event {
	var parts []privacy.Event
	seen := map[string]bool{}
	for _, part := range p.Parts {
		e := privacy.Canonical(part.event(p.Tokens))
		if text := e.String(); p.Adjacency != privacy.AddRemove || !seen[text] {
			seen[text] = true
			parts = append(parts, e)
		}
	}
	return privacy.Parallel{Events: parts}
}

func (p Part) event(tokens int) privacy.Event {
	return p.Method.Scheme().Texts(decode.TextEvent(p.Method, tokens), p.Texts)
}

// Private reports whether the method has a guarantee. Without one there is no charge
// and no certificate, and files say NOT PRIVATE. A method that is not this program's has
// none, whatever its Proof returns.
func (p Plan) Private() bool {
	for _, part := range p.Parts {
		if decode.Genuine(part.Method) != nil || part.Method.Proof() == "" {
			return false
		}
	}
	return true
}

// Measured is the number in the end, if there is one: on the prompt that is chosen, or on evidence alone.
func (p Plan) Measured() *measure.Measure {
	if p.Choose != nil {
		return p.Choose.Measure
	}
	return p.Measure
}

// Method is the name of the method: of a pool that records choose from, choose, after how
// it is written from records, if it is.
func (p Plan) Method() string {
	name := p.Parts[0].Method.Name()
	switch {
	case p.Learns():
		return Learns
	case p.Choose == nil:
		return name
	case p.WritesFromRecords():
		return name + ", choose"
	}
	return "choose"
}

// Proof cites why the event of the plan is right; "" if it has no guarantee.
func (p Plan) Proof() string {
	proof := p.Parts[0].Method.Proof()
	switch {
	case p.Learns():
		proof = ""
	case p.Choose == nil || proof == "":
		return proof
	case p.WritesFromRecords():
		proof += "; then " + p.Choose.Proof()
	default:
		proof = p.Choose.Proof()
	}
	var all []string
	if p.Evidence != nil {
		all = append(all, p.Evidence.Proof())
	}
	if proof != "" {
		all = append(all, proof)
	}
	if m := p.Measured(); m != nil {
		all = append(all, m.Proof())
	}
	return strings.Join(all, "; then ")
}

// Claim says what a publication claims of the method and why it is not proven; "" for
// methods with a guarantee, and for those that nobody claims one for.
func (p Plan) Claim() string { return claim(p.Parts[0].Method.Method, p.Epsilon, p.Delta) }

// claim says in words what is claimed of a method and not proven, "" where nothing is.
func claim(m decode.Method, epsilon, delta float64) string {
	c, ok := m.(decode.Claimer)
	if !ok {
		return ""
	}
	return fmt.Sprintf("ε = %v at δ = %v is claimed, not proven: %s", epsilon, delta, c.Claim())
}

// Check finds what is wrong with a plan that was read from a file.
func (p Plan) Check() error {
	if len(p.Parts) == 0 || p.Shots < 1 && p.Choose == nil && p.Evidence == nil || p.Tokens < 1 {
		return fmt.Errorf("a plan needs parts, shots and tokens")
	}
	for _, part := range p.Parts {
		if part.Method.Method == nil {
			return fmt.Errorf("a part of the plan has no method")
		}
		if err := decode.Genuine(part.Method); err != nil {
			return err
		}
		if err := part.Method.Check(); err != nil {
			return err
		}
		if sampling := part.Method.Scheme(); sampling.Kind != "" && sampling.Adjacency() != p.Adjacency {
			return fmt.Errorf("the plan is under %s adjacency, and its draws under %s", p.Adjacency, sampling.Adjacency())
		}
		if part.Texts < 1 {
			return fmt.Errorf("a part of the plan has no texts")
		}
	}
	if err := p.Rules.Check(); err != nil {
		return err
	}
	if err := p.Evidence.check(p); err != nil {
		return err
	}
	if err := p.checkChoose(); err != nil {
		return err
	}
	if err := p.checkLearning(); err != nil {
		return err
	}
	if err := p.Ending.check(p); err != nil {
		return err
	}
	return privacy.Validate(p.Event())
}

// Texts is how many are written in all: Shots, which the parts pay for, and after them model-generated
// ones.
func (p Plan) Texts() int {
	if p.Choose == nil || p.Choose.Own == nil {
		return p.Shots
	}
	return p.Shots + p.Choose.Own.Texts
}

// Units is the declared number of units in all parts together.
func (p Plan) Units() int64 {
	var n int64
	for _, part := range p.Parts {
		n += part.Size
	}
	return n
}

// Reads reports whether the plan looks at records.
func (p Plan) Reads() bool {
	return p.WritesFromRecords() || p.Count != nil || p.Discover != nil || p.Ending != nil || p.Evidence != nil || p.Choose != nil
}

// WritesFromRecords reports whether texts are written from records.
func (p Plan) WritesFromRecords() bool {
	return slices.ContainsFunc(p.Parts, func(part Part) bool { return part.Method.Scheme().Kind != "" })
}
