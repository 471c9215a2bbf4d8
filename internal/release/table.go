package release

import "math"

// Origin states how examples were made.
type Origin string

// The origins.
const (
	// Written: token by token, by a language model. The default.
	Written Origin = ""
	// Chosen: by private records, from generated and given texts.
	Chosen Origin = "chosen"
	// Learned: there are no examples, but a classifier of all records that needs no language model.
	Learned Origin = "learned"
	// Averaged: each is the noisy average of a group of rows.
	Averaged Origin = "averaged"
	// Sampled: drawn from a distribution that was estimated from perturbed rows.
	Sampled Origin = "sampled"
	// Drawn: from a distribution estimated from noisy histograms.
	Drawn Origin = "drawn"
)

// Table shows released numbers beside the examples.
type Table struct {
	Title string
	// Note explains how to read it.
	Note string
	Head []string
	Rows [][]Cell
}

// Cell is a text, with a bar below it if it is an estimate.
type Cell struct {
	Text string
	Bar  *Bar
}

// Bar is an estimate between Low and High, as shares of the width from 0 to 1.
type Bar struct{ Low, At, High float64 }

// barWidth is the width of the drawing.
const barWidth = 100.0

// place converts a share to a position in the drawing.
func place(share float64) float64 { return barWidth * min(1, max(0, share)) }

// X returns the left end of the bar.
func (b Bar) X() float64 { return place(b.Low) }

// Width returns the width of the bar, at least wide enough to be seen.
func (b Bar) Width() float64 { return math.Max(1, place(b.High)-place(b.Low)) }

// Mark returns the position of the estimate.
func (b Bar) Mark() float64 { return place(b.At) }

// originWords describes in a sentence how examples came about.
var originWords = map[Origin]string{
	Written:  "written token by token by a language model",
	Chosen:   "chosen by private records from texts that a language model wrote or that were given",
	Averaged: "each of which describes a group of rows by noisy averages",
	Sampled:  "drawn from a distribution that was estimated from perturbed rows",
	Drawn:    "drawn from a distribution that was made of noisy histograms",
}

var writtenLimits = []string{
	"Facts. A language model made the texts up; names, numbers and events in them may be wrong, or right by chance.",
	"A sample of the data. It does not have its statistics, and a model trained on it alone learns little.",
	"A judgement about content. The model's own habits and prejudices, and those that many records share, may show.",
}

// madeLimits lists what readers must not expect, by origin.
var madeLimits = map[Origin][]string{
	Written: writtenLimits,
	Chosen:  append([]string{"The best prompt for every model. Records chose it by the answers of one, and another may answer better with another."}, writtenLimits...),
	Learned: {
		"Right every time. It knows the labels of its task alone: a text that belongs to none of them gets one all the same, sometimes with a high probability.",
		"A judgement about content. What many records share, their prejudices too, is what it passes on.",
	},
	Averaged: {
		"Rows. No row has these values: they are averages and most frequent values of groups, with noise.",
		"Exact. Where a group is small, most of what is said of it is noise.",
		"A judgement about people. What is true of a group on average is not true of everybody in it.",
	},
	Sampled: {
		"Rows. Each was made up: its values are as likely together as an estimate of the distribution says.",
		"Exact. Combinations that are rare in the data may come out too often or not at all.",
		"A judgement about people. What often goes together in the data may be unfair.",
	},
	Drawn: {
		"Rows. Each was made up: its values go with its answer as often as noisy histograms say, and with each other no more than that.",
		"Exact. Values that are rare in the data may come out too often or not at all.",
		"A judgement about people. What often goes together in the data may be unfair.",
	},
}
