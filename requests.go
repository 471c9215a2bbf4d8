package sotto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Request says which texts, prompt or answers are wanted, and at which ε. It is public: write it without looking at the
// data. All but Task, Epsilon and Size has a default.
type Request struct {
	// Task is required.
	Task prompt.Task
	// Method is one of [Methods], or for answers of [AnswerMethods]; "clipped" by default.
	Method string
	// Epsilon is required for methods with a guarantee.
	Epsilon float64
	// Delta is min(1e-6, n^-1.1) by default.
	Delta float64
	// Unit that is protected is a record by default, or all records of a user: "user:COLUMN".
	Unit privacy.Unit
	// Size is the declared number of units of the whole data. It or Sizes is required, unless Count.
	Size int64
	// Sizes are those of labels; labels that are not in it share what is left of Size evenly, by default all of it.
	Sizes map[string]int64
	// Count the sizes instead, with noise. Default: they are declared.
	Count bool
	// CountEpsilon is what counting costs; a twentieth of Epsilon by default.
	CountEpsilon float64
	// MinSize is how many units each part has at least, where they are counted; 1000 by default.
	MinSize int64
	// Shots is the number of texts; the task's by default.
	Shots int
	// Tokens that a text has at most; the task's by default.
	Tokens int
	// Conditions of an open task; the task's by default.
	Conditions []string
	// Discover finds the conditions in the data instead. Default: they are given.
	Discover bool
	// DiscoverEpsilon is what discovering costs; a tenth of Epsilon by default.
	DiscoverEpsilon float64
	// Ending finds the last words that most records share, and ends every text with them. Default: none.
	Ending bool
	// EndingEpsilon is what finding the ending costs; a twentieth of Epsilon by default.
	EndingEpsilon float64
	// Rules for texts; nil takes the task's defaults.
	Rules *Rules
	// Answers is how many answers Epsilon is for, together; 1 by default. It is for [Client.Answers] alone.
	Answers int64
	// Sampler of records; the method's by default.
	Sampler Sampler
	// Settings of the method, by name: a number, a text or a bool. make docs lists them.
	Settings map[string]any
	// Choosing has the records choose a prompt that is made from the texts; nil writes texts and no more. [Client.Choose]
	// sets it. Shots is then the number of examples that a set has to begin with.
	Choosing *ChooseRequest
	// Learning adds all records up as a classifier without a language model, and does nothing else. [Client.Learn]
	// sets it.
	Learning *LearnRequest
}

// ChooseRequest says how records choose a prompt: of sets of examples from a pool of texts, in rounds. The zero value has good
// defaults, by the time of the run and the speed of the model.
type ChooseRequest struct {
	// Pool is how many texts are written: 40 by default, 24 where they are written from records.
	Pool int
	// NoGeneration: no text is written, and the pool is Examples. Default: Pool texts are.
	NoGeneration bool
	// Writing is the share of ε for writing the pool from the records, by the method of the request. With 0, the
	// default, or less the model writes it by itself, which costs nothing: all of ε chooses.
	Writing float64
	// Own is how many texts the model writes by itself beside those from records. By default 16, or one for each label if
	// there are more; below 0 none.
	Own int
	// Rounds before the last one. By default a model of the search decides.
	Rounds int64
	// Records of a round, on average. By default a model of the search decides.
	Records int64
	// First is how many sets the first round proposes. By default a model of the search decides.
	First int
	// Next is how many sets a later round proposes. By default a model of the search decides.
	Next int
	// ExplorationRounds have sets at random, before the rounds that vary the winner. By default a model of the search
	// decides.
	ExplorationRounds int64
	// Last is how much weight the last round has against noise, as a multiple of that of another one: 1.5 by default,
	// where there are at least three others. Below 0 there is none.
	Last float64
	// Measuring is the share of ε for saying in the end for how many records the chosen prompt is right: 0.05 by default, 0.1 with evidence;
	// below 0 nothing is measured.
	Measuring float64
	// Shots is how many examples a set has to begin with; the task's by default.
	Shots int
	// MaxShots is how many examples a set has at most; 16 by default.
	MaxShots int
	// Utility of a prompt for a record; the task's kind and the form decide by default.
	Utility Utility
	// Work is about how many tokens may go through the model once there is a pool, to choose and to measure. Default:
	// what the run's Time allows at the model's speed.
	Work float64
	// Examples are public ones that may be part of sets. Default: none.
	Examples []prompt.Example
	// Instructions are other public wordings of the task's. Default: none.
	Instructions []string
	// OwnWords leaves out instructions that a task with written outputs has beside its own and Instructions
	// ([prompt.Task.Wordings]).
	OwnWords bool
	// Made is what another model made up already; [SynthesizeOptions].Pool fills it in.
	Made *PoolContent
	// Vary is how many texts are written after each round like the examples of its winner; 0 by default.
	Vary int
	// Evidence is the share of ε for adding up all records as evidence for labels. With 0 a rule decides, if the encoder
	// was fetched; below 0 there is none.
	Evidence float64
	// Encoder of texts, by its name; the default one is opened where it is needed.
	Encoder string
	// Nearest has prompts compete that give each question the examples of the pool that are nearest to it, by Encoder: so
	// many, and half as many; 0 or less has none. It is for tasks without a closed list of labels.
	Nearest int
	// Schema is that of the table whose rows, in words, are the records, if they are.
	Schema *schema.Schema
	// Form that clients ask in; chat by default where the model has a template for it.
	Form prompt.Form
	// Reading of labels is raw or calibrated; what is better by default.
	Reading Reading
	// Sets are ready-made public sets of examples to choose from, in place of random ones. There is one round by
	// default, and no text is written.
	Sets [][]prompt.Example
}

