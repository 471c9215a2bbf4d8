package sotto

import (
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/private/table/global"
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
	// Least units that each part has, where they are counted; 1000 by default.
	Least int64
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
	// Settings of the method, by name: a number, a text or a bool. docs/methods lists them.
	Settings map[string]any
	// Choosing has the records choose a prompt that is made from the texts; nil writes texts and no more. [Client.Choose]
	// sets it. Shots is then the number of examples that a set has to begin with.
	Choosing *Choosing
	// Learning adds all records up as a classifier without a language model, and does nothing else. [Client.Learn]
	// sets it.
	Learning *Learning
}

// Choosing says how records choose a prompt: of sets of examples from a pool of texts, in rounds. The zero value has good
// defaults, by the time of the run and the speed of the model.
type Choosing struct {
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
	// Most is how many examples a set has at most; 16 by default.
	Most int
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
	Made *Made
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

// Learning says how records are added up as a classifier without a language model.
type Learning struct {
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
	// Least tokens before a text may end. Of an answer the first one is more than white space, unless this is 0.
	Least int
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

// MeasureRequest asks how well prompts do on private records.
type MeasureRequest struct {
	// Task is required.
	Task prompt.Task
	// Prompts are required.
	Prompts []NamedPrompt
	// Evidence is that of the release that the prompts which use evidence are of; nil if none does.
	Evidence *Evidence
	// Form of prompts that have none; the model decides by default.
	Form prompt.Form
	// Epsilon is required.
	Epsilon float64
	// Delta is min(1e-6, n^-1.1) by default.
	Delta float64
	// Unit is a record by default.
	Unit privacy.Unit
	// Size is the declared number of units. Required.
	Size int64
	// Records is about how many are asked, each about every prompt; 1000 by default, or all if there are fewer. Noise
	// weighs the less the more are asked, at the same ε: what bounds it is time.
	Records int64
	// Grade of a record: right or wrong by default, and for written outputs their overlap with what the model writes.
	Grade Grade
	// Sampler is Poisson by default; a fixed size is for replace-one adjacency.
	Sampler Sampler
	// Uncounted: records are not counted by label, for example since how many have each is declared. Where they are is
	// decided by how much noise that adds.
	Uncounted bool
}

// ProfileRequest asks for typical rows of a table's groups.
type ProfileRequest struct {
	// Schema is required.
	Schema schema.Schema
	// Epsilon is required; +Inf adds no noise, and is NOT PRIVATE.
	Epsilon float64
	// Delta is 0 by default: Gaussian noise needs one, and takes min(1e-6, n^-1.1) of a declared Size.
	Delta float64
	// Adjacency is add-remove by default.
	Adjacency privacy.Adjacency
	// Unit is a record by default.
	Unit privacy.Unit
	// RowsPerUnit is how many rows of another unit than a record are used at most; 1 by default.
	RowsPerUnit int
	// Size is the declared number of rows. It is for the prediction of errors only.
	Size int64
	// Rate samples the units first; 0 takes all of them. At equal ε the noise relative to what is left is not smaller.
	Rate float64
	// Groups whose product the rows are divided into; none makes one group of all.
	Groups []schema.Group
	// Noise is "laplace" by default, or "gaussian".
	Noise TableNoise
	// Statistics of columns; their mean or mode by default.
	Statistics map[string]Statistic
	// Quantiles of columns that have them; the median by default.
	Quantiles map[string][]float64
	// Cells of the grids of columns with quantiles; the method's by default.
	Cells map[string]int
	// Weights are the shares of the budget that columns have relative to each other; 1 by default. Where a Size is declared,
	// modes without a weight have less if that is enough.
	Weights map[string]float64
	// CountWeight is that of the count of rows; 1 by default.
	CountWeight float64
	// Even keeps modes without a weight at 1. Default: they have less if that is enough.
	Even bool
	// Published divides the budget and adds up as Carey et al. 2024 do: a share for every column, of which numeric ones
	// spend half on a count of their own, sums that are not centred, and modes by the largest of noisy counts. (Their
	// noise is for a sensitivity of high − low, which is less than what a row can do if low is above 0 or high below it;
	// ours is for the larger bound.)
	Published bool
}

// PerturbRequest asks for perturbed rows.
type PerturbRequest struct {
	// Schema of the table, all of whose columns are discrete. Required.
	Schema schema.Schema
	// Epsilon of a row. Required.
	Epsilon float64
	// Weights of columns; those that are not named have 1. None: by Split.
	Weights map[string]float64
	// Split is "equal" by default, "weights" if there are weights, or "optimal".
	Split string
	// Rows is the declared number of rows, for predictions. Optional.
	Rows int64
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
	// Made is what a model made up for records to choose from: its name (Model), Examples and Instructions.
	Made = plan.Made
	// NamedPrompt is a prompt and what to call it.
	NamedPrompt = plan.NamedPrompt
	// Evidence is what all records together say about labels, as a release has it.
	Evidence = evidence.Evidence
)

// internal is the request that plans are made of.
func (r Request) internal() plan.Request { return ask.As[plan.Request](r) }
