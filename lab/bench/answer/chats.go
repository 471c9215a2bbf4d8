package main

import (
	"math/rand/v2"
	"strings"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// scene is a kind of chat: what is said, and how somebody sums it up. A word in braces
// is replaced by one of its list, the same one wherever it stands in a scene.
type scene struct{ chat, summary string }

var scenes = []scene{
	{
		"{a}: are you coming to the {event} {day}?\n{b}: what time does it start?\n{a}: at {hour}\n{b}: ok, I will bring {food}",
		"{b} will come to the {event} {day} at {hour} and bring {food}.",
	},
	{
		"{a}: I cannot find my {thing}\n{b}: did you look in the {room}?\n{a}: yes, twice\n{b}: I saw it in the {place} {past}\n{a}: found it! thank you",
		"{a} lost the {thing} and found it in the {place}.",
	},
	{
		"{a}: the {thing} I bought {past} is broken already\n{b}: do you still have the receipt?\n{a}: I think so\n{b}: then take it back {day}",
		"{a} will take the broken {thing} back to the shop {day}.",
	},
	{
		"{a}: could you {chore} for me {day}?\n{b}: sorry, I have to work\n{a}: and {otherday}?\n{b}: then I can do it, around {hour}",
		"{b} cannot {chore} {day}, but will do it {otherday} around {hour}.",
	},
	{
		"{a}: my {relative} is in hospital\n{b}: oh no, what happened?\n{a}: a fall {past}, nothing serious\n{b}: can I help?\n{a}: you could {chore}\n{b}: of course",
		"{a}'s {relative} is in hospital after a fall. {b} will {chore} for {a}.",
	},
	{
		"{a}: shall we eat {food} tonight?\n{b}: again? we had that {past}\n{a}: then {otherfood}?\n{b}: yes! I will buy it on the way home",
		"{a} and {b} will eat {otherfood} tonight. {b} will buy it.",
	},
	{
		"{a}: the train is late, I will not be there at {hour}\n{b}: how late?\n{a}: half an hour at least\n{b}: no problem, I will wait in the {place}",
		"{a}'s train is late. {b} will wait in the {place}.",
	},
	{
		"{a}: I got the job!\n{b}: congratulations! when do you start?\n{a}: {day}\n{b}: let's celebrate with {food}\n{a}: at my place, at {hour}",
		"{a} got the job and starts {day}. {a} and {b} will celebrate at {a}'s place at {hour}.",
	},
	{
		"{a}: do you want two tickets for the {event}?\n{b}: why don't you go?\n{a}: my {relative} visits us {day}\n{b}: then yes, thank you!\n{a}: I will leave them in the {place}",
		"{a} gives {b} two tickets for the {event}, because {a}'s {relative} visits {day}.",
	},
	{
		"{a}: how was the {event}?\n{b}: boring, we left early\n{a}: that is a pity\n{b}: but the {food} was good",
		"{b} found the {event} boring and left early, but liked the {food}.",
	},
}

var fillers = map[string][]string{
	"event":    {"concert", "party", "football match", "school play", "wedding", "book fair", "dance class", "film night"},
	"day":      {"on Monday", "tomorrow", "on Friday", "next week", "on Saturday"},
	"otherday": {"on Tuesday", "on Sunday", "on Thursday", "on Wednesday"},
	"past":     {"yesterday", "last week", "on the weekend", "this morning"},
	"hour":     {"six", "seven", "eight", "half past five", "noon", "nine"},
	"food":     {"a cake", "pasta", "some salad", "pancakes", "soup", "pizza", "apple pie"},
	"thing":    {"phone", "umbrella", "wallet", "camera", "lamp", "watch", "headset", "radio"},
	"room":     {"bedroom", "bathroom", "hall"},
	"place":    {"kitchen", "cafe", "garden shed", "library", "car", "office"},
	"chore":    {"feed the cat", "water the plants", "walk the dog", "pick up the children", "clean the windows", "collect a parcel"},
	"relative": {"mother", "uncle", "sister", "grandfather", "cousin", "aunt"},
}

var people = strings.Fields("Mara Ivo Petra Tom Lena Omar Rui Ada Nils Vera Hugo Ines Kai Olga Paul Suri Emil Zoe Ben Mina")

// chats makes up dialogues with summaries; another seed gives others.
func chats(n int, seed uint64) []eval.Item {
	random := rand.New(rand.NewPCG(seed, 7))
	items := make([]eval.Item, n)
	for i := range items {
		s := scenes[random.IntN(len(scenes))]
		who := random.Perm(len(people))
		pairs := []string{"{a}", people[who[0]], "{b}", people[who[1]]}
		for _, name := range fillerNames {
			list := fillers[name]
			pairs = append(pairs, "{"+name+"}", list[random.IntN(len(list))])
		}
		list := fillers["food"]
		pairs = append(pairs, "{otherfood}", list[random.IntN(len(list))])
		replace := strings.NewReplacer(pairs...)
		items[i] = eval.Item{Input: replace.Replace(s.chat), Output: replace.Replace(s.summary)}
	}
	return items
}

// fillerNames in an order that is always the same, so that a seed gives the same chats.
var fillerNames = []string{"event", "day", "otherday", "past", "hour", "food", "thing", "room", "place", "chore", "relative"}

// writeRecords writes items as JSON lines.
func writeRecords(path string, items []eval.Item) error {
	return harness.Lines(path, len(items), func(i int) any { return items[i] })
}