// LearnRequest says how records are added up as a classifier without a language model.
type LearnRequest struct {
	// Encoder of texts, by its name; the default one is opened if it is "".
	Encoder string
	// Schema is that of the table whose rows, in words, are the records, if they are.
	Schema *schema.Schema
	// Measuring is the share of ε for saying in the end for how many records the classifier is right; 0 or less has
	// none.
	Measuring float64
}

// Rules for texts that are written from records. They depend on nothing private.
type Rules struct {
	// MinTokens before a text may end. Of an answer the first one is more than white space, unless this is 0.
	MinTokens int
	// Penalty in nats on a token for each time that it is in the text already, up to three times.
	Penalty float64
	// NoRepeat forbids a token that would complete a sequence of this many tokens that is in the text already; 0 allows
	// all.
	NoRepeat int
	// Contain makes a text hold its condition word for word.
	Contain bool
	// Favour in nats goes to the token that begins the condition, or continues it, until it is there.
	Favour float64
	// After up to so many tokens Favour begins.
	After int
	// Within so many tokens from there the condition begins; 0 leaves it until there is just room.
	Within int
	// Fields ends a text where it names a field of the prompt, such as "Message:".
	Fields bool
	// Close in nats goes to what ends a sentence, or the text after one, growing over the last quarter of a text.
	Close float64
}

// Kinds of things in requests, each a name: constants such as "poisson" can be written as they are.
type (
	// Sampler of records: "poisson", "fixed-size" or "disjoint".
	Sampler = scheme.Kind
	// Utility of a prompt for a record: "hard" (right or not), "soft" (probability of its answer), "written" or "rouge".
	Utility = choose.Utility
	// Reading of labels: "raw" or "calibrated".
	Reading = search.Reading
	// Grade of a record on a prompt, as Utility.
	Grade = measure.Grade
	// TableNoise is that of a profile: "laplace" or "gaussian".
	TableNoise = global.Noise
	// Statistic of a column.
	Statistic = global.Statistic
)

// What requests have of other calls and releases.
type (
	// PoolContent is what a model made up for records to choose from: its name (Model), Examples and Instructions.
	PoolContent = plan.PoolContent
	// NamedPrompt is a prompt and what to call it.
	NamedPrompt = plan.NamedPrompt
	// Evidence is what all records together say about labels, as a release has it.
	Evidence = evidence.Evidence
)

// internal is the request that plans are made of.
func (r Request) internal() plan.Request { return ask.As[plan.Request](r) }

// Pool says who makes up what prompts are built from, where records choose: any model, since
// it is shown the task, public labels, phrases or inputs, and what was released, and never a
// record. The zero value leaves it to the model of the run.
type Pool struct {
	// Model that writes the texts to choose from: on any server, trusted or not, or in this
	// process. With it no ε is spent on writing, unless the request says so. Default: none.
	Model *backend.Spec
	// Author is used instead of Model if it is set, and stays open.
	Author lm.Model
	// Texts is how many. Default: as the request's Pool, or 40, more for many labels.
	Texts int
	// Reword is how many other wordings of the task's instruction are candidates. Default: 4
	// with a Model, and else none; below 0 none. Without a Model the run's own
	// writes them.
	Reword int
	// Time bounds how long a model may take. Default: that of the run, and a minute at least.
	Time time.Duration
}

