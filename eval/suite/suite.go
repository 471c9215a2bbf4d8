package suite

// Suite says what to compare: every data set with every method at every ε, with every
// number of shots, from every seed, written and answered by every model.
type Suite struct {
	// Name is that of the file unless told, Title and About are for people.
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
	// Delta of methods with a guarantee. Default: that of package plan for the size.
	Delta float64 `toml:"delta"`

	Datasets []Dataset `toml:"dataset"`
	Methods  []Method  `toml:"method"`
	// Published are values of papers to print beside ours.
	Published []Published `toml:"published"`

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
	// Delta, Epsilon, Shots and Items override the suite's, Tokens the task's.
	Delta   float64   `toml:"delta"`
	Epsilon []float64 `toml:"epsilon"`
	Shots   []int     `toml:"shots"`
	Items   int       `toml:"items"`
	Tokens  int       `toml:"tokens"`
	// Conditions to write texts for, where labels are open.
	Conditions []string `toml:"conditions"`
}

// Method is one way to get demonstrations, with settings.
type Method struct {
	// Method is zero (no demonstrations), public, clipped, gaussian, noisymax, radius,
	// nonprivate or real. Name is what reports call it; default: Method.
	Method string `toml:"method"`
	Name   string `toml:"name"`
	// Epsilon overrides the suite's; methods that have none ignore all of them.
	Epsilon []float64 `toml:"epsilon"`
	// Datasets that it is tried on, by name. Default: all.
	Datasets []string `toml:"datasets"`
	Settings
	// On has settings for data sets by name, which come before the others.
	On map[string]Settings `toml:"on"`
}

// Settings of methods; 0 leaves the choice to package plan.
type Settings struct {
	Batch       int     `toml:"batch"`
	Temperature float64 `toml:"temperature"`
	Gain        float64 `toml:"gain"`
	Centre      string  `toml:"centre"`
	Candidates  int     `toml:"candidates"`
	Prompts     int     `toml:"prompts"`
	PerPrompt   int     `toml:"per_prompt"`
	Rounds      int     `toml:"rounds"`
	Lambda      float64 `toml:"lambda"`
	Sigma0      float64 `toml:"sigma0"`
	Sigma2      float64 `toml:"sigma2"`
	Tokens      int     `toml:"tokens"`
	Shots       []int   `toml:"shots"`
	// Discover finds labels in the data, at a price, for tasks with open labels.
	Discover bool `toml:"discover"`
	// Rules: Penalty of repeated tokens, NoRepeat length of sequences that do not come
	// twice; nil takes the defaults.
	Penalty  *float64 `toml:"penalty"`
	NoRepeat *int     `toml:"no_repeat"`
}

// Published is a value from a paper. Epsilon is nil for methods without a guarantee.
type Published struct {
	Dataset string   `toml:"dataset"`
	Method  string   `toml:"method"`
	Epsilon *float64 `toml:"epsilon"`
	Shots   int      `toml:"shots"`
	// Setting tells rows of an ablation apart, as a method's Name does.
	Setting string  `toml:"setting"`
	Value   float64 `toml:"value"`
	Std     float64 `toml:"std"`
	Metric  string  `toml:"metric"`
	Model   string  `toml:"model"`
	// Source is the paper and its table.
	Source string `toml:"source"`
}
