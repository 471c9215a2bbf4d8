package main

import (
	"math/rand/v2"
	"strings"

	"github.com/sotto-dp/sotto/prompt"
)

// Made-up news: sentences of a topic, whose places in braces are filled in at random.
var (
	sentences = map[string][]string{
		"World": {
			"The foreign ministers of both countries agreed on {day} to reopen the border after {number} months of talks.",
			"Troops withdrew from the {place} region as the ceasefire between the government and the rebels entered its {number} week.",
			"Thousands of refugees crossed the {place} river, the United Nations said, and aid groups asked for tents and medicine.",
			"The president accused the opposition of delaying the election, which observers had called free and fair.",
			"An envoy is expected in the {place} capital on {day} to discuss sanctions and the release of {number} prisoners.",
			"Parliament rejected the treaty by {number} votes, and protesters gathered outside the embassy until midnight.",
		},
		"Sports": {
			"The striker scored {number} goals in the second half as {place} beat the champions away from home.",
			"The coach said the team would miss its captain, who injured a knee in training on {day}.",
			"{place} won the final in overtime and lifted the cup for the first time in {number} years.",
			"She took the gold medal in the marathon, finishing {number} seconds ahead of the world record holder.",
			"The quarterback threw for {number} yards and two touchdowns before leaving the game in the fourth quarter.",
			"Fans filled the stadium on {day} to see the league leaders draw with the bottom club.",
		},
		"Business": {
			"Shares of the {place} retailer fell {number} percent after it warned that quarterly profit would miss forecasts.",
			"The central bank left interest rates unchanged on {day} and said inflation would slow next year.",
			"The two insurers announced a merger worth {number} billion dollars, subject to approval by regulators.",
			"Oil prices rose above {number} dollars a barrel as traders worried about supply.",
			"The airline will cut {number} hundred jobs and sell its {place} subsidiary to reduce debt.",
			"Investors welcomed the results: revenue grew by {number} percent and the dividend was raised.",
		},
		"Technology": {
			"The company released a new version of its browser on {day} to fix {number} security holes in the software.",
			"Researchers in {place} built a chip that uses {number} times less power than today's processors.",
			"The phone has a larger screen, runs an open operating system and stores {number} gigabytes of music.",
			"A worm spread through computers over the weekend, and engineers told users to update their programs.",
			"The satellite will bring fast internet access to {number} villages in the {place} province.",
			"Developers can download the source code of the database, which indexes {number} million web pages a second.",
		},
	}
	fillings = map[string][]string{
		"{day}":    strings.Fields("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
		"{number}": strings.Fields("two three five six seven nine twelve fifteen twenty forty"),
		"{month}":  strings.Fields("January February March April May June July August September October November December"),
		"{place}":  strings.Fields("Northfield Carvona Estmark Belhaven Tarsis Ondara Linmouth Quellin"),
	}
)

// article makes up a text about a topic: a date, so that texts differ from the beginning
// on, and three sentences.
func article(topic string, random *rand.Rand) string {
	text := "{place}, {month} {number} -"
	for _, i := range random.Perm(len(sentences[topic]))[:3] {
		text += " " + sentences[topic][i]
	}
	for _, place := range []string{"{day}", "{month}", "{number}", "{place}"} {
		for strings.Contains(text, place) {
			text = strings.Replace(text, place, fillings[place][random.IntN(len(fillings[place]))], 1)
		}
	}
	return text
}

// articles makes up texts about the topics in turn. Other seeds give other texts.
func articles(labels []string, n int, seed uint64) []prompt.Example {
	random := rand.New(rand.NewPCG(seed, 1))
	list := make([]prompt.Example, n)
	for i := range list {
		topic := labels[i%len(labels)]
		list[i] = prompt.Example{Input: article(topic, random), Output: topic}
	}
	return list
}