// hosted reports whether another model than that of the run writes.
func (p Pool) hosted() bool { return p.Model != nil || p.Author != nil }

// wordings is how many other wordings of the instruction are asked for.
func (p Pool) wordings() int {
	if p.Reword == 0 && p.hosted() {
		return 4
	}
	return max(p.Reword, 0)
}

// remote reports whether a server writes.
func (p Pool) remote() bool { return p.Author == nil && p.Model != nil && p.Model.Remote() }

// Plans have the settings and the event that a request comes to. They are JSON: one plan serves many runs.
type (
	// Plan of texts, or of a prompt that records choose.
	Plan = plan.Plan
	// AnswerPlan is the plan of one answer.
	AnswerPlan = plan.Answers
	// MeasurePlan is the plan of a measurement.
	MeasurePlan = plan.Measurement
	// ProfilePlan is the plan of a profile.
	ProfilePlan = plan.Profile
	// PerturbPlan is the plan of a perturbation.
	PerturbPlan = plan.Local
	// Cost is what a plan takes of a model.
	Cost = plan.Cost
)

// Progress reports how a run or a session goes, in numbers and public words.
type Progress = env.Progress

// Kinds of progress that programs look at; the others have a name and a message.
const (
	// Notice reports a message for people, once.
	Notice = env.Noted
	// Cautioned reports what weakens the guarantee, or what the examples are worth.
	Cautioned = env.Cautioned
	// Wrote reports one more token of a text or an answer.
	Wrote = env.Wrote
	// Released reports that a text is complete.
	Released = env.Released
	// Encoded reports that some records were encoded.
	Encoded = env.Encoded
	// Judged reports that some records have judged the prompts of a round.
	Judged = env.Judged
	// Chose reports that the records have chosen a prompt.
	Chose = env.Chose
)

// Approval is the plan of a use that somebody looked at before it is carried out, maybe days before and
// elsewhere. The zero value asks for that plan: the call fills it in and ends with [ErrUnapproved].
type Approval struct {
	// Plan that was approved, as JSON.
	Plan json.RawMessage `json:"plan,omitempty"`
	// Event is what it does to the data, which is what is charged: for answers, each of them.
	Event string `json:"event"`
}

// ErrUnapproved ends a call whose plan nobody has approved yet. No record was read and nothing is charged.
var ErrUnapproved = errors.New("nobody has approved the plan yet")

// ChangedError says that a call would carry out another plan than the one that was approved: the program, the
// model or a file has changed since. No record was read and nothing is charged.
type ChangedError = plan.ChangedError

// Check holds a plan against the one that was approved. A nil approval is anybody's.
func (a *Approval) Check(p any, event privacy.Event) error {
	if a == nil {
		return nil
	}
	made, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	does := privacy.Canonical(event).String()
	if len(a.Plan) == 0 {
		a.Plan, a.Event = made, does
		return ErrUnapproved
	}
	if does != a.Event {
		return &ChangedError{Reason: fmt.Sprintf("it would now charge %s, and was to charge %s", does, a.Event)}
	}
	var approved bytes.Buffer
	if err := json.Compact(&approved, a.Plan); err != nil {
		return &ChangedError{Reason: "what was approved cannot be read"}
	}
	if !bytes.Equal(approved.Bytes(), made) {
		return &ChangedError{Reason: "other settings would be used (" + differing(approved.Bytes(), made) + ")"}
	}
	return nil
}

// approved is the plan of texts that was approved, if one was.
func (a *Approval) approved() (p plan.Plan, ok bool) {
	if a == nil || len(a.Plan) == 0 || json.Unmarshal(a.Plan, &p) != nil {
		return plan.Plan{}, false
	}
	return p, true
}

// differing names the parts in which two plans differ.
func differing(a, b []byte) string {
	var one, other map[string]json.RawMessage
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return "all of them"
	}
	names := map[string]bool{}
	for _, both := range [][2]map[string]json.RawMessage{{one, other}, {other, one}} {
		for name, value := range both[0] {
			if !bytes.Equal(value, both[1][name]) {
				names[name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// InputError says why a request cannot be met. Its Option, if any, is the field of the
// options that would change that.
type InputError = plan.InputError

func wrong(format string, args ...any) error { return wrongAbout("", format, args...) }

func wrongAbout(option, format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), Option: option}
}
