package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// queues are the labels.
var queues = []string{"Billing", "Access", "Shipping", "Product"}

// shares are how often they are right.
var shares = []float64{0.35, 0.27, 0.22, 0.16}

// troubles are what tickets are about, by queue. What people add is no matter of the queue.
var troubles = [][]string{
	{"I was charged two times this month", "the invoice has the wrong amount", "my refund has not come", "the card was declined, but the money is gone", "no VAT number on the bill", "the discount was not taken off", "the direct debit came too early", "why is the yearly plan more expensive now", "please send a receipt for the last payment", "the price on the web page is not what I paid"},
	{"I cannot log in any more", "the mail for a new password never arrives", "locked out after three attempts", "the code on my phone is not accepted", "my account says disabled", "single sign-on sends me round in circles", "I forgot my user name", "a colleague left and I need to take over his login", "it says that my session has expired, all the time", "cannot confirm my new mail address"},
	{"the parcel is not here yet", "tracking has been stuck since Monday", "the label has my old address", "the box was open when it came", "the courier left it with a neighbour I do not know", "delivery is a week late", "customs want papers for my order", "only one of two boxes has arrived", "can I still change where it is sent", "nobody rang, and now it goes back"},
	{"the screen flickers when it is warm", "the battery is empty after an hour", "the left button does nothing", "the app crashes when I export", "no sound on one side", "the update broke my device", "it gets very hot while charging", "the hinge is loose after two weeks", "the lamp blinks red and it will not start", "it forgets all settings overnight"},
}

var (
	before = []string{"Hi, ", "hello, ", "", "Dear support, ", "URGENT!! ", "fwd: ", "Good morning. ", "so "}
	after  = []string{" Please help.", " thanks", " I have written twice already!", "", " Regards, M.", " sent from my phone", " (order %d)", " ref. %d", " What now?"}
)

// ticket is a text with its queue. One in twenty is in the wrong queue, as people sort them.
func ticket(random *rand.Rand) [2]string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	at, x := 0, random.Float64()
	for x >= shares[at] && at < len(shares)-1 {
		x -= shares[at]
		at++
	}
	text := pick(before) + misspelt(random, pick(troubles[at])) + "."
	if end := pick(after); strings.Contains(end, "%d") {
		text += fmt.Sprintf(end, random.IntN(100000))
	} else {
		text += end
	}
	if random.IntN(8) == 0 {
		text = strings.ToUpper(text)
	}
	if random.IntN(20) == 0 {
		at = random.IntN(len(queues))
	}
	return [2]string{text, queues[at]}
}

// misspelt exchanges two letters now and then.
func misspelt(random *rand.Rand, s string) string {
	letters := []rune(s)
	for i := 1; i < len(letters)-1; i++ {
		if random.IntN(40) == 0 {
			letters[i], letters[i+1] = letters[i+1], letters[i]
		}
	}
	return string(letters)
}

func tickets(random *rand.Rand, n int) (list [][2]string) {
	for range n {
		list = append(list, ticket(random))
	}
	return list
}

// writeTickets writes a table as a help desk exports it: more columns than are needed, and lines within texts.
func writeTickets(path string, random *rand.Rand, n int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	rows := [][]string{{"Ticket ID", "Created", "Message Body", "Queue", "agent"}}
	for i, t := range tickets(random, n) {
		text := t[0]
		if random.IntN(6) == 0 {
			text = strings.Replace(text, ", ", ",\n\n", 1)
		}
		rows = append(rows, []string{fmt.Sprint(48000 + i), fmt.Sprintf("2026-%02d-%02d", 1+random.IntN(9), 1+random.IntN(28)), text, t[1], string(rune('a' + random.IntN(3)))})
	}
	return w.WriteAll(rows)
}

// own are examples as somebody who knows the desk writes them, who has no ticket before them.
var own = [][2]string{
	{"You took the money for my subscription twice.", "Billing"},
	{"Where can I get an invoice with our company's address?", "Billing"},
	{"My password does not work and the reset link is dead.", "Access"},
	{"I have a new phone, how do I get my login codes?", "Access"},
	{"My order should have been here last week.", "Shipping"},
	{"The package came to the wrong house.", "Shipping"},
	{"The speaker makes a crackling noise.", "Product"},
	{"It does not switch on any more, is that covered?", "Product"},
}

// fill fills in the template.
func fill(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := [][]string{{"Message Body", "Queue"}}
	for _, e := range own {
		rows = append(rows, e[:])
	}
	return csv.NewWriter(f).WriteAll(rows)
}
