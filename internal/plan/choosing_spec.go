package plan

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	number := func(name, help, otherwise string) method.Setting {
		return method.Setting{Name: name, Type: method.Int, Help: help, Default: otherwise, Suites: true}
	}
	var utilities []string
	for _, u := range choose.Utilities() {
		utilities = append(utilities, string(u))
	}
	own := number("own", "texts that the model writes by itself beside those from records; below 0: none", fmt.Sprintf("%d, or as many as there are labels", ownBeside))
	own.Negative = true
	method.Register(method.Spec{
		Name: Chooses, Kind: method.Choosing, Guarantee: method.Proven,
		Summary: "let records choose a prompt among ones that are made up",
		Idea: "The model writes a pool of texts by itself, which costs no ε, or if asked to from the records. Then come rounds: some records are drawn, the model answers " +
			"each one's question with each of several prompts made from the pool, and the prompt that answers most of them rightly is chosen by the exponential " +
			"mechanism. Later rounds vary the winner, and in a last one, with more weight, winners and no examples meet. Of all rounds only the winners are released.",
		Cost:  "Each round reads each prompt once, and asks it the questions of the records that were drawn. --time says how long the whole run may take, five minutes by default: how many texts, rounds, prompts and records there are follows from that and from the model's speed, which is measured.",
		When:  "The default: what is chosen is a prompt that works for the records, and usually better than texts written from them.",
		Proof: choose.Choice{}.Proof(), Cites: "McSherry and Talwar 2007 (exponential mechanism); Dong, Durfee and Rogers 2020 (bounded range)",
		Draws: "records for each round, each by itself", Calibrates: "range",
		Steps: []string{
			"Make a pool of texts: model-generated ones, those of the user or of another model, and some that are written from the records for a share of ε if that is asked for.",
			"Propose candidate prompts: sets of texts in an order, each with an instruction and a way to read the answer.",
			"Draw records, each by itself with probability q. The trusted model answers each one's question with each candidate; a record gives a candidate a number from 0 to 1, by default 1 if the answer is right.",
			"Choose a candidate s with probability proportional to exp(ε_r · the sum of its numbers), and release which one it is.",
			"Make the next candidates from the winner, by exchanging, moving, adding and dropping texts, and continue with a fresh draw until the rounds are over.",
			"Where there are three rounds or more: draw more records, and choose with more weight among the latest winners, that of the first round and no examples.",
		},
		Not:   "Where the model cannot be trusted with the records, or nobody can say which answer is right. Below a hundred records it was not measured.",
		Event: "repeat(R, poisson(q, boundedrange(ε_r))) and poisson(q', boundedrange(ε_l)) for the last round, after what the texts of the pool cost", Theorem: "P33",
		Needs: "scores of given tokens",
		Settings: []method.Setting{
			number("rounds", "rounds of choosing, before the last one", "what the work is enough for"),
			number("heats", "rounds with sets at random, before those that vary the winner", "1"),
			number("records", "records of a round", "what the work is enough for"),
			number("first", "sets of examples that the first round proposes", fmt.Sprintf("%d, fewer with little work", firstSets)),
			number("next", "sets of examples that a later round proposes", fmt.Sprintf("%d to %d, what the work is enough for", nextSets, manyNext)),
			number("pool", "texts that sets are made from", fmt.Sprintf("%d, or %d from records", OwnPool, DefaultPool)),
			number("max_shots", "examples of a prompt, at most", fmt.Sprint(maxShots)),
			{Name: "utility", Type: method.Choice, Help: "what a record says about a prompt", Choices: utilities, Default: "hard; rouge for written outputs", Suites: true},
			{Name: "reading", Type: method.Choice, Help: "how labels are read off answers", Choices: []string{string(search.Raw), string(search.Calibrated)}, Default: "either way", Suites: true},
			{Name: "form", Type: method.Choice, Help: "form of the prompts that are judged: turns of a chat, whose answers are what the model writes, or one text", Choices: []string{string(prompt.ChatForm), string(prompt.TextForm)}, Default: "chat, where the model follows turns", Suites: true},
			{Name: "work", Type: method.Float, Help: "tokens that may go through the model to choose and to measure", Default: fmt.Sprintf("what the time is enough for; %d in suites, which do not measure it", DefaultWork), Suites: true},
			{Name: "writing", Type: method.Float, Help: "share of ε for writing the pool from the records; 0 or less has the model write it by itself", Default: "0", Negative: true, Max: 1, Suites: true},
			{Name: "evidence", Type: method.Float, Help: "share of ε for adding up all records as evidence for labels, which prompts may use; below 0 there is none", Default: fmt.Sprintf("%v for a closed list of labels, with %d records for each at ε = 1; 0 in suites", DefaultEvidence, minPerLabel), Negative: true, Max: 1, Suites: true},
			number("nearest", "prompts compete that give each question its nearest examples of the pool, so many and half as many", "none"),
			{Name: "last", Type: method.Float, Help: "weight of the last round, as a multiple of another one's; below 0 there is none", Default: fmt.Sprintf("%v, after at least %d others", lastWeight, lastAfter), Negative: true, Suites: true},
			{Name: "own_words", Type: method.Bool, Help: "leave out instructions beside the task's own and those that are given", Suites: true},
			own,
		},
	})
}

// ChoosingOf returns what values of the settings of choose ask for.
func ChoosingOf(v method.Values) *ChooseRequest {
	return &ChooseRequest{
		Pool: v.Int("pool", 0), Writing: v.Float("writing", 0), Rounds: int64(v.Int("rounds", 0)), ExplorationRounds: int64(v.Int("heats", 0)),
		Records: int64(v.Int("records", 0)), First: v.Int("first", 0), Next: v.Int("next", 0), MaxShots: v.Int("max_shots", 0),
		Evidence: v.Float("evidence", 0), Work: v.Float("work", 0), Last: v.Float("last", 0), OwnWords: v.Is("own_words"), Own: v.Int("own", 0),
		Utility: choose.Utility(v.Word("utility", "")), Reading: search.Reading(v.Word("reading", "")),
		Form: prompt.Form(v.Word("form", "")), Nearest: v.Int("nearest", 0),
	}
}
