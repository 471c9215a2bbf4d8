package suite_test

import (
	"context"
	"hash/fnv"
	"maps"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// TestVotes: labels are voted on from all records together, beside demonstrations of each
// label, and rows of both are about the same questions.
func TestVotes(t *testing.T) {
	s := helpline(t, `
items = 12
epsilon = [4]
queries = [2]
shots = [3]
calibrate = [true, false]

[[method]]
method = "zero"

[[method]]
method = "vote"
batch = 5

[[method]]
method = "vote"
name = "vote soft"
ballot = "soft"
batch = 5

[[method]]
method = "vote"
name = "vote threshold"
noise = "threshold"
threshold = 0.5
uncalibrated = true
prompts = 4
per_prompt = 2

[[method]]
method = "real"
`)
	o := options(t, &toy{name: "toy"})
	o.Parallel = 3
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	events := map[string]string{}
	for _, r := range result.Rows {
		if r.Metric != "accuracy" || r.N != 12 {
			t.Errorf("%+v", r)
		}
		if r.Online {
			events[r.Name] = r.Event
		}
		if r.Online && (r.EpsilonUpper > 4 || r.EpsilonUpper < 3.9 || r.Queries != 2 || r.Metrics["macro_f1"] < 0) {
			t.Errorf("%+v", r)
		}
	}
	for name, want := range map[string]string{"vote": "boundedrange(", "vote soft": "boundedrange(", "vote threshold": "repeat(2, poisson("} {
		if !strings.Contains(events[name], want) {
			t.Errorf("the event of %s is %s", name, events[name])
		}
	}
	if len(result.Rows) != 2+3+2 {
		t.Errorf("%d rows", len(result.Rows))
	}
}

// directions is an encoder that gives every sentence one of 26 directions.
type directions struct{}

func (directions) Name() string   { return "directions" }
func (directions) Dimension() int { return 26 }
func (directions) Close() error   { return nil }

func (directions) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 26)
		h := fnv.New32a()
		_, _ = h.Write([]byte(text))
		out[i][h.Sum32()%26] = 1
	}
	return out, nil
}

// TestWholeAnswers: sentences are written by many prompts, and become one.
func TestWholeAnswers(t *testing.T) {
	s := notes(t, `
items = 4
epsilon = [4]
queries = [0]

[[method]]
method = "embedding"
batch = 5
candidates = 3

[[method]]
method = "keyword"
batch = 5
candidates = 3
keywords = 2
select = "ptr"
`)
	o := options(t, &toy{name: "toy"})
	var err error
	if o.Sentences, err = lm.TrustEmbedder(directions{}, lm.InProcess); err != nil {
		t.Fatal(err)
	}
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range result.Rows {
		at := expect.At(t, "%+v", r)
		expect.True(at, "r.Online", r.Online)
		expect.Equal(at, "r.Queries", r.Queries, 4)
		expect.Max(at, "r.EpsilonUpper", r.EpsilonUpper, 4)
		expect.True(at, "r.AnswerTokens other than 0", r.AnswerTokens != 0, r.AnswerTokens)
		expect.True(at, "r.Metrics['answer_words'] other than 0", r.Metrics["answer_words"] != 0, r.Metrics["answer_words"])
	}
	if len(result.Rows) != 2 {
		t.Errorf("%d rows", len(result.Rows))
	}
}

// TestSettingsReachThePlan: what a file says of answers is what package plan is asked for.
func TestSettingsReachThePlan(t *testing.T) {
	s, err := suite.Parse("mine", []byte(strings.Replace(small, `method = "clipped"`, "", 1)+`
method = "mixing"
online = true
queries = [7]
mean = "product"
max_lambda = 0.5
per = "token"
batch = 3
tokens = 5
penalty = 0.25
no_repeat = 6
min_tokens = 2
[[method]]
method = "mixing-published"
order = 9
[[method]]
method = "vote"
noise = "threshold"
ballot = "hard"
threshold = 3.0
uncalibrated = true
[method.on.agnews]
threshold = 2.0
[[method]]
method = "keyword"
keywords = 4
select = "ptr"
`))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	mixing, published, vote, keyword := cells[0].Request(), cells[1].Request(), cells[2].Request(), cells[3].Request()
	r := mixing
	expect.Equal(t, "r.Answers", r.Answers, 7)
	expect.True(t, "r.Settings equal to method.Values{'mean': 'product', 'max_lambda': 0.5, 'per': 'token', 'batch': 3}", maps.Equal(r.Settings, method.Values{"mean": "product", "max_lambda": 0.5, "per": "token", "batch": 3}), r.Settings)
	expect.Equal(t, "r.Tokens", r.Tokens, 5)
	expect.Equal(t, "r.Shots", r.Shots, 0)
	expect.Equal(t, "r.Rules.Penalty", r.Rules.Penalty, 0.25)
	expect.Equal(t, "r.Rules.NoRepeat", r.Rules.NoRepeat, 6)
	expect.Equal(t, "r.Rules.MinTokens", r.Rules.MinTokens, 2)
	r = published
	expect.True(t, "r.Settings equal to method.Values{'order': 9}", maps.Equal(r.Settings, method.Values{"order": 9}), r.Settings)
	expect.Equal(t, "r.Shots", r.Shots, 4)
	expect.Equal(t, "r.Answers", r.Answers, 0)
	expect.True(t, "no r.Rules", r.Rules == nil, r.Rules)
	if r := vote; !maps.Equal(r.Settings, method.Values{"noise": "threshold", "ballot": "hard", "threshold": 2., "uncalibrated": true}) || r.Answers != 1 {
		t.Errorf("%+v", r)
	}
	if r := keyword; !maps.Equal(r.Settings, method.Values{"keywords": 4, "select": "ptr"}) {
		t.Errorf("%+v", r)
	}
}
