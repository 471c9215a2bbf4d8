package result

// Row is the result of one demonstration set, or of one ensemble of records that answered
// online.
type Row struct {
	// Key names the row among all: a hash of everything that determines it.
	Key string `json:"key" parquet:"key"`
	// Suite it belongs to.
	Suite string `json:"suite,omitempty" parquet:"suite"`

	// Dataset and Task as the suite calls them.
	Dataset string `json:"dataset" parquet:"dataset"`
	Task    string `json:"task" parquet:"task"`
	// Method is the mechanism ("clipped", "real", "zero" for no demonstrations, …), Name
	// the suite's name of it with these settings, Settings those that differ, for people.
	Method   string            `json:"method" parquet:"method"`
	Name     string            `json:"name" parquet:"name"`
	Settings map[string]string `json:"settings,omitempty" parquet:"settings"`
	// Epsilon that was requested: 0 where no record is used, nil where nothing protects
	// them. Delta goes with it. EpsilonUpper is the accountant's bound for Event.
	Epsilon      *float64 `json:"epsilon" parquet:"epsilon,optional"`
	Delta        float64  `json:"delta,omitempty" parquet:"delta"`
	EpsilonUpper float64  `json:"epsilon_upper,omitempty" parquet:"epsilon_upper"`
	Event        string   `json:"event,omitempty" parquet:"event"`
	// Claimed: a paper claims this ε without a valid proof.
	Claimed bool `json:"claimed,omitempty" parquet:"claimed"`
	// Online: records answered each test item directly, without released demonstrations.
	// Then Epsilon covers Queries answers together and Event is the event of one of them.
	// Otherwise Epsilon covers any number of answers.
	Online  bool  `json:"online,omitempty" parquet:"online"`
	Queries int64 `json:"queries,omitempty" parquet:"queries"`

	// Shots is the number of demonstrations, Seed what they were written from.
	Shots int    `json:"shots" parquet:"shots"`
	Seed  uint64 `json:"seed" parquet:"seed"`
	// Model wrote the demonstrations, Answerer answered with them.
	Model    string `json:"model" parquet:"model"`
	Answerer string `json:"answerer" parquet:"answerer"`
	// Calibrated: labels' probabilities were divided by what questions without content
	// give them.
	Calibrated bool `json:"calibrated" parquet:"calibrated"`

	// Metric with its Value, the mean over N items, and each item's score, in the order
	// of the test items, which is the same for all rows of a data set. Metrics holds
	// others, of the answers ("macro_f1", "rouge_l", "answer_words") and of the
	// demonstrations ("distinct_2", "words").
	Metric  string             `json:"metric" parquet:"metric"`
	Value   float64            `json:"value" parquet:"value"`
	N       int                `json:"n" parquet:"n"`
	Items   []float64          `json:"items,omitempty" parquet:"items,list"`
	Metrics map[string]float64 `json:"metrics,omitempty" parquet:"metrics"`

	// WriteTokens went through the model to write the demonstrations, PublishedTokens
	// would have in the schedule of the papers' programs, AnswerTokens went through to
	// answer. Seconds are those of writing and of answering.
	WriteTokens     int64   `json:"write_tokens" parquet:"write_tokens"`
	PublishedTokens int64   `json:"published_tokens,omitempty" parquet:"published_tokens"`
	AnswerTokens    int64   `json:"answer_tokens" parquet:"answer_tokens"`
	WriteSeconds    float64 `json:"write_seconds" parquet:"write_seconds"`
	AnswerSeconds   float64 `json:"answer_seconds" parquet:"answer_seconds"`
	// Version of the program.
	Version string `json:"version" parquet:"version"`
}
