package suite

import (
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/prompt"
)

// Suite says what to compare: every data set with every method at every ε, with every
// number of shots, from every seed, written and answered by every model.
type Suite struct {
	// Name defaults to the name of the file; Title and About are for people.
	Name  string `toml:"name"`
	Title string `toml:"title"`
	About string `toml:"about"`
	// Seeds is the number of demonstration sets for each cell, from First on.
	Seeds int    `toml:"seeds"`
	First uint64 `toml:"first_seed"`
	// Items of a test file that are used, the same ones everywhere. 0: all.
	Items int `toml:"items"`
	// Epsilon, Shots (0: the task's), Models (that write) and Answerers (that answer;
	// "same": the one that wrote) are axes.
	Epsilon   []float64 `toml:"epsilon"`
	Shots     []int     `toml:"shots"`
	Models    []string  `toml:"models"`
	Answerers []string  `toml:"answerers"`
	// Calibrate says whether labels are calibrated; an axis too. Default: yes.
	Calibrate []bool `toml:"calibrate"`
	// Form in which prompts are judged and answered: text, or chat, in which answers are what the
	// model writes, and nothing is calibrated. Default: text.
	Form prompt.Form `toml:"form"`
	// Queries is how many answers an ε is for, together, of methods that answer online; an
	// axis. Default, and 0: as many as there are items.
	Queries []int64 `toml:"queries"`
	// Delta of methods with a guarantee. Default: that of package plan for the size.
	Delta float64 `toml:"delta"`

	// Reference is the name of the method that reports compare with the others. Default:
	// clipped, or else the first with an ε.
	Reference string `toml:"reference"`

	Datasets []Dataset `toml:"dataset"`
	Methods  []Method  `toml:"method"`
	// Published are values of papers to print beside ours.
	Published []PublishedValue `toml:"published"`

	// dir is what relative paths begin at.
	dir string
}

// Dataset is a task with its data. Paths are relative to the suite's file, or to the
// folder given when it is run if they begin with "{data}/".
type Dataset struct {
	Name string `toml:"name"`
	// Task is built in, or the path of a file. Default: that of the data set's name.
	Task  string `toml:"task"`
	Train string `toml:"train"`
	Test  string `toml:"test"`
	// SkipMalformed leaves out records of Train that cannot be used. Default: any of them
	// is an error.
	SkipMalformed bool `toml:"skip_malformed"`
	// Size and Sizes (by label) are the declared numbers of records.
	Size  int64            `toml:"size"`
	Sizes map[string]int64 `toml:"sizes"`
	// Group: lines of Test with the same input are one item with several references.
	Group bool `toml:"group"`
	// Delta, Epsilon, Shots, Items and Queries override the suite's; Tokens, of
	// demonstrations, and AnswerTokens the task's.
	Delta        float64   `toml:"delta"`
	Epsilon      []float64 `toml:"epsilon"`
	Shots        []int     `toml:"shots"`
	Items        int       `toml:"items"`
	Queries      []int64   `toml:"queries"`
	Tokens       int       `toml:"tokens"`
	AnswerTokens int       `toml:"answer_tokens"`
	// Conditions to write texts for, where labels are open, or Inputs, a public file of
	// records that have them.
	Conditions []string `toml:"conditions"`
	Inputs     string   `toml:"inputs"`

	// Data is the file of a table, which has Schema in the place of a task: built in, or
	// the path of a file. LocalSchema is for methods that perturb rows, and can only do so
	// where columns have few values. Of the rows, the first TrainRows are those that
	// methods learn from, or a TrainShare, and the others are asked about.
	Data        string  `toml:"data"`
	Schema      string  `toml:"schema"`
	LocalSchema string  `toml:"local_schema"`
	TrainRows   int     `toml:"train_rows"`
	TrainShare  float64 `toml:"train_share"`
}

// Method is one way to get demonstrations, or answers, with settings.
type Method struct {
	// Method is zero (no demonstrations), choose, or one of those that write texts or answer
	// questions: docs/methods has all of them. Tables have zero, real, local, drawn, global
	// and global-published, and baselines that need no language model: majority, lr (logistic
	// regression), gnb (naive Bayes with normal distributions for all columns), nb (with
	// frequencies for discrete ones), and lr-local, gnb-local, lr-private, nb-private. Name is
	// what reports call it; default: Method, with "online" after it for those that need not be.
	Method string `toml:"method"`
	Name   string `toml:"name"`
	// Online: records answer each test item, and no demonstrations are written.
	Online bool `toml:"online"`
	// Epsilon and Queries override the suite's; methods that have none ignore all of them.
	// For those of tables it may be inf: the same without noise, which has no privacy guarantee.
	Epsilon []float64 `toml:"epsilon"`
	Queries []int64   `toml:"queries"`
	// Datasets that it is tried on, by name. Default: all.
	Datasets []string `toml:"datasets"`
	Settings
	// On has settings for data sets by name, which come before the others.
	On map[string]Settings `toml:"on"`
}

// Settings of methods; what is left out is left to the method.
type Settings struct {
	Tokens int   `toml:"tokens"`
	Shots  []int `toml:"shots"`
	// Instructions of choose, beside the task's own.
	Instructions []string `toml:"instructions"`
	// Values are settings of the method itself, by name: docs/methods lists them. A file has
	// them as keys of the method. Zero leaves a number to the method, and candidates below 0
	// are the whole vocabulary.
	Values method.Values `toml:"-"`
	// Of tables: View says whether zero, real and baselines see the columns of Schema
	// ("global", the default) or of LocalSchema ("local"); Reconstruct how local learns from
	// perturbed rows (ibu or inverse), Split how it divides ε among columns (equal or
	// optimal); Rate samples rows for a profile. Near, of local, drawn and real, takes
	// demonstrations that resemble the question: it is by how much less likely a row is for
	// each column that differs, at most 1.
	View        string  `toml:"view"`
	Reconstruct string  `toml:"reconstruct"`
	Split       string  `toml:"split"`
	Rate        float64 `toml:"rate"`
	Near        float64 `toml:"near"`
	// Discover finds labels in the data, at a price, for tasks with open labels.
	Discover bool `toml:"discover"`
	// Rules: Penalty of repeated tokens, NoRepeat length of sequences that do not come
	// twice, MinTokens before a text may end; nil takes the defaults.
	Penalty   *float64 `toml:"penalty"`
	NoRepeat  *int     `toml:"no_repeat"`
	MinTokens *int     `toml:"min_tokens"`
}

// PublishedValue is a value from a paper. Epsilon is nil for methods without a guarantee.
type PublishedValue struct {
	Dataset string   `toml:"dataset"`
	Method  string   `toml:"method"`
	Epsilon *float64 `toml:"epsilon"`
	Shots   int      `toml:"shots"`
	Queries int64    `toml:"queries"`
	// Setting distinguishes rows of an ablation, as a method's Name does.
	Setting string  `toml:"setting"`
	Value   float64 `toml:"value"`
	Std     float64 `toml:"std"`
	Metric  string  `toml:"metric"`
	Model   string  `toml:"model"`
	// Source is the paper and its table.
	Source string `toml:"source"`
}
